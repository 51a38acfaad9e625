import { PunctualError } from '../errors.ts'
import type { AnyDefinition, InputOf, ResultOf } from '../model/definition.ts'
import type { Effect, OnceInTransactionOptions, OnceOptions } from '../model/effect.ts'
import type { ExecutionReport } from '../model/report.ts'
import type { Schedule } from '../schedule/schedule.ts'
import type { Page } from '../store/query.ts'
import type { CallerTransaction } from '../store/store.ts'
import type { By } from './audit-note.ts'
import type { AuditFilter, AuditView } from './audits.ts'
import type { BackfillOptions, BackfillPreview, OperationResult } from './backfills.ts'
import type { BulkFilter, BulkOptions, BulkResult, RetryAllOptions } from './bulk.ts'
import type { CancelOptions, CancelOutcome, DeadRetryOptions, TriggerOptions } from './commands.ts'
import type { DeadLetterFilter, DeadLetterGroup, DeadLetterGroups } from './dead-letters.ts'
import type { When } from './due-time.ts'
import type { Explanation } from './explain.ts'
import type { GateFilter, GateResolution, GateTarget, GateView } from './gates.ts'
import type { Handle, ResultOptions } from './handle.ts'
import type { ScheduleOptions, ScheduleResult, UpdateOptions } from './job-commands.ts'
import type { Job } from './job-name.ts'
import type { JobPatch, OverridableField } from './job-override.ts'
import type { FieldChange, JobView, VersionView } from './job-view.ts'
import type { ListFilter } from './list-filter.ts'
import type { OperationPreview } from './matching.ts'
import type { EnqueueOptions, EnqueueRequest } from './new-occurrence.ts'
import type { CancelTarget, KeyedTarget, OccurrenceTarget } from './occurrence-target.ts'
import type { Occurrence, OccurrenceLine, OccurrenceOf } from './occurrence-view.ts'
import type { PauseOptions } from './pauses.ts'
import type { Punctual } from './punctual.ts'
import type { Counts, EffectiveSettings, JobFilter, JobStatus, RangeView } from './reads.ts'
import type { ReplayAllOptions, ReplayOptions } from './replays.ts'

/** The options of a call without the tenant, which is given. */
type Bound<Options> = Options extends unknown ? Omit<Options, 'tenant'> : never
/** An occurrence by its id, or by its job and key. */
type Target<J extends Job = Job> = string | Bound<KeyedTarget<J>>

/** The API of a scheduler for one tenant. Occurrences and jobs of other tenants do not exist for it. */
export class Tenant {
  readonly name: string
  readonly #punctual: Punctual

  constructor(punctual: Punctual, name: string) {
    this.#punctual = punctual
    this.name = name
  }

  async enqueue<const J extends Job>(
    job: J,
    ...payloadAndOptions: undefined extends InputOf<J>
      ? [payload?: InputOf<J>, options?: Bound<EnqueueOptions>]
      : [payload: InputOf<J>, options?: Bound<EnqueueOptions>]
  ): Promise<Handle<ResultOf<J>>> {
    const [payload, options] = payloadAndOptions
    const enqueue = this.#punctual.enqueue as (job: J, payload: unknown, options: EnqueueOptions) => Promise<Handle<ResultOf<J>>>
    return enqueue.call(this.#punctual, job, payload, this.#bound(options))
  }

  async enqueueMany<const Jobs extends readonly Job[]>(
    requests: readonly [...{ [At in keyof Jobs]: Bound<EnqueueRequest<Jobs[At]>> }],
    options?: { tx?: CallerTransaction | undefined },
  ): Promise<{ -readonly [At in keyof Jobs]: Handle<ResultOf<Jobs[At]>> }> {
    const own = (requests as readonly Bound<EnqueueRequest>[]).map((request) => this.#bound(request) as EnqueueRequest)
    return this.#punctual.enqueueMany(own, options) as never
  }

  async schedule<const J extends Job>(
    definition: J,
    schedule: Schedule,
    ...optionsWithPayload: undefined extends InputOf<J>
      ? [options?: Bound<ScheduleOptions<InputOf<J>>>]
      : [options: Bound<ScheduleOptions<InputOf<J>>> & { payload: InputOf<J> }]
  ): Promise<ScheduleResult> {
    return this.#punctual.schedule<Job>(definition, schedule, this.#bound(optionsWithPayload[0]))
  }

  async update<const J extends Job>(job: J, patch: JobPatch<InputOf<J>>, options?: UpdateOptions & By) {
    return this.#punctual.update<J>(job, patch, this.#bound(options))
  }

  async reset(job: Job, options?: UpdateOptions & { fields?: readonly OverridableField[] } & By) {
    return this.#punctual.reset(job, this.#bound(options))
  }

  async rollback(job: Job, version: number, options?: UpdateOptions & By) {
    return this.#punctual.rollback(job, version, this.#bound(options))
  }

  async retire(job: Job, options?: By) {
    return this.#punctual.retire(job, this.#bound(options))
  }

  /** Pauses a job, or without one all of the tenant. */
  async pause(job?: Job, options?: PauseOptions): Promise<'paused' | 'unchanged'> {
    return this.#punctual.pause({ tenant: this.name, ...(job !== undefined && { job }) }, options)
  }

  async resume(job?: Job, options?: By): Promise<'resumed' | 'unchanged'> {
    return this.#punctual.resume({ tenant: this.name, ...(job !== undefined && { job }) }, options)
  }

  async trigger<const J extends Job>(job: J, options?: Bound<TriggerOptions<InputOf<J>>>): Promise<Handle<ResultOf<J>>> {
    return this.#punctual.trigger<J>(job, this.#bound(options))
  }

  async replay<const J extends Job = string>(target: Target<J>, options: ReplayOptions): Promise<Handle<ResultOf<J>>> {
    return this.#punctual.replay(await this.#own(target), options)
  }

  async replayAll(filter: Bound<ListFilter>, options: ReplayAllOptions & { dryRun: true }): Promise<OperationPreview>
  async replayAll(filter: Bound<ListFilter>, options: ReplayAllOptions & { dryRun?: false }): Promise<Handle<OperationResult>>
  async replayAll(filter: Bound<ListFilter>, options: ReplayAllOptions): Promise<Handle<OperationResult> | OperationPreview> {
    return this.#punctual.replayAll(this.#bound(filter), options as ReplayAllOptions & { dryRun?: false })
  }

  async retryAll(filter: Bound<BulkFilter>, options: RetryAllOptions & { dryRun: true }): Promise<OperationPreview>
  async retryAll(filter: Bound<BulkFilter>, options?: RetryAllOptions & { dryRun?: false }): Promise<Handle<BulkResult>>
  async retryAll(filter: Bound<BulkFilter>, options?: RetryAllOptions): Promise<Handle<BulkResult> | OperationPreview> {
    return this.#punctual.retryAll(this.#bound(filter), options as RetryAllOptions & { dryRun?: false })
  }

  async discardAll(filter: Bound<BulkFilter>, options: BulkOptions & { dryRun: true }): Promise<OperationPreview>
  async discardAll(filter: Bound<BulkFilter>, options?: BulkOptions & { dryRun?: false }): Promise<Handle<BulkResult>>
  async discardAll(filter: Bound<BulkFilter>, options?: BulkOptions): Promise<Handle<BulkResult> | OperationPreview> {
    return this.#punctual.discardAll(this.#bound(filter), options as BulkOptions & { dryRun?: false })
  }

  async cancelAll(filter: Bound<BulkFilter>, options: BulkOptions & { dryRun: true }): Promise<OperationPreview>
  async cancelAll(filter: Bound<BulkFilter>, options?: BulkOptions & { dryRun?: false }): Promise<Handle<BulkResult>>
  async cancelAll(filter: Bound<BulkFilter>, options?: BulkOptions): Promise<Handle<BulkResult> | OperationPreview> {
    return this.#punctual.cancelAll(this.#bound(filter), options as BulkOptions & { dryRun?: false })
  }

  async deadLetters(options: Bound<DeadLetterGroups>): Promise<readonly DeadLetterGroup[]>
  async deadLetters(filter?: Bound<DeadLetterFilter>): Promise<Page<OccurrenceLine>>
  async deadLetters(
    options: Bound<DeadLetterFilter> | Bound<DeadLetterGroups> = {},
  ): Promise<readonly DeadLetterGroup[] | Page<OccurrenceLine>> {
    return this.#punctual.deadLetters(this.#bound(options) as DeadLetterGroups)
  }

  async previewBackfill(job: Job, options: Bound<BackfillOptions>): Promise<BackfillPreview> {
    return this.#punctual.previewBackfill(job, this.#bound(options) as BackfillOptions)
  }

  async backfill(job: Job, options: Bound<BackfillOptions>): Promise<Handle<OperationResult> & { count: number }> {
    return this.#punctual.backfill(job, this.#bound(options) as BackfillOptions)
  }

  async cancel(target: Target | { job: Job; entity: string }, options?: CancelOptions): Promise<CancelOutcome> {
    if (typeof target !== 'string') return this.#punctual.cancel(this.#bound(target) as CancelTarget, options)
    return (await this.get(target)) ? this.#punctual.cancel(target, options) : 'unknown'
  }

  async reschedule(target: Target, when: When & By): Promise<void> {
    return this.#punctual.reschedule(await this.#own(target), when)
  }

  async retry(target: Target, options?: DeadRetryOptions): Promise<void> {
    return this.#punctual.retry(await this.#own(target), options)
  }

  async discard(target: Target, options?: By): Promise<void> {
    return this.#punctual.discard(await this.#own(target), options)
  }

  async release(target: Target, options?: By): Promise<void> {
    return this.#punctual.release(await this.#own(target), options)
  }

  async once<Value>(scope: string, key: string, effect: Effect<Value>, options?: OnceOptions<Value>): Promise<Value>
  async once<Tx, Value>(
    scope: string,
    key: string,
    effect: (tx: Tx) => Value | Promise<Value>,
    options: OnceInTransactionOptions,
  ): Promise<Value>
  async once(scope: string, key: string, effect: Effect<unknown>, options?: OnceOptions): Promise<unknown> {
    return this.#punctual.once(scope, key, effect, this.#bound(options))
  }

  async delete(target: Target, options?: By): Promise<void> {
    return this.#punctual.delete(await this.#own(target), options)
  }

  async deleteJob(job: Job, options?: By): Promise<number> {
    return this.#punctual.deleteJob(job, this.#bound(options))
  }

  async audit(filter?: Bound<AuditFilter>): Promise<Page<AuditView>> {
    return this.#punctual.audit(this.#bound(filter))
  }

  async gates(filter?: Bound<GateFilter>): Promise<Page<GateView>> {
    return this.#punctual.gates(this.#bound(filter))
  }

  async resolveGate(target: Bound<GateTarget>, resolution: GateResolution): Promise<void> {
    return this.#punctual.resolveGate(this.#bound(target), resolution)
  }

  async get<const J extends AnyDefinition>(job: J, id: string): Promise<OccurrenceOf<J> | null>
  async get<const J extends Job = string>(target: Target<J>): Promise<OccurrenceOf<J> | null>
  async get(first: Target | AnyDefinition, id?: string): Promise<Occurrence | null> {
    const found =
      id !== undefined
        ? await this.#punctual.get(first as AnyDefinition, id)
        : await this.#punctual.get(typeof first === 'string' ? first : (this.#bound(first as Bound<KeyedTarget>) as KeyedTarget))
    return found?.tenant === this.name ? found : null
  }

  async result<const J extends Job = string>(target: Target<J>, options?: ResultOptions): Promise<ResultOf<J>> {
    return this.#punctual.result(await this.#own(target), options)
  }

  async list(filter?: Bound<ListFilter>): Promise<Page<OccurrenceLine>> {
    return this.#punctual.list(this.#bound(filter))
  }

  async counts(filter?: { job?: Job }): Promise<Counts> {
    return this.#punctual.counts(this.#bound(filter))
  }

  async status(job: Job): Promise<JobStatus> {
    return this.#punctual.status(job, { tenant: this.name })
  }

  async settings(job: Job, task?: string): Promise<EffectiveSettings> {
    return this.#punctual.settings(job, task, { tenant: this.name })
  }

  async explain(target: Target | { job: Job }): Promise<Explanation> {
    if (typeof target !== 'string') return this.#punctual.explain(this.#bound(target) as Parameters<Punctual['explain']>[0])
    return (await this.get(target)) ? this.#punctual.explain(target) : this.#punctual.explain({ tenant: this.name, job: target })
  }

  async versions(job: Job): Promise<readonly VersionView[]> {
    return this.#punctual.versions(job, { tenant: this.name })
  }

  async diff(job: Job, from: number, to: number): Promise<readonly FieldChange[]> {
    return this.#punctual.diff(job, from, to, { tenant: this.name })
  }

  async ranges(filter?: { job?: Job; limit?: number }): Promise<readonly RangeView[]> {
    return this.#punctual.ranges(this.#bound(filter))
  }

  async jobs(filter?: Bound<JobFilter>): Promise<Page<JobView>> {
    return this.#punctual.jobs(this.#bound(filter))
  }

  recent(job: Job): readonly ExecutionReport[] {
    return this.#punctual.recent(job, { tenant: this.name })
  }

  /** The options of a call with the tenant. Another tenant is refused: it can only be a mistake. */
  #bound<Options extends object>(options: Options | undefined): Options & { tenant: string } {
    if (options && 'tenant' in options)
      throw new PunctualError(
        'option.unknown',
        `tenant(${JSON.stringify(this.name)}) has its tenant; leave the option tenant out`,
        {
          option: 'tenant',
        },
      )
    return { ...(options as Options), tenant: this.name }
  }

  /** The target, which must be of this tenant. */
  async #own<J extends Job>(target: Target<J>): Promise<OccurrenceTarget<J>> {
    if (typeof target !== 'string') return this.#bound(target) as unknown as KeyedTarget<J>
    if (await this.get(target)) return target
    throw new PunctualError('occurrence.unknown', `There is no occurrence ${target} in tenant ${JSON.stringify(this.name)}`, {
      target,
      tenant: this.name,
    })
  }
}
