// The tables of the billing, in the same database as Punctual's: a handler's writes commit together with its success.
// The statements are the same for SQLite and PostgreSQL.
export const tables = [
  `CREATE TABLE IF NOT EXISTS subscription (
    tenant TEXT PRIMARY KEY, plan TEXT NOT NULL, price INTEGER NOT NULL, period INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('active', 'past-due', 'frozen')), renews_at BIGINT NOT NULL, past_due_since BIGINT
  )`,
  `CREATE TABLE IF NOT EXISTS invoice (
    id TEXT PRIMARY KEY, tenant TEXT NOT NULL, purpose TEXT NOT NULL CHECK (purpose IN ('renewal', 'branch', 'upgrade')),
    subject TEXT NOT NULL, amount INTEGER NOT NULL, state TEXT NOT NULL CHECK (state IN ('open', 'paid')),
    effect_applied INTEGER NOT NULL DEFAULT 0
  )`,
  `CREATE TABLE IF NOT EXISTS branch (
    id TEXT PRIMARY KEY, tenant TEXT NOT NULL, plan TEXT NOT NULL, next_plan TEXT, next_plan_at BIGINT, open_sessions INTEGER NOT NULL DEFAULT 0
  )`,
]
