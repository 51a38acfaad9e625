// The rules of the billing. Each changes a row only from the state that it expects, so a rule that runs twice changes nothing the
// second time. Each change is noted in the audit, in the commit of the change.
import { query, type Rule } from './database.ts'

const day = 24 * 3_600_000
const month = 30 * day

/** The hour of a run, and where it notes what it has changed. */
export interface Run {
  readonly now: number
  readonly note: (event: string, refs: { readonly tenant: string; readonly subject: string }) => void
}

/** One invoice for each tenant and period: the period is part of its id. */
export function* renew({ now, note }: Run): Rule {
  const due = yield query(
    `UPDATE subscription SET period = period + 1, renews_at = renews_at + ${month}, state = 'past-due',
      past_due_since = coalesce(past_due_since, ?1) WHERE renews_at <= ?1 AND state <> 'frozen' RETURNING tenant, price, period`,
    now,
  )
  for (const { tenant, price, period } of due) {
    const invoice = `${tenant}/${period}`
    yield query(
      "INSERT INTO invoice (id, tenant, purpose, subject, amount, state) VALUES (?1, ?2, 'renewal', ?2, ?3, 'open')",
      ...[invoice, String(tenant), Number(price)],
    )
    note('invoice.issued', { tenant: String(tenant), subject: invoice })
  }
  return due.length
}

/** Unpaid 24 hours after it was past due, a subscription is frozen. */
export function* freeze({ now, note }: Run): Rule {
  const frozen = yield query(
    `UPDATE subscription SET state = 'frozen' WHERE state = 'past-due' AND past_due_since + ${day} <= ?1 RETURNING tenant`,
    now,
  )
  for (const { tenant } of frozen) note('subscription.frozen', { tenant: String(tenant), subject: String(tenant) })
  return frozen.length
}

/** A downgrade waits while operations are under way in the branch. */
export function* downgrade({ now, note }: Run): Rule {
  const changed = yield query(
    `UPDATE branch SET plan = next_plan, next_plan = NULL, next_plan_at = NULL WHERE next_plan_at <= ?1 AND open_sessions = 0
      RETURNING id, tenant`,
    now,
  )
  for (const { id, tenant } of changed) note('branch.downgraded', { tenant: String(tenant), subject: String(id) })
  return changed.length
}

/** The effects of paid invoices. Each happens once, in the commit that takes its invoice. */
export function* applyEffects({ note }: Run): Rule {
  const taken = yield query(
    "UPDATE invoice SET effect_applied = 1 WHERE state = 'paid' AND effect_applied = 0 RETURNING id, tenant, purpose, subject",
  )
  for (const { id, tenant, purpose, subject } of taken) {
    yield query(effects[purpose as keyof typeof effects], String(tenant), String(subject))
    note(`${purpose}.applied`, { tenant: String(tenant), subject: String(id) })
  }
  return taken.length
}

/** By the purpose of an invoice; ?1 is the tenant, ?2 the subject. */
const effects = {
  renewal: "UPDATE subscription SET state = 'active', past_due_since = NULL WHERE tenant = ?1 AND tenant = ?2",
  branch: "INSERT INTO branch (tenant, id, plan) VALUES (?1, ?2, 'standard')",
  upgrade: 'UPDATE subscription SET plan = ?2 WHERE tenant = ?1',
}

export function* markPaid({ note }: Run, invoices: readonly string[]): Rule {
  let count = 0
  for (const id of invoices) {
    const [paid] = yield query("UPDATE invoice SET state = 'paid' WHERE id = ?1 AND state = 'open' RETURNING tenant", id)
    if (!paid) continue
    note('invoice.paid', { tenant: String(paid.tenant), subject: id })
    count += 1
  }
  return count
}

export function* openInvoices(): Rule<string[]> {
  return (yield query("SELECT id FROM invoice WHERE state = 'open' ORDER BY id")).map(({ id }) => String(id))
}
