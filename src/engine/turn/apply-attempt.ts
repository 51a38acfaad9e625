import { PunctualError } from '../../errors.ts'
import { errorRecord } from '../../model/error-record.ts'
import type { AttemptState } from '../../model/lifecycle.ts'
import { encodeResult } from '../../model/payload.ts'
import { retryDelay } from '../../model/retry.ts'
import { Untried } from '../../model/untried.ts'
import type { Attempt } from './attempt.ts'
import { taskEvent } from './report.ts'
import type { TaskRun } from './task-run.ts'
import type { Turn } from './turn.ts'

/** Sets the state of the task after an attempt, and returns how the attempt is recorded; null when it was none. */
export function applyAttempt(turn: Turn, attempt: Attempt): AttemptState | null {
  const { run, outcome, value } = attempt
  if (run.isCommitted) return succeed(turn, run, run.result)
  switch (outcome) {
    case 'returned':
      return returned(turn, attempt)
    case 'threw':
      if (Untried.is(value)) return null
      return fail(turn, attempt, value, 'failed')
    case 'timeout':
      return fail(turn, attempt, value, 'timeout')
    case 'shutdown':
      // A handler that stopped at the signal of a shutdown has not used up an attempt: it runs again in the next turn.
      run.phase = 'waiting'
      return 'canceled'
    default:
      run.cancel(run.canceledBy)
      return 'canceled'
  }
}

/** The work is done, whatever became of its result: another try would do it twice. */
function returned(turn: Turn, attempt: Attempt): AttemptState {
  let result: string | null
  try {
    result = encodeResult(attempt.value)
  } catch (error) {
    const { code, message, details } = error as PunctualError
    const remark = 'The handler had finished its work, and is not run again; only its result was not recorded'
    return fail(turn, attempt, new PunctualError(code, `${message}. ${remark}`, details), 'failed', false)
  }
  return succeed(turn, attempt.run, result)
}

function succeed(turn: Turn, run: TaskRun, result: string | null): AttemptState {
  const { events } = turn.env
  run.succeed(result)
  if (events.has('task.succeeded')) events.emit('task.succeeded', { ...taskEvent(turn, run), durationMs: run.durationMs })
  return 'succeeded'
}

function fail(
  turn: Turn,
  { run, endedAt }: Attempt,
  thrown: unknown,
  state: 'failed' | 'timeout',
  mayRetry = true,
): AttemptState {
  const { events } = turn.env
  const error = turn.errorOf(thrown)
  run.failures += 1
  const waitMs = mayRetry ? retryWait(turn, run, thrown) : null
  run.fail(state, error, endedAt, waitMs)
  if (events.has('task.failed')) events.emit('task.failed', { ...taskEvent(turn, run), error, retryInMs: waitMs })
  return state
}

function retryWait(turn: Turn, run: TaskRun, error: unknown): number | null {
  const { env, record, shared, log } = turn
  const custom = run.task.retryFunction ?? shared.runnable.definition.retryFunction ?? env.options.retryFunction
  const delayMs = record.scheduledAt - record.createdAt
  try {
    const { job, tenant } = record
    const about = custom && { job, tenant, task: run.name, payload: turn.payload }
    const question = { failures: run.failures, error, delayMs, random: env.random(), custom, ...(about && { about }) }
    return retryDelay(run.settings.retry, question)
  } catch (thrown) {
    log.error('A retry strategy threw; the task is not retried', { task: run.name, error: errorRecord(thrown) })
    return null
  }
}
