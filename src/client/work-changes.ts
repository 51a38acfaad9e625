import { PunctualError, shown } from '../errors.ts'
import type { InputOf, ResultOf } from '../model/definition.ts'
import type { Effect } from '../model/effect.ts'
import { checkOptions } from '../model/limits.ts'
import type { CallerTransaction, CreatedRow } from '../store/store.ts'
import type { By } from './audit-note.ts'
import { type BackfillOptions, type BackfillPreview, Backfills, type OperationResult } from './backfills.ts'
import { Bulk, type BulkFilter, type BulkOptions, type BulkResult, type RetryAllOptions } from './bulk.ts'
import type { ClientEnv } from './client-env.ts'
import { type CancelOptions, type CancelOutcome, Commands, type DeadRetryOptions, type TriggerOptions } from './commands.ts'
import type { Creations } from './creations.ts'
import type { When } from './due-time.ts'
import { type GateResolution, Gates, type GateTarget, type OnceCallInTransactionOptions, type OnceCallOptions } from './gates.ts'
import { Handle, type ResultOptions } from './handle.ts'
import { HandlerWork } from './handler-work.ts'
import type { EnqueueArguments } from './job-arguments.ts'
import { JobChanges } from './job-changes.ts'
import { type Job, ownNameOf } from './job-name.ts'
import type { ListFilter } from './list-filter.ts'
import type { OperationPreview } from './matching.ts'
import type { EnqueueRequest, Request } from './new-occurrence.ts'
import type { CancelTarget, OccurrenceTarget } from './occurrence-target.ts'
import { type PruneOptions, Removals } from './removals.ts'
import { type ReplayAllOptions, type ReplayOptions, Replays } from './replays.ts'

/** The calls of a scheduler that create and change occurrences. */
export class WorkChanges extends JobChanges {
  readonly #commands: Commands
  readonly #replays: Replays
  readonly #backfills: Backfills
  readonly #bulk: Bulk
  readonly #gates: Gates
  readonly #removals: Removals

  constructor(env: ClientEnv, creations: Creations) {
    super(env)
    this.#commands = new Commands(env, creations)
    new HandlerWork(env, creations, this.#commands)
    this.#replays = new Replays(env, creations)
    this.#backfills = new Backfills(env, creations)
    this.#bulk = new Bulk(env, creations, this.#commands)
    this.#gates = new Gates(env)
    this.#removals = new Removals(env)
  }

  /** Creates work, once or later. The payload is checked against the job's schema where this process knows it. */
  async enqueue<const J extends Job>(job: J, ...payloadAndOptions: EnqueueArguments<InputOf<J>>): Promise<Handle<ResultOf<J>>> {
    const [payload, options = {}] = payloadAndOptions
    ownNameOf(job)
    checkOptions(options, Object.keys(options ?? {}), 'options of enqueue')
    const { tx, ...rest } = options
    return this.#handle(await this.#commands.enqueue({ ...rest, job, payload }, tx))
  }

  /** Creates many at once: all of them, or none where one is not valid. */
  async enqueueMany<const Jobs extends readonly Job[]>(
    requests: readonly [...{ [At in keyof Jobs]: EnqueueRequest<Jobs[At]> }],
    options?: { tx?: CallerTransaction | undefined },
  ): Promise<{ -readonly [At in keyof Jobs]: Handle<ResultOf<Jobs[At]>> }> {
    const given = requests as readonly Request[]
    if (!Array.isArray(given))
      throw new PunctualError('option.invalid', `enqueueMany takes a list of requests; got ${shown(given)}`, {
        field: 'requests',
      })
    for (const request of given) if (request?.job !== undefined) ownNameOf(request.job)
    const rows = await this.#commands.enqueueAll(given, options)
    return rows.map((row) => this.#handle(row)) as { -readonly [At in keyof Jobs]: Handle<ResultOf<Jobs[At]>> }
  }

  /** Runs a job now, once, beside its schedule. */
  async trigger<const J extends Job>(job: J, options?: TriggerOptions<InputOf<J>>): Promise<Handle<ResultOf<J>>> {
    ownNameOf(job)
    return this.#handle(await this.#commands.trigger(job, options))
  }

  /** Cancels pending work at once and signals running work (`canceling`). */
  async cancel(target: CancelTarget, options?: CancelOptions): Promise<CancelOutcome> {
    return this.#commands.cancel(target, options)
  }

  /**
   * Call it after the commit of a transaction that created or canceled work (`tx`): nodes poll at once, here and in other processes.
   * Without it they find the work within about two seconds, and a running occurrence gets its cancel with the next heartbeat.
   */
  async wake(): Promise<void> {
    await this.#commands.wake()
  }

  /**
   * Moves pending work to another time.
   * @example await punctual.reschedule({ job: remind, key: 'order-42' }, { delay: '1h' })
   */
  async reschedule(target: OccurrenceTarget, when: When & By): Promise<void> {
    return this.#commands.reschedule(target, when)
  }

  /** Gives a dead occurrence another chance, with fresh retries; its finished tasks are not repeated. */
  async retry(target: OccurrenceTarget, options?: DeadRetryOptions): Promise<void> {
    return this.#commands.retry(target, options)
  }

  /** Ends a dead occurrence as canceled. */
  async discard(target: OccurrenceTarget, options?: By): Promise<void> {
    return this.#commands.discard(target, options)
  }

  /**
   * Puts running work back into the queue at once, with no attempt counted. Its handler gets the signal `lost`, and writes nothing any
   * more. Nodes that are gone need no call: others take over their work.
   * @example await punctual.release(id, { by: 'ada', reason: 'hangs on eu-2' })
   */
  async release(target: OccurrenceTarget, options?: By): Promise<void> {
    return this.#commands.release(target, options)
  }

  /** Runs an ended occurrence again, as a new one linked to it: all of it, or some of its tasks. */
  async replay<const J extends Job = string>(target: OccurrenceTarget<J>, options: ReplayOptions): Promise<Handle<ResultOf<J>>> {
    return this.#handle(await this.#replays.replay(target, options))
  }

  /** Runs again whatever a filter finds. The id is that of the operation, which shows its progress and can be canceled. */
  async replayAll(filter: ListFilter, options: ReplayAllOptions & { dryRun: true }): Promise<OperationPreview>
  async replayAll(filter: ListFilter, options: ReplayAllOptions & { dryRun?: false }): Promise<Handle<OperationResult>>
  async replayAll(filter: ListFilter, options: ReplayAllOptions): Promise<Handle<OperationResult> | OperationPreview> {
    return this.#operation(await this.#replays.replayAll(filter, options))
  }

  /** The preview of a backfill: the exact instants, their count, and existing runs. Writes nothing. */
  async previewBackfill(job: Job, options: BackfillOptions): Promise<BackfillPreview> {
    return this.#backfills.preview(job, options)
  }

  /** Creates runs for a range of a job's schedule. The id is that of the operation, which shows its progress and can be canceled. */
  async backfill(job: Job, options: BackfillOptions): Promise<Handle<OperationResult> & { count: number }> {
    const { count, ...row } = await this.#backfills.start(job, options)
    return Object.assign(this.#handle<OperationResult>(row), { count })
  }

  /**
   * Gives all dead work that a filter finds another chance. The id is that of the operation, which shows its progress and can be
   * canceled. With `dryRun` it only counts.
   * @example await punctual.retryAll({ job: charge, cause }, { spread: '10m' })
   */
  async retryAll(filter: BulkFilter, options: RetryAllOptions & { dryRun: true }): Promise<OperationPreview>
  async retryAll(filter: BulkFilter, options?: RetryAllOptions & { dryRun?: false }): Promise<Handle<BulkResult>>
  async retryAll(filter: BulkFilter, options?: RetryAllOptions): Promise<Handle<BulkResult> | OperationPreview> {
    return this.#operation(await this.#bulk.start('retry', filter, options))
  }

  /** Ends all dead work that a filter finds, as an operation like `retryAll`. */
  async discardAll(filter: BulkFilter, options: BulkOptions & { dryRun: true }): Promise<OperationPreview>
  async discardAll(filter: BulkFilter, options?: BulkOptions & { dryRun?: false }): Promise<Handle<BulkResult>>
  async discardAll(filter: BulkFilter, options?: BulkOptions): Promise<Handle<BulkResult> | OperationPreview> {
    return this.#operation(await this.#bulk.start('discard', filter, options))
  }

  /** Cancels all live work that a filter finds, as an operation like `retryAll`. */
  async cancelAll(filter: BulkFilter, options: BulkOptions & { dryRun: true }): Promise<OperationPreview>
  async cancelAll(filter: BulkFilter, options?: BulkOptions & { dryRun?: false }): Promise<Handle<BulkResult>>
  async cancelAll(filter: BulkFilter, options?: BulkOptions): Promise<Handle<BulkResult> | OperationPreview> {
    return this.#operation(await this.#bulk.start('cancel', filter, options))
  }

  /**
   * Performs an effect once under a key, outside of jobs: in the handler of a webhook, say. As `ctx.once`, within `scope`.
   * @example await punctual.once('stripe-webhook', event.id, () => book(event), { payload: event })
   */
  async once<Value>(scope: string, key: string, effect: Effect<Value>, options?: OnceCallOptions<Value>): Promise<Value>
  async once<Tx, Value>(
    scope: string,
    key: string,
    effect: (tx: Tx) => Value | Promise<Value>,
    options: OnceCallInTransactionOptions,
  ): Promise<Value>
  async once(scope: string, key: string, effect: Effect<unknown>, options?: OnceCallOptions): Promise<unknown> {
    return this.#gates.once(scope, key, effect, options)
  }

  /** A person's finding about an effect whose outcome is unknown: it happened, or it did not. */
  async resolveGate(target: GateTarget, resolution: GateResolution): Promise<void> {
    return this.#gates.resolve(target, resolution)
  }

  /** Deletes the record of an ended or dead occurrence, which the audit records. Its id stays taken where retention would keep it so. */
  async delete(target: OccurrenceTarget, options?: By): Promise<void> {
    return this.#removals.delete(target, options)
  }

  /**
   * Deletes a retired job with all of its records: versions, runs, ranges and pauses. Returns the number of occurrences. The audit stays.
   * @example await punctual.deleteJob('nightly-report', { by: 'ada' })
   */
  async deleteJob(job: Job, options?: { tenant?: string } & By): Promise<number> {
    return this.#removals.deleteJob(job, options)
  }

  /**
   * Deletes ended occurrences that are older, whatever the retention of their jobs, and returns their number. Dead ones stay.
   * @example await punctual.prune({ olderThan: '7d', by: 'ada' })
   */
  async prune(options: PruneOptions): Promise<number> {
    return this.#removals.prune(options)
  }

  readonly #wait = (id: string, options?: ResultOptions): Promise<unknown> => this.result(id, options)

  #operation<Result>(answer: CreatedRow | OperationPreview): Handle<Result> | OperationPreview {
    return 'matches' in answer ? answer : this.#handle(answer)
  }

  #handle<Result>(row: CreatedRow): Handle<Result> {
    return new Handle(row, this.#wait)
  }
}
