import type { OccurrenceRecord } from '../../../model/occurrence.ts'
import { extraOf } from '../../rules/sql/occurrence-row.ts'
import type { Tombstone } from '../../rules/tombstone.ts'
import type { Transaction } from '../connection/transaction.ts'
import { Entry } from './entry.ts'
import { makeReady } from './live-tables.ts'

const insert = `INSERT INTO punctual_occurrence
  (ref, series, form, scheduled_at, created_at, indexed, live, id, key, entity, parent, payload, extra) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

/** Writes an occurrence whose id is not taken, and makes it ready. */
export function insertOccurrence(tx: Transaction, record: OccurrenceRecord, dueAt: number): Entry {
  const { id, key, scheduledAt } = record
  const ref = tx.refs.next()
  const series = tx.names.series(record.tenant, record.job).ref
  const isLive = record.unique === 'live'
  // biome-ignore format: in the order of the columns, a few on a line
  tx.statement(insert).run(
    ref, series, tx.names.form(record), scheduledAt, record.createdAt, tx.refs.isIndexed(ref, id) ? 1 : 0, isLive ? 1 : 0,
    id, key, record.entity, record.parent, record.payload, extraOf(record),
  )
  if (isLive && key !== null) addLiveKey(tx, { series, key, ref }, true)
  tx.blocks.noteDue(ref, scheduledAt)
  const entry = new Entry(ref, series, record, 'hand', { turn: 1, dueAt, granted: 0, hasBegun: false, isRetrying: false })
  makeReady(tx, entry, dueAt)
  return entry
}

/** Stores a message about an event, where there is one. */
export function addMessage(tx: Transaction, message: OccurrenceRecord | null): void {
  if (!message || tx.refs.find(message.id) !== null) return
  insertOccurrence(tx, message, message.scheduledAt)
  tx.hintDue(message.scheduledAt)
}

/** Writes what may change of an occurrence that has not begun. */
export function updateOccurrence(tx: Transaction, { ref }: Entry, record: OccurrenceRecord): void {
  const { scheduledAt, payload } = record
  const form = tx.names.form(record)
  const update = 'UPDATE punctual_occurrence SET form = ?, scheduled_at = ?, payload = ?, extra = ? WHERE ref = ?'
  tx.run(update, form, scheduledAt, payload, extraOf(record), ref)
  tx.blocks.noteDue(ref, scheduledAt)
}

export function addLiveKey(
  tx: Transaction,
  { series, key, ref }: { series: number; key: string; ref: number },
  isOwner: boolean,
): void {
  tx.run('INSERT INTO punctual_live_key (series, key, ref, owner) VALUES (?, ?, ?, ?)', series, key, ref, isOwner ? 1 : 0)
}

export function findTombstone(tx: Transaction, id: string): Tombstone | undefined {
  if (!tx.has('punctual_tombstone')) return undefined
  return tx.one<Tombstone>('SELECT version FROM punctual_tombstone WHERE id = ?', id)
}
