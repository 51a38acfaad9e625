import { PunctualError } from '../errors.ts'
import type { Context, FailOptions, Logger, Refs } from '../model/context.ts'
import { attemptId, taskRunId } from '../model/ids.ts'
import type { Source } from '../model/lifecycle.ts'
import type { OccurrenceRecord } from '../model/occurrence.ts'
import type { RetryHint } from '../model/retry.ts'
import { parseDuration } from '../time/duration.ts'

/** What the context needs from the run it belongs to. */
export interface ContextSource {
  readonly record: OccurrenceRecord
  readonly payload: unknown
  readonly results: Readonly<Record<string, unknown>>
  readonly task: string
  readonly attempt: number
  readonly startedAt: number
  readonly lastRunAt: number | null
  readonly log: Logger
  readonly signal: AbortSignal
  progress(done: number, message: string | null): void
  transaction<Tx, Value>(work: (tx: Tx) => Value | Promise<Value>): Promise<Value>
}

/** The context of one attempt. What has to be made for it is made when asked for, since most handlers ask for little. */
export class TaskContext implements Context {
  readonly #source: ContextSource
  #results: Readonly<Record<string, unknown>> | null = null
  readonly tenant: string
  readonly job: string
  readonly task: string
  readonly key: string | null
  readonly entity: string | null
  readonly refs: Refs
  readonly source: Source
  readonly occurrenceId: string
  readonly attempt: number

  constructor(source: ContextSource) {
    const { record } = source
    this.#source = source
    this.task = source.task
    this.attempt = source.attempt
    this.tenant = record.tenant
    this.job = record.job
    this.key = record.key
    this.entity = record.entity
    this.refs = record.refs
    this.source = record.source
    this.occurrenceId = record.id
  }

  get payload(): unknown {
    return this.#source.payload
  }
  get results(): Readonly<Record<string, unknown>> {
    this.#results ??= this.#source.results
    return this.#results
  }
  get replayOf(): string | null {
    return this.#source.record.replay?.origin ?? null
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
    return new Date(this.#source.record.scheduledAt)
  }
  get startedAt(): Date {
    return new Date(this.#source.startedAt)
  }
  get lateness(): number {
    return Math.max(0, this.#source.startedAt - this.#source.record.scheduledAt)
  }
  get isRecovery(): boolean {
    return this.source === 'recovery'
  }
  get span(): Context['span'] {
    const { span } = this.#source.record
    return span && { from: new Date(span.from), to: new Date(span.to), count: span.count }
  }
  get lastRunAt(): Date | null {
    return this.#source.lastRunAt === null ? null : new Date(this.#source.lastRunAt)
  }
  get signal(): AbortSignal {
    return this.#source.signal
  }
  get log(): Logger {
    return this.#source.log
  }

  get progress(): Context['progress'] {
    return (done, message) => {
      if (typeof done !== 'number' || !(done >= 0 && done <= 1)) {
        throw new PunctualError('option.invalid', `progress must be a number from 0 to 1; got ${String(done)}`, {
          field: 'progress',
          given: done,
        })
      }
      this.#source.progress(done, message ?? null)
    }
  }
  get fail(): Context['fail'] {
    return (message, options = {}) => {
      throw new TaskFailure(message, options)
    }
  }
  get transaction(): Context['transaction'] {
    return (work) => this.#source.transaction(work)
  }
}

/** What `ctx.fail` throws. */
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
