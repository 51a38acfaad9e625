// Attempts as they are written: many in one statement.
import type { AttemptRecord } from '../../model/occurrence.ts'
import { toJson } from '../rows/json.ts'
import type { Columns, Value } from './batch.ts'

export const attemptTypes: Columns = {
  ref: 'bigint',
  turn: 'int',
  task: 'text',
  n: 'int',
  state: 'punctual.attempt_state',
  started_at: 'float8',
  ended_at: 'float8',
  retry_at: 'float8',
  error: 'text',
  result: 'text',
}

export function attemptValues(
  ref: number,
  { turn, task, n, state, startedAt, endedAt, retryAt, error, result }: AttemptRecord,
): readonly Value[] {
  return [ref, turn, task, n, state, startedAt, endedAt, retryAt, toJson(error), result]
}
