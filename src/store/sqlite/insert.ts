// How an occurrence comes into being.
import type { OccurrenceRecord } from '../../model/occurrence.ts'
import { bareEnd } from '../../model/turn.ts'
import { toJson } from '../rows/json.ts'
import type { PlannedOccurrence } from '../store.ts'
import { endTurn } from './ending.ts'
import { type Member, putReady } from './place.ts'
import type { Transaction } from './transaction.ts'

const plain =
  'ref, id, series, kind, version, source, key, uniqueness, entity, refs, settings, priority, scheduled_at, created_at, payload'
// Most rows have no more than that, and values that are not bound cost nothing.
const insertPlain = `INSERT INTO punctual_occurrence (${plain})
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`
const insertFull = `INSERT INTO punctual_occurrence (${plain}, holds, span, replay, start_within_ms)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`

/** Writes an occurrence and makes it ready, or records it as passed over. False: its id is taken. */
export function insertOccurrence(
  tx: Transaction,
  record: OccurrenceRecord,
  dueAt: number,
  end: PlannedOccurrence['end'] = null,
): boolean {
  const { source, key, unique, refs, priority, holds, span, replay, startWithinMs, scheduledAt } = record
  const ref = tx.newRef()
  const series = tx.dictionary.series(record.tenant, record.job).ref
  const kind = tx.dictionary.kind(record.kind)
  const values = [
    ref,
    record.id,
    series,
    kind,
    record.version,
    source,
    key,
    unique,
    record.entity,
    Object.keys(refs).length === 0 ? null : JSON.stringify(refs),
    toJson(record.settings),
    priority,
    scheduledAt,
    record.createdAt,
    record.payload,
  ]
  const isPlain = holds === null && span === null && replay === null && startWithinMs === null
  const changes = isPlain
    ? tx.run(insertPlain, ...values)
    : tx.run(insertFull, ...values, toJson(holds), toJson(span), toJson(replay), startWithinMs)
  if (changes === 0) return false
  tx.blocks.noteDue(ref, scheduledAt)
  const liveKey = unique === 'live' ? key : null
  const member: Member = {
    ref,
    series,
    kind,
    priority,
    turn: 1,
    dueAt,
    firstDueAt: scheduledAt,
    liveKey,
    isPlanned: source === 'schedule' || source === 'recovery',
    startWithinMs,
    hasHolds: holds !== null,
  }
  if (end) {
    endTurn(tx, member, bareEnd(end.state, tx.now, { reason: end.reason }), null)
    return true
  }
  if (liveKey !== null) tx.run('INSERT INTO punctual_live_key (series, key, ref) VALUES (?, ?, ?)', series, liveKey, ref)
  putReady(tx, member, false)
  tx.tally(series, null, 'pending')
  return true
}

export function isTombstoned(tx: Transaction, id: string): boolean {
  return tx.has('punctual_tombstone') && tx.one('SELECT 1 FROM punctual_tombstone WHERE id = ?', id) !== undefined
}
