import type { Transaction } from '../connection/transaction.ts'
import { type Entry, readEntry } from './entry.ts'

const selectGranted = ['ready', 'arrival', 'waiting']
  .map((table) => `SELECT ref FROM punctual_${table} INDEXED BY punctual_${table}_granted WHERE granted > 0`)
  .join(' UNION ALL ')

/** Work that was granted keys and does not run. */
export function grantedEntries(tx: Transaction): Entry[] {
  const refs = tx.all<{ ref: number }>(selectGranted).map(({ ref }) => ref)
  return refs.sort((a, b) => a - b).map((ref) => readEntry(tx, ref) as Entry)
}
