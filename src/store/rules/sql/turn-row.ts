// A turn and an attempt as rows: the same columns in every SQL store.
import type { AttemptState, TurnEnd } from '../../../model/lifecycle.ts'
import type { AttemptRecord, TurnRecord } from '../../../model/occurrence.ts'
import { fromJson } from './json.ts'

export interface TurnRow {
  readonly turn: number
  readonly end: TurnEnd
  readonly node: string | null
  readonly started_at: number | null
  readonly ended_at: number
  readonly result: string | null
  readonly error: string | null
  readonly attempt: AttemptState | null
  readonly settings: string | null
  readonly tasks: string | null
  readonly reason: string | null
}

export function turnRecord(row: TurnRow): TurnRecord {
  return {
    turn: row.turn,
    end: row.end,
    node: row.node,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    result: row.result,
    error: fromJson(row.error),
    attempt: row.attempt,
    settings: fromJson(row.settings),
    tasks: fromJson(row.tasks),
    reason: row.reason,
  }
}

export interface AttemptRow {
  readonly turn: number
  readonly task: string
  readonly n: number
  readonly state: AttemptState
  readonly started_at: number
  readonly ended_at: number
  readonly result: string | null
  readonly error: string | null
  readonly retry_at: number | null
}

export function attemptRecord(row: AttemptRow): AttemptRecord {
  return {
    turn: row.turn,
    task: row.task,
    n: row.n,
    state: row.state,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    result: row.result,
    error: fromJson(row.error),
    retryAt: row.retry_at,
  }
}
