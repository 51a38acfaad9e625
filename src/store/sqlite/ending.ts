// The end of a turn, and what comes after it.
import { isEnd, type OccurrenceState, stateAfter } from '../../model/lifecycle.ts'
import type { AttemptRecord, TurnRecord } from '../../model/occurrence.ts'
import { toJson } from '../rows/json.ts'
import { freeAll } from './keys.ts'
import { type Member, putReady } from './place.ts'
import type { Transaction } from './transaction.ts'

const insertTurn = `INSERT INTO punctual_turn
  (series, ref, turn, end, node, started_at, ended_at, due_at, attempt, settings, tasks, reason, error, result)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`

/** Writes the end row of the member's turn: the fence. False: the turn has ended before, and nothing was changed. */
export function endTurn(
  tx: Transaction,
  member: Member,
  row: Omit<TurnRecord, 'turn'>,
  from: OccurrenceState | null = 'running',
): boolean {
  const { series, ref, turn, dueAt, firstDueAt, liveKey, hasHolds } = member
  const { end, node, startedAt, endedAt, attempt, settings, tasks, reason, error, result } = row
  // A claim that was never given back may outlive a member that has ended and been pruned: for that one nothing may be written.
  if (tx.wasPruned(ref)) return false
  const due = dueAt === firstDueAt ? null : dueAt
  // biome-ignore format: in the order of the columns, a few on a line
  const { changes } = tx.statement(insertTurn).run(
    series, ref, turn, end, node, startedAt, endedAt, due, attempt,
    toJson(settings), toJson(tasks), reason, toJson(error), result,
  )
  if (changes === 0) return false
  const state = stateAfter[end]
  const isOver = isEnd(state) || state === 'dead'
  tx.tally(series, from, state)
  // A turn that another follows is not a run yet: an occurrence must not see itself as the run before it.
  if (startedAt !== null && isOver) tx.noteRun(series, startedAt)
  if (end === 'completed' || end === 'failed' || end === 'dead') tx.noteSuccess(series, end === 'completed')
  if (isEnd(state)) tx.blocks.noteEnd(ref, endedAt)
  if (hasHolds && isOver) freeAll(tx, ref)
  if (from === 'running') forgetTurn(tx, ref)
  if (end === 'dead') tx.run('INSERT INTO punctual_dead (series, ref) VALUES (?, ?)', series, ref)
  if (liveKey !== null && isEnd(state))
    tx.run('DELETE FROM punctual_live_key WHERE series = ? AND key = ? AND ref = ?', series, liveKey, ref)
  return true
}

/** What was noted of a running turn ends with it. */
function forgetTurn(tx: Transaction, ref: number): void {
  if (tx.has('punctual_start')) tx.run('DELETE FROM punctual_start WHERE ref = ?', ref)
  if (tx.has('punctual_cancel_request')) tx.run('DELETE FROM punctual_cancel_request WHERE ref = ?', ref)
}

/** Puts a member whose turn has ended back for its next one. The end row has set the count. */
export function nextTurn(tx: Transaction, member: Member, dueAt: number, end: TurnRecord['end']): void {
  putReady(tx, { ...member, turn: member.turn + 1, dueAt }, stateAfter[end] !== 'pending')
  tx.hints.push({ kind: 'due', at: dueAt })
}

export function addAttempts(tx: Transaction, ref: number, attempts: readonly AttemptRecord[]): void {
  for (const { turn, task, n, state, startedAt, endedAt, retryAt, error, result } of attempts) {
    tx.run(
      `INSERT INTO punctual_attempt (ref, turn, task, n, state, started_at, ended_at, retry_at, error, result)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
      ref,
      turn,
      task,
      n,
      state,
      startedAt,
      endedAt,
      retryAt,
      toJson(error),
      result,
    )
  }
}
