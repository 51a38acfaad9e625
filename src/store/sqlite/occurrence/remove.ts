import { tombstoneOf } from '../../rules/tombstone.ts'
import type { Transaction } from '../connection/transaction.ts'
import { type Entry, readEntry } from './entry.ts'
import { giveUpKeys, revisitLine } from './keys.ts'
import { leave } from './live-tables.ts'

const selectPlanned = ['ready', 'arrival', 'waiting']
  .map((table) => `SELECT ref FROM punctual_${table} INDEXED BY punctual_${table}_planned WHERE series = ?1 AND planned = 1`)
  .concat('SELECT ref FROM punctual_aside WHERE series = ?1 AND planned = 1')
  .join(' UNION ALL ')

/** Scheduled instants of a job that have not begun, the oldest first. */
export function plannedOf(tx: Transaction, series: number): Entry[] {
  const refs = tx.all<{ ref: number }>(selectPlanned, series).map(({ ref }) => ref)
  return refs.sort((a, b) => a - b).map((ref) => readEntry(tx, ref) as Entry)
}

/** Deletes an occurrence and all that is known of it. Its creation must have been counted: see `foldCreated`. */
export function deleteOccurrence(tx: Transaction, entry: Entry): void {
  const { series, ref } = entry
  revisitLine(tx, entry)
  leave(tx, entry)
  giveUpKeys(tx, entry)
  tx.run('DELETE FROM punctual_occurrence WHERE ref = ?', ref)
  tx.run('DELETE FROM punctual_turn WHERE series = ? AND ref = ?', series, ref)
  tx.run('DELETE FROM punctual_attempt WHERE ref = ?', ref)
  tx.run('DELETE FROM punctual_progress WHERE ref = ?', ref)
  if (tx.has('punctual_log')) tx.run('DELETE FROM punctual_log WHERE ref = ?', ref)
  if (ref > tx.meta('deleted_ref')) tx.setMeta('deleted_ref', ref)
  tx.counts.delete(series)
}

/** Deletes an ended occurrence. An id that may be used only once stays taken until then. */
export function remove(tx: Transaction, entry: Entry, until: number): void {
  const tombstone = tombstoneOf(entry.record, entry)
  if (tombstone) {
    tx.noteRow('punctual_tombstone')
    const values = [entry.id, until, tombstone.version] as const
    tx.run('INSERT OR REPLACE INTO punctual_tombstone (id, until, version) VALUES (?, ?, ?)', ...values)
  }
  deleteOccurrence(tx, entry)
}

/** The same for one whose `onComplete` may not have run: it is dropped. */
export function removeWithHook(tx: Transaction, entry: Entry, until: number): void {
  tx.run('DELETE FROM punctual_hook_note WHERE ref = ?', entry.ref)
  remove(tx, entry, until)
}
