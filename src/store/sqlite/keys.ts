// The records of who holds which key. A key is taken in the commit that claims, and freed in the one that ends its holder.
import { wakeOldest } from './place.ts'
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
  return tx.all<[number]>('SELECT ref FROM punctual_hold WHERE key = ? ORDER BY seq LIMIT ?', key, limit).map(([ref]) => ref)
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

export function freeAll(tx: Transaction, ref: number): void {
  for (const key of keysOf(tx, ref)) free(tx, ref, key)
}
