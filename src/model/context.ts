import type { DurationInput } from '../time/duration.ts'
import type { Child, ChildArguments, ChildCancelOptions, ChildTarget, JobReference } from './child.ts'
import type { Effect, InScope, OnceInTransactionOptions, OnceOptions } from './effect.ts'
import type { Source } from './lifecycle.ts'

/** Ids of the records an occurrence belongs to: order, customer, invoice. Only ids, never personal data. */
export type Refs = Readonly<Record<string, string>>

/** Structured log lines; the logger of the scheduler, with the ids of the run added to each line. */
export interface Logger {
  debug(message: string, fields?: object): void
  info(message: string, fields?: object): void
  warn(message: string, fields?: object): void
  error(message: string, fields?: object): void
}

/** Why `ctx.signal` was aborted. */
export type AbortReason = 'timeout' | 'cancel' | 'shutdown' | 'lost' | 'peer-failed'

/** The options of `ctx.fail`. */
export interface FailOptions {
  /** False: this failure is final, whatever retries are left. */
  retryable?: boolean
  /** The wait before the next attempt, instead of the policy's. */
  retryIn?: DurationInput
}

/** The argument of a task's handler. */
export interface Context<Payload = unknown, Results = Readonly<Record<string, unknown>>> {
  /** The payload, as the schema of the job returns it. */
  readonly payload: Payload
  /** The results of the tasks named in `after`; undefined for one that failed under `continue`. */
  readonly results: Results
  /** The tenant of the job. */
  readonly tenant: string
  /** The name of the job. */
  readonly job: string
  /** The name of the task. */
  readonly task: string
  /** The `key` or `idempotencyKey` that it was created under. */
  readonly key: string | null
  /** The record that the work is about. */
  readonly entity: string | null
  /** Ids of related records. */
  readonly refs: Refs
  /** The origin of the occurrence: a schedule, a call, a replay and so on. */
  readonly source: Source
  /** The id of the occurrence. */
  readonly occurrenceId: string
  /** The id of the occurrence whose handler created this one; else null. */
  readonly parent: string | null
  /** The version of the job that the occurrence belongs to; 0 where the job is not declared in its tenant. */
  readonly version: number
  /** The id of the occurrence that this one repeats: for a replay, and for a backfill of an instant that has a record. Else null. */
  readonly replayOf: string | null
  /** The id of this task in this occurrence, the same for all its attempts. */
  readonly taskRunId: string
  /** The id of this attempt. */
  readonly attemptId: string
  /** The same for every attempt of this task run: hand it to systems that drop duplicates. */
  readonly idempotencyKey: string
  /** 1 for the first try of this task. */
  readonly attempt: number
  /**
   * The instant that the occurrence stands for: that of the schedule, or the one that enqueued work is due at, after a `reschedule` the
   * new one. A replay keeps the instant of its origin.
   */
  readonly scheduledAt: Date
  /** How long after the work was due this attempt began, in ms. Moved work is due when it was moved to, a retry after its wait. */
  readonly lateness: number
  /** Whether the instant came due while no node ran. */
  readonly isRecovery: boolean
  /** Of a compressed recovery: the instants this one run stands for. */
  readonly span: { readonly from: Date; readonly to: Date; readonly count: number } | null
  /** When this attempt began. */
  readonly startedAt: Date
  /** When the job's run before this one began, or null for the first. */
  readonly lastRunAt: Date | null
  /** Aborts with an `AbortReason` as its `reason.code`; a handler that ignores it is abandoned after `node.abandonAfter`. */
  readonly signal: AbortSignal
  /**
   * The logger of the scheduler, with the ids of the run added to each line. The newest lines of the attempt, except `debug`, are also
   * stored with it: up to 16 KiB.
   */
  readonly log: Logger
  /** Records the progress of the task: a share from 0 to 1, a text, or both. A text alone keeps the share. */
  progress(done: number | string, message?: string): void
  /** Ends the attempt as failed. */
  fail(message: string, options?: FailOptions): never
  /**
   * Creates work with this occurrence as its `parent`, in the same tenant. A later attempt of this task that makes the same call (the
   * same job and key, or without a key the same payload) finds the child instead of creating another. Inside `ctx.transaction` it is
   * created by the commit.
   * @example await ctx.enqueue(sendMail, { to: 'ada@example.org' }, { delay: '1h' })
   */
  enqueue<const Job extends JobReference>(job: Job, ...payloadAndOptions: ChildArguments<Job>): Promise<Child>
  /** Cancels work of the same tenant, as `cancel` of the scheduler does. Inside `ctx.transaction` the commit does it (`deferred`). */
  cancel(target: ChildTarget, options?: ChildCancelOptions): Promise<'canceled' | 'canceling' | 'ended' | 'unknown' | 'deferred'>
  /**
   * Runs `work` in a transaction of the store's own database and commits its writes together with the success of this task.
   * The value of `work` becomes the task's result. Needs a store with the ability `tx`: on SQLite `tx` is a `DatabaseSync` and the
   * work must be synchronous, on PostgreSQL it is a client of `pg`. Work that was undone may be run again in the same attempt.
   */
  transaction<Tx, Value>(work: (tx: Tx) => Value | Promise<Value>): Promise<Value>
  /**
   * Records a business event in the audit, with the actor SYSTEM: in the commit that records the end of this attempt, or inside
   * `transaction` in its commit. `data` is plain JSON.
   * @example ctx.audit('invoice.sent', { invoice: '2026-7', customer: 'acme' })
   */
  audit(event: string, refs?: Refs, data?: unknown): void
  /**
   * Performs an effect once under a key, over all attempts and nodes, and returns its recorded outcome to every other call. A throw
   * frees the key, unless it is unknown whether the effect happened: see docs/guides/effects.md.
   * @example await ctx.once('charge', ({ idempotencyKey }) => provider.charge(order, { idempotencyKey }), { check })
   */
  once<Value>(key: string, effect: Effect<Value>, options?: OnceOptions<Value> & InScope): Promise<Value>
  once<Tx, Value>(
    key: string,
    effect: (tx: Tx) => Value | Promise<Value>,
    options: OnceInTransactionOptions & InScope,
  ): Promise<Value>
}

/** The code of a task. */
export type Handler<Payload = unknown, Results = Readonly<Record<string, unknown>>, Result = unknown> = (
  ctx: Context<Payload, Results>,
) => Result | Promise<Result>
