// How live work goes from one table to another.
import type { Limit } from '../../../model/limit.ts'
import type { WaitRecord } from '../../../model/occurrence.ts'
import { isPlanned } from '../../rules/verdict.ts'
import type { Transaction } from '../connection/transaction.ts'
import type { Entry } from './entry.ts'
import { giveUpKeys, revisitLine } from './keys.ts'

const work = 'series, turn, granted, begun, retrying, planned'
const insertReady = `INSERT INTO punctual_ready (kind, priority, due_at, ref, ${work}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
const insertArrival = `INSERT INTO punctual_arrival (kind, due_at, ref, ${work}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`
const insertWaiting = `INSERT INTO punctual_waiting (key, priority, recovery, due_at, ref, kind, reason, ${work})
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
const insertAside = `INSERT INTO punctual_aside (kind, due_at, ref, reason, wake_at, ${work}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

/** Puts an entry where a claim, or first the door, finds it. */
export function makeReady(tx: Transaction, entry: Entry, dueAt: number): void {
  leave(tx, entry)
  const { ref, record, series, turn, granted } = entry
  const begun = entry.hasBegun ? 1 : 0
  const retrying = entry.isRetrying ? 1 : 0
  const planned = plannedOf(entry)
  const kind = tx.names.kind(record.kind)
  entry.dueAt = dueAt
  if (granted < entry.limits.length) {
    entry.place = 'arrival'
    tx.statement(insertArrival).run(kind, dueAt, ref, series, turn, granted, begun, retrying, planned)
  } else {
    entry.place = 'ready'
    tx.statement(insertReady).run(kind, record.priority, dueAt, ref, series, turn, granted, begun, retrying, planned)
  }
  tx.counts.add(series, entry.state, 1)
  // Until when a first turn must begin.
  if (record.startWithinMs !== null && begun === 0)
    tx.run('INSERT OR IGNORE INTO punctual_expiry (expires_at, ref) VALUES (?, ?)', dueAt + record.startWithinMs, ref)
}

/** Puts an entry into the line of a key. */
export function makeWait(tx: Transaction, entry: Entry, { kind: reason, key }: Limit): void {
  leave(tx, entry)
  const { record, dueAt, ref } = entry
  const kind = tx.names.kind(record.kind)
  tx.statement(insertWaiting).run(key, record.priority, entry.isRecovery ? 1 : 0, dueAt, ref, kind, reason, ...workOf(entry))
  entry.place = 'waiting'
  entry.wait = { reason, key, wakeAt: null }
  tx.counts.add(entry.series, 'waiting', 1)
}

/** Lets an entry wait for something else than a key. It holds no key meanwhile. */
export function setAside(tx: Transaction, entry: Entry, wait: WaitRecord): void {
  leave(tx, entry)
  giveUpKeys(tx, entry)
  const kind = tx.names.kind(entry.record.kind)
  tx.statement(insertAside).run(kind, entry.dueAt, entry.ref, wait.reason, wait.wakeAt, ...workOf(entry))
  entry.place = 'aside'
  entry.wait = wait
  tx.counts.add(entry.series, 'waiting', 1)
}

/**
 * Moves an entry that does not run to another time: one that has not begun gives up its place with its time.
 * `record`: as `updateOccurrence` has written it.
 */
export function reschedule(tx: Transaction, entry: Entry, dueAt: number, record = entry.record): void {
  revisitLine(tx, entry)
  if (!entry.hasBegun) giveUpKeys(tx, entry)
  leave(tx, entry)
  entry.record = record
  makeReady(tx, entry, dueAt)
}

/** Takes back what an entry was granted that does not run: it comes to the door again. */
export function takeGrantBack(tx: Transaction, entry: Entry): void {
  revisitLine(tx, entry)
  giveUpKeys(tx, entry)
  makeReady(tx, entry, entry.dueAt)
}

/** Removes an entry from the table that it is in. */
export function leave(tx: Transaction, entry: Entry): void {
  const { place, ref, record, dueAt } = entry
  if (place === 'hand') return
  tx.counts.add(entry.series, entry.state, -1)
  const kind = place === 'ready' || place === 'arrival' ? tx.names.kind(record.kind) : 0
  if (place === 'ready')
    tx.statement('DELETE FROM punctual_ready WHERE kind = ? AND priority = ? AND due_at = ? AND ref = ?').run(
      kind,
      record.priority,
      dueAt,
      ref,
    )
  else if (place === 'arrival')
    tx.statement('DELETE FROM punctual_arrival WHERE kind = ? AND due_at = ? AND ref = ?').run(kind, dueAt, ref)
  else if (place === 'waiting') tx.run('DELETE FROM punctual_waiting WHERE series = ? AND ref = ?', entry.series, ref)
  else if (place === 'aside') tx.run('DELETE FROM punctual_aside WHERE series = ? AND ref = ?', entry.series, ref)
  else if (place === 'ended') tx.run('DELETE FROM punctual_dead WHERE series = ? AND ref = ?', entry.series, ref)
  entry.place = 'hand'
  entry.wait = null
  entry.cause = null
}

type WorkValues = readonly [series: number, turn: number, granted: number, begun: number, retrying: number, planned: number]

function workOf(entry: Entry): WorkValues {
  const { series, turn, granted, hasBegun, isRetrying } = entry
  return [series, turn, granted, hasBegun ? 1 : 0, isRetrying ? 1 : 0, plannedOf(entry)]
}

function plannedOf({ record, hasBegun }: Entry): number {
  return !hasBegun && isPlanned(record.source) ? 1 : 0
}
