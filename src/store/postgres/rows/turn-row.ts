// A turn and an attempt as rows of tables.
import type { AttemptState, TurnEnd } from '../../../model/lifecycle.ts'
import type { AttemptRecord, TurnRecord } from '../../../model/occurrence.ts'
import { fromJson } from './json.ts'

export const turnColumns =
  't.turn, t."end", t.node, t.started_at, t.ended_at, t.result, t.error, t.attempt, t.settings, t.tasks, t.reason'

/** A node by its name, or by the number that stands for it. */
export type TurnRow<Node> = [
  turn: number,
  end: TurnEnd,
  node: Node | null,
  startedAt: number | null,
  endedAt: number,
  result: string | null,
  error: string | null,
  attempt: AttemptState | null,
  settings: string | null,
  tasks: string | null,
  reason: string | null,
]

export function turnRecord<Node>(row: readonly [...TurnRow<Node>, ...unknown[]], nameOf: (node: Node) => string): TurnRecord {
  const [turn, end, node, startedAt, endedAt, result, error, attempt, settings, tasks, reason] = row
  return {
    turn,
    end,
    node: node === null ? null : nameOf(node),
    startedAt,
    endedAt,
    result,
    error: fromJson(error),
    attempt,
    settings: fromJson(settings),
    tasks: fromJson(tasks),
    reason,
  }
}

export const attemptColumns = 'turn, task, n, state, started_at, ended_at, result, error, retry_at'

export type AttemptRow = [
  turn: number,
  task: string,
  n: number,
  state: AttemptState,
  startedAt: number,
  endedAt: number,
  result: string | null,
  error: string | null,
  retryAt: number | null,
]

export function attemptRecord(row: readonly [...AttemptRow, ...unknown[]]): AttemptRecord {
  const [turn, task, n, state, startedAt, endedAt, result, error, retryAt] = row
  return { turn, task, n, state, startedAt, endedAt, result, error: fromJson(error), retryAt }
}
