// The shop's own tables. They are in the same file as Punctual's, so a handler's writes commit together with its success.
import { DatabaseSync } from 'node:sqlite'

export type OrderState = 'unpaid' | 'paid' | 'payment-expired' | 'expired'

export function openShop(file: string): DatabaseSync {
  const db = new DatabaseSync(file)
  db.exec('PRAGMA journal_mode = WAL; PRAGMA busy_timeout = 5000')
  db.exec(`
    CREATE TABLE IF NOT EXISTS currency_rate (day TEXT NOT NULL, code TEXT NOT NULL, rate REAL NOT NULL, PRIMARY KEY (day, code));
    CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, state TEXT NOT NULL, total INTEGER NOT NULL, placed_at INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS cart (id TEXT PRIMARY KEY, touched_at INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS login_token (id TEXT PRIMARY KEY, expires_at INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS order_event (id INTEGER PRIMARY KEY, order_id TEXT NOT NULL, state TEXT NOT NULL, at INTEGER NOT NULL);
  `)
  return db
}

/** Moves an order from one state to another, once: a repeated call finds it moved and changes nothing. */
export function moveOrder(db: DatabaseSync, id: string, from: OrderState, to: OrderState, at: number): boolean {
  const { changes } = db.prepare('UPDATE orders SET state = ? WHERE id = ? AND state = ?').run(to, id, from)
  if (changes === 0) return false
  db.prepare('INSERT INTO order_event (order_id, state, at) VALUES (?, ?, ?)').run(id, to, at)
  return true
}
