import { PunctualError, shown } from '../../errors.ts'
import type { Context, FailOptions, Logger, Refs } from '../../model/context.ts'
import { attemptId, taskRunId } from '../../model/ids.ts'
import type { OccurrenceRecord } from '../../model/occurrence.ts'
import type { RetryHint } from '../../model/retry.ts'
import { parseDuration } from '../../time/duration.ts'
import type { Attempt } from './attempt.ts'
import { RecordIds } from './record-ids.ts'

/** The context of one attempt. Its parts are made at their first use, since most handlers need few. */
export class TaskContext extends RecordIds implements Context {
  readonly #attempt: Attempt
  readonly #record: OccurrenceRecord
  #results: Readonly<Record<string, unknown>> | null = null
  /** The share that was reported last. */
  #done = 0
  readonly task: string
  readonly entity: string | null
  readonly refs: Refs
  readonly occurrenceId: string
  readonly parent: string | null
  readonly attempt: number

  constructor(attempt: Attempt) {
    const { record } = attempt.turn
    super(record)
    this.#attempt = attempt
    this.#record = record
    this.task = attempt.run.name
    this.attempt = attempt.n
    this.entity = record.entity
    this.refs = record.refs
    this.occurrenceId = record.id
    this.parent = record.parent
  }

  /** For a handler that has to wait until it can begin: see `Attempt.holdTimeout`. */
  holdTimeout(): () => void {
    return this.#attempt.holdTimeout()
  }

  get payload(): unknown {
    return this.#attempt.turn.payload
  }
  get results(): Readonly<Record<string, unknown>> {
    this.#results ??= resultsBefore(this.#attempt)
    return this.#results
  }
  get version(): number {
    return this.#record.version
  }
  get replayOf(): string | null {
    return this.#record.replay?.origin ?? null
  }
  get taskRunId(): string {
    return taskRunId(this.occurrenceId, this.task)
  }
  get attemptId(): string {
    return attemptId(this.taskRunId, this.attempt)
  }
  get idempotencyKey(): string {
    return this.taskRunId
  }
  get scheduledAt(): Date {
    return new Date(this.#record.scheduledAt)
  }
  get startedAt(): Date {
    return new Date(this.#attempt.startedAt)
  }
  get lateness(): number {
    return Math.max(0, this.#attempt.startedAt - this.#attempt.turn.member.dueAt)
  }
  get isRecovery(): boolean {
    return this.source === 'recovery'
  }
  get span(): Context['span'] {
    const { span } = this.#record
    return span && { from: new Date(span.from), to: new Date(span.to), count: span.count }
  }
  get lastRunAt(): Date | null {
    const { lastRunAt } = this.#attempt.turn.member
    return lastRunAt === null ? null : new Date(lastRunAt)
  }
  get signal(): AbortSignal {
    return this.#attempt.signal
  }
  get log(): Logger {
    return this.#attempt.log
  }

  get progress(): Context['progress'] {
    return (given, text) => {
      const [done, note] = typeof given === 'string' ? [this.#done, given] : [given, text]
      if (typeof done !== 'number' || !(done >= 0 && done <= 1)) {
        throw new PunctualError('option.invalid', `progress must be a number from 0 to 1, or a text; got ${String(done)}`, {
          field: 'progress',
          given: done,
        })
      }
      const message = note ?? null
      if (message !== null && typeof message !== 'string')
        throw new PunctualError('option.invalid', `the message of progress must be a text; got ${shown(message)}`, {
          field: 'progress',
          given: shown(message),
        })
      this.#done = done
      this.#attempt.progress(done, message)
    }
  }
  get fail(): Context['fail'] {
    return (message, options = {}) => {
      throw new TaskFailure(message, options)
    }
  }
  get enqueue(): Context['enqueue'] {
    return (job, ...[payload, options]) => this.#attempt.children.enqueue(job, payload, options)
  }
  get cancel(): Context['cancel'] {
    return (target, options) => this.#attempt.children.cancel(target, options)
  }
  get transaction(): Context['transaction'] {
    return (work) => this.#attempt.transaction(work)
  }
  get audit(): Context['audit'] {
    return (event, refs, data) => this.#attempt.audit(event, refs, data)
  }
  get once(): Context['once'] {
    return (key: string, effect: unknown, options?: unknown) => this.#attempt.once(key, effect, options) as Promise<never>
  }
}

/** The results of the tasks that come before: all earlier ones of a sequence, those that a graph names in `after`. */
function resultsBefore({ run }: Attempt): Readonly<Record<string, unknown>> {
  const results: Record<string, unknown> = {}
  for (const { name, phase, result } of run.after)
    results[name] = phase === 'succeeded' && result !== null ? JSON.parse(result) : undefined
  return results
}

/** The error of `ctx.fail`. */
class TaskFailure extends Error implements RetryHint {
  override readonly name = 'TaskFailure'
  readonly retryable?: boolean
  readonly retryInMs?: number

  constructor(message: string, { retryable, retryIn }: FailOptions) {
    super(message)
    if (retryable !== undefined) this.retryable = retryable
    if (retryIn !== undefined) this.retryInMs = parseDuration(retryIn, 'retryIn')
  }
}
