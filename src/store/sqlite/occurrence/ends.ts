// How a turn ends, and what follows.
import { causeOf } from '../../../model/cause.ts'
import { stateAfter } from '../../../model/lifecycle.ts'
import type { AttemptLog, AttemptRecord, TurnRecord } from '../../../model/occurrence.ts'
import { mayHaveBegun } from '../../../model/turn.ts'
import { keptBetweenTurns } from '../../rules/door.ts'
import { endMessage } from '../../rules/message.ts'
import { isOver } from '../../rules/settle.ts'
import { toJson } from '../../rules/sql/json.ts'
import type { Transaction } from '../connection/transaction.ts'
import type { Entry } from './entry.ts'
import { addMessage } from './insert.ts'
import { giveUpKeys, returnRates, revisitLine } from './keys.ts'
import { leave, makeReady } from './live-tables.ts'

const insertTurn = `INSERT INTO punctual_turn
  (series, ref, turn, end, node, started_at, ended_at, due_at, attempt, settings, tasks, reason, error, result)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`

/**
 * Writes the end row of the entry's turn: the fence. False: the turn has ended before, and nothing was changed. `nextTurn` goes on from
 * there; without it the occurrence has ended or is dead.
 */
export function endTurn(tx: Transaction, entry: Entry, row: TurnRecord): boolean {
  const { series, ref, turn, dueAt, record } = entry
  const { end, node, startedAt, endedAt, attempt, settings, tasks, reason, error, result } = row
  // A claim may outlive a member that has ended and been pruned: for that one nothing may be written.
  if (tx.wasDeleted(ref)) return false
  const due = dueAt === record.scheduledAt ? null : dueAt
  // biome-ignore format: in the order of the columns, a few on a line
  const { changes } = tx.statement(insertTurn).run(
    series, ref, turn, end, node, startedAt, endedAt, due, attempt,
    toJson(settings), toJson(tasks), reason, toJson(error), result,
  )
  if (changes === 0) return false
  const isClaimed = entry.place === 'claimed'
  revisitLine(tx, entry)
  leave(tx, entry)
  entry.place = 'ended'
  entry.last = row
  if (isClaimed) forgetTurn(tx, ref)
  if (end === 'completed') tx.counts.noteSuccess(series)
  else if (end === 'failed' || end === 'dead') tx.counts.noteFailure(series)
  if (isOver(end)) endOccurrence(tx, entry, row, isClaimed)
  return true
}

function endOccurrence(tx: Transaction, entry: Entry, row: TurnRecord, isClaimed: boolean): void {
  const { series, ref, record } = entry
  const { startedAt } = row
  giveUpKeys(tx, entry, isClaimed)
  tx.counts.add(series, stateAfter[row.end], 1)
  // A turn that another follows is no run yet: an occurrence must not see itself as the run before it.
  if (startedAt !== null) tx.counts.noteRun(series, startedAt)
  entry.hasBegun ||= mayHaveBegun(row)
  if (row.end === 'dead') {
    entry.cause = causeOf(row.error)
    const insertDead = 'INSERT INTO punctual_dead (series, ref, tenant, cause, died_at) VALUES (?, ?, ?, ?, ?)'
    tx.run(insertDead, series, ref, record.tenant, entry.cause, row.endedAt)
  }
  if (record.key !== null && record.unique === 'live')
    tx.run('DELETE FROM punctual_live_key WHERE series = ? AND key = ? AND ref = ?', series, record.key, ref)
  if (record.publish !== undefined) addMessage(tx, endMessage(record, row, tx.now))
}

/** Notes of a running turn end with it. */
function forgetTurn(tx: Transaction, ref: number): void {
  if (tx.has('punctual_start')) tx.run('DELETE FROM punctual_start WHERE ref = ?', ref)
  if (tx.has('punctual_cancel_request')) tx.run('DELETE FROM punctual_cancel_request WHERE ref = ?', ref)
  if (!tx.isClusterFull) return
  tx.isClusterFull = false
  tx.setMeta('cluster_ends', tx.meta('cluster_ends') + 1)
  tx.hintDue(tx.now)
}

/** Puts an entry whose turn has just ended back for its next one. */
export function nextTurn(tx: Transaction, entry: Entry, end: TurnRecord, dueAt: number): void {
  entry.hasBegun ||= mayHaveBegun(end)
  giveUpKeys(tx, entry, true, keptBetweenTurns(entry.record.limits, entry.hasBegun))
  if (!mayHaveBegun(end)) returnRates(tx, entry)
  entry.place = 'hand'
  entry.turn += 1
  entry.isRetrying = stateAfter[end.end] === 'retrying'
  makeReady(tx, entry, dueAt)
  tx.hintDue(dueAt)
}

/** Ends an occurrence that does not run: no executor will report it. */
export function endUnattended(
  tx: Transaction,
  entry: Entry,
  end: 'canceled' | 'missed' | 'skipped',
  reason: string | null,
): void {
  endTurn(tx, entry, entry.endRow(end, tx.now, { reason }))
  if (end === 'canceled') noteHook(tx, entry)
}

/** Notes the end of hooked work until `onComplete` has run for it. Without `kept`, any node may run it at once. */
export function noteHook(
  tx: Transaction,
  { ref, record }: Entry,
  kept: { node: string | null; freeAt: number } = { node: null, freeAt: tx.now },
): void {
  if (!record.isHooked) return
  tx.run(
    'INSERT OR REPLACE INTO punctual_hook_note (ref, kind, node, free_at) VALUES (?, ?, ?, ?)',
    ref,
    tx.names.kind(record.kind),
    kept.node,
    kept.freeAt,
  )
}

export function addAttempts(tx: Transaction, ref: number, attempts: readonly AttemptRecord[]): void {
  for (const { turn, task, n, state, startedAt, endedAt, retryAt, error, result } of attempts)
    tx.run(
      `INSERT INTO punctual_attempt (ref, turn, task, n, state, started_at, ended_at, retry_at, error, result)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
      ...[ref, turn, task, n, state, startedAt, endedAt, retryAt, toJson(error), result],
    )
}

export function putLogs(tx: Transaction, ref: number, logs: readonly AttemptLog[] = []): void {
  for (const { turn, task, n, text } of logs) {
    tx.noteRow('punctual_log')
    tx.run('INSERT OR REPLACE INTO punctual_log (ref, turn, task, n, text) VALUES (?, ?, ?, ?, ?)', ref, turn, task, n, text)
  }
}

/** When the handler of a running turn began, where that was recorded. */
export function startOf(tx: Transaction, { ref, turn }: Entry): number | null {
  const select = 'SELECT started_at FROM punctual_start WHERE ref = ? AND turn = ?'
  return tx.one<{ started_at: number }>(select, ref, turn)?.started_at ?? null
}

export interface CancelReason {
  readonly reason: string | null
}

/** The cancel that was asked for while the turn ran. */
export function cancelOf(tx: Transaction, ref: number): CancelReason | null {
  if (!tx.has('punctual_cancel_request')) return null
  return tx.one<CancelReason>('SELECT reason FROM punctual_cancel_request WHERE ref = ?', ref) ?? null
}

/** Requests that the node of a running turn stops it. Its next beat returns the request, and no further turn follows. */
export function requestCancel(tx: Transaction, { ref, node }: Entry, reason: string | null): void {
  const asked = node ?? ''
  tx.noteRow('punctual_cancel_request')
  tx.run(
    'INSERT INTO punctual_cancel_request (ref, node, reason) VALUES (?, ?, ?) ON CONFLICT (ref) DO NOTHING',
    ref,
    asked,
    reason,
  )
  tx.hints.push({ kind: 'cancel', node: asked })
}
