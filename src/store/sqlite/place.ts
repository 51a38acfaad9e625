// Where an occurrence stands that does not run and has not ended: ready, or waiting. A row goes from one to the other as it is.
import type { WaitRecord } from '../../model/occurrence.ts'
import type { Transaction } from './transaction.ts'

/** What must be known of an occurrence in order to move it. */
export interface Member {
  readonly ref: number
  readonly series: number
  readonly kind: number
  readonly priority: number
  /** The turn it is in, or will be in next. */
  readonly turn: number
  readonly dueAt: number
  readonly firstDueAt: number
  /** Its key, where that is taken only until its end. */
  readonly liveKey: string | null
  /** Whether it is a scheduled instant. */
  readonly isPlanned: boolean
  readonly startWithinMs: number | null
  /** Whether it may hold keys, which its end has to free. */
  readonly hasHolds: boolean
}

const columns = 'kind, priority, due_at, ref, turn, series, planned, retrying'

export function putReady(tx: Transaction, member: Member, isRetrying: boolean): void {
  const { kind, priority, dueAt, ref, turn, series, isPlanned, startWithinMs } = member
  const planned = isPlanned && turn === 1 ? 1 : 0
  tx.statement(`INSERT INTO punctual_ready (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`).run(
    kind,
    priority,
    dueAt,
    ref,
    turn,
    series,
    planned,
    isRetrying ? 1 : 0,
  )
  if (tx.isLaned(kind)) tx.run('INSERT INTO punctual_lane VALUES (?, ?, ?, ?, ?)', kind, priority, series, dueAt, ref)
  if (turn === 1 && startWithinMs !== null)
    tx.run('INSERT OR IGNORE INTO punctual_expiry VALUES (?, ?)', dueAt + startWithinMs, ref)
}

/** Takes an occurrence out of where it stands. */
export function takeOut(tx: Transaction, place: 'ready' | 'waiting', member: Member): void {
  const { kind, priority, dueAt, ref, series } = member
  if (place === 'waiting') {
    tx.run('DELETE FROM punctual_waiting WHERE series = ? AND ref = ?', series, ref)
    return
  }
  tx.run('DELETE FROM punctual_ready WHERE kind = ? AND priority = ? AND due_at = ? AND ref = ?', kind, priority, dueAt, ref)
  if (tx.isLaned(kind)) tx.run(deleteLane, kind, priority, series, dueAt, ref)
}

const deleteLane = 'DELETE FROM punctual_lane WHERE kind = ? AND priority = ? AND series = ? AND due_at = ? AND ref = ?'

/** Takes a row out of ready of which no more is known. */
export function leaveReady(tx: Transaction, series: number, ref: number): void {
  if (tx.hasLanes) {
    const row = tx.one<[number, number, number]>(
      'SELECT kind, priority, due_at FROM punctual_ready WHERE series = ? AND ref = ?',
      series,
      ref,
    )
    if (row) tx.run(deleteLane, row[0], row[1], series, row[2], ref)
  }
  tx.run('DELETE FROM punctual_ready WHERE series = ? AND ref = ?', series, ref)
}

/** A row of ready or waiting. */
export type Row = [series: number, ref: number, retrying: number]

/** Holds a row of ready back. Its chances at other keys than the one it waits for are the caller's to pass on. */
export function makeWait(tx: Transaction, [series, ref, retrying]: Row, { reason, key, wakeAt }: WaitRecord): void {
  tx.run(
    `INSERT INTO punctual_waiting (${columns}, reason, key, wake_at)
      SELECT ${columns}, ?, ?, ? FROM punctual_ready WHERE series = ? AND ref = ?`,
    reason,
    key,
    wakeAt,
    series,
    ref,
  )
  leaveReady(tx, series, ref)
  tx.tally(series, retrying ? 'retrying' : 'pending', 'waiting')
  if (wakeAt !== null) tx.hasWakes = true
}

/** Lets a row that waits be looked at again. */
export function wake(tx: Transaction, [series, ref, retrying]: Row): void {
  tx.run(
    `INSERT INTO punctual_ready (${columns}) SELECT ${columns} FROM punctual_waiting WHERE series = ? AND ref = ?`,
    series,
    ref,
  )
  if (tx.hasLanes) tx.run(addLane, series, ref)
  tx.run('DELETE FROM punctual_waiting WHERE series = ? AND ref = ?', series, ref)
  tx.tally(series, 'waiting', retrying ? 'retrying' : 'pending')
  tx.stirred.push(ref)
}

const addLane = `INSERT INTO punctual_lane SELECT w.kind, w.priority, w.series, w.due_at, w.ref
  FROM punctual_waiting w CROSS JOIN punctual_kind k ON k.ref = w.kind WHERE w.series = ? AND w.ref = ? AND k.laned = 1`

/** When the next row of these kinds wakes by itself. */
export function nextWake(tx: Transaction, kinds: readonly string[]): number | null {
  tx.hasWakes ??= tx.one('SELECT 1 FROM punctual_waiting WHERE wake_at IS NOT NULL LIMIT 1') !== undefined
  if (!tx.hasWakes) return null
  let next: number | null = null
  for (const name of kinds) {
    const row = tx.one<[number]>(
      'SELECT wake_at FROM punctual_waiting WHERE kind = ? AND wake_at IS NOT NULL ORDER BY wake_at LIMIT 1',
      tx.dictionary.findKind(name),
    )
    if (row && (next === null || row[0] < next)) next = row[0]
  }
  return next
}

/** Wakes the rows whose time has come. */
export function wakeTimely(tx: Transaction, limit: number): void {
  const rows = tx.all<Row>(
    'SELECT series, ref, retrying FROM punctual_waiting WHERE wake_at <= ? ORDER BY wake_at LIMIT ? + 0',
    tx.now,
    limit,
  )
  for (const row of rows) wake(tx, row)
}

/** Wakes all that waits for the end of a pause. */
export function wakePaused(tx: Transaction): void {
  const rows = tx.all<Row>("SELECT series, ref, retrying FROM punctual_waiting WHERE reason = 'pause'")
  for (const row of rows) wake(tx, row)
}
