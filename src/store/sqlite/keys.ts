// The records of who holds which key. A key is taken in the commit that claims, and freed in the one that ends its holder.
import type { Hold } from '../../model/limit.ts'
import { fromJson } from '../rows/json.ts'
import { type Row, wake } from './place.ts'
import type { Transaction } from './transaction.ts'

export function isTaken(tx: Transaction, { key, limit }: { readonly key: string; readonly limit: number }): boolean {
  return holdersOf(tx, key) >= limit
}

/** How many hold the key: counted once for each transaction. */
function holdersOf(tx: Transaction, key: string): number {
  const known = tx.held.get(key)
  if (known !== undefined) return known
  const [count] = tx.one<[number]>('SELECT count(*) FROM punctual_hold WHERE key = ?', key) as [number]
  tx.held.set(key, count)
  return count
}

/** The handles of those that hold the key, the earliest first. */
export function holdersByAge(tx: Transaction, key: string, limit = -1): number[] {
  return tx.all<[number]>('SELECT ref FROM punctual_hold WHERE key = ? ORDER BY seq LIMIT ? + 0', key, limit).map(([ref]) => ref)
}

export function keysOf(tx: Transaction, ref: number): string[] {
  return tx.all<[string]>('SELECT key FROM punctual_hold WHERE ref = ?', ref).map(([key]) => key)
}

export function hold(tx: Transaction, ref: number, key: string): void {
  const before = holdersOf(tx, key)
  tx.run('INSERT INTO punctual_hold (key, ref) VALUES (?, ?)', key, ref)
  tx.held.set(key, before + 1)
}

/** Frees a key and lets the oldest that waits for it try again. */
export function free(tx: Transaction, ref: number, key: string): void {
  const before = tx.held.get(key)
  tx.run('DELETE FROM punctual_hold WHERE ref = ? AND key = ?', ref, key)
  if (before !== undefined) tx.held.set(key, before - 1)
  wakeOldest(tx, key)
}

/** Frees what an occurrence holds, and leaves its chances at the rest to the next. */
export function freeAll(tx: Transaction, ref: number): void {
  const held = keysOf(tx, ref)
  passOn(tx, holdsOf(tx, ref), held)
  for (const key of held) free(tx, ref, key)
}

export function holdsOf(tx: Transaction, ref: number): readonly Hold[] | null {
  const row = tx.one<[string | null]>('SELECT holds FROM punctual_occurrence WHERE ref = ?', ref)
  return fromJson(row?.[0] ?? null)
}

/** One that was let try for a key and does not take it leaves the chance to the next. */
export function passOn(tx: Transaction, holds: readonly Hold[] | null, but: readonly (string | null)[]): void {
  for (const { key, perMs } of holds ?? []) if (perMs === undefined && !but.includes(key)) wakeOldest(tx, key)
}

/** Lets the oldest that waits for the key try again, if there is room for it. */
function wakeOldest(tx: Transaction, key: string): void {
  const row = tx.one<[...Row, string | null]>(
    `SELECT w.series, w.ref, w.retrying, o.holds FROM punctual_waiting w CROSS JOIN punctual_occurrence o ON o.ref = w.ref
      WHERE w.key = ? ORDER BY w.due_at, w.ref LIMIT 1`,
    key,
  )
  if (!row) return
  const [series, ref, retrying, holds] = row
  const limit = fromJson<readonly Hold[]>(holds)?.find((one) => one.key === key)?.limit ?? 0
  if (holdersOf(tx, key) >= limit) return
  wake(tx, [series, ref, retrying])
  tx.hints.push({ kind: 'due', at: tx.now })
}
