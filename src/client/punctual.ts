import type { Env } from '../engine/env.ts'
import type { Bus } from '../engine/node/bus.ts'
import type { DueSummary } from '../engine/node/due-work.ts'
import { Engine } from '../engine/node/engine.ts'
import { Registry } from '../engine/node/registry.ts'
import { StoreTime } from '../engine/node/store-time.ts'
import { Rides } from '../engine/record/rides.ts'
import { Timeouts } from '../engine/turn/timeouts.ts'
import { PunctualError, shown } from '../errors.ts'
import type { Handler } from '../model/context.ts'
import {
  type AnyDefinition,
  Definition,
  type InputOf,
  type PayloadOf,
  type ResultOf,
  type ResultsOf,
} from '../model/definition.ts'
import { errorText } from '../model/error-record.ts'
import { Emitter, type EventName, eventNames, type Health, type Listener } from '../model/events.ts'
import { checkName, checkObject, checkOneOf, checkOptions, checkWhole } from '../model/limits.ts'
import type { ExecutionReport } from '../model/report.ts'
import type { Schedule } from '../schedule/schedule.ts'
import type { Page } from '../store/query.ts'
import type { CreatedRow, NodeRecord, Queryable } from '../store/store.ts'
import { systemClock } from '../time/clock.ts'
import { type DurationInput, parseDuration } from '../time/duration.ts'
import { type InstantInput, parseInstant } from '../time/instant.ts'
import { type CancelOptions, type CancelOutcome, Commands, type TriggerOptions } from './commands.ts'
import { Explainer, type ExplainTarget, type Explanation } from './explain.ts'
import { Handle, type ResultOptions } from './handle.ts'
import {
  JobCommands,
  type JobPatch,
  type OverridableField,
  type ScheduleOptions,
  type ScheduleResult,
  type UpdateOptions,
  type UpdateResult,
} from './job-commands.ts'
import { nameOf, ownNameOf } from './job-name.ts'
import type { FieldChange, JobView, VersionView } from './job-view.ts'
import type { ListFilter } from './list-filter.ts'
import { guarded, stderrLogger } from './logger.ts'
import type { EnqueueOptions, EnqueueRequest, Request } from './new-occurrence.ts'
import { type CancelTarget, type OccurrenceTarget, tenantOf } from './occurrence-target.ts'
import type { Occurrence, OccurrenceLine, OccurrenceOf } from './occurrence-view.ts'
import { type BackfillOptions, type BackfillPreview, type OperationResult, Operations, type ReplayOptions } from './operations.ts'
import { type PunctualOptions, parseOptions } from './options.ts'
import { type PauseOptions, Pauses, type PauseTarget, type PauseView } from './pauses.ts'
import { random, randomBytes } from './random.ts'
import { type Counts, type EffectiveSettings, type JobFilter, type JobStatus, type RangeView, Reads } from './reads.ts'
import { Recent } from './recent.ts'
import { Results } from './results.ts'
import { Tenant } from './tenant.ts'
import type { When } from './when.ts'

/**
 * A scheduler on a store. Without `start` it is a client: it enqueues, schedules, cancels and reads; started, it is a node that
 * plans and runs work too.
 * @example const punctual = createPunctual({ store: sqlite('punctual.db'), jobs: [invoice] })
 */
export function createPunctual(options: PunctualOptions): Punctual {
  return new Punctual(options)
}

type Job = AnyDefinition | string

/** The payload may be left out where the job takes none, or anything. */
type EnqueueArguments<Input> = undefined extends Input
  ? [payload?: Input, options?: EnqueueOptions]
  : [payload: Input, options?: EnqueueOptions]

/** The same for a schedule, whose payload is among its options. */
type ScheduleArguments<Input> = undefined extends Input
  ? [options?: ScheduleOptions<Input>]
  : [options: ScheduleOptions<Input> & { payload: Input }]

/** A handler registered apart from its definition. Its results are those of earlier tasks, so each may be missing. */
type HandlerOf<J extends Job> = Handler<PayloadOf<J>, Readonly<Partial<ResultsOf<J>>>>

/** A scheduler, made by `createPunctual`. */
export class Punctual implements AsyncDisposable {
  readonly #engine: Engine
  readonly #commands: Commands
  readonly #jobCommands: JobCommands
  readonly #pauses: Pauses
  readonly #operations: Operations
  readonly #explainer: Explainer
  readonly #reads: Reads
  readonly #recent: Recent
  readonly #results: Results
  #isClosed = false

  constructor(given: PunctualOptions) {
    const { options, engine } = parseOptions(given)
    const clock = options.clock ?? systemClock
    const log = guarded(options.log ?? stderrLogger)
    const events: Bus = new Emitter((error, event) => log.error(`A listener of ${event} threw`, { error: errorText(error) }))
    const env: Env = {
      clock,
      random: options.random ?? random,
      randomBytes,
      store: options.store,
      log,
      events,
      registry: registryOf(options),
      time: new StoreTime(clock, () => events.emit('signal.jump', null)),
      timeouts: new Timeouts(clock),
      rides: new Rides(),
      declared: new Map(),
      unopposedSince: new Map(),
      options: engine,
    }
    this.#engine = new Engine(env)
    this.#commands = new Commands(this.#engine)
    this.#jobCommands = new JobCommands(this.#engine)
    this.#pauses = new Pauses(this.#engine)
    this.#operations = new Operations(this.#engine, this.#commands)
    this.#explainer = new Explainer(this.#engine)
    this.#reads = new Reads(this.#engine)
    this.#recent = new Recent(events)
    this.#results = new Results(this.#engine, this.#reads)
  }

  /** Makes this process a node. Resolves while the store is down, too: `health` tells. */
  async start(): Promise<this> {
    this.#checkOpen()
    await this.#engine.start()
    return this
  }

  /** Stops planning and claiming, signals running handlers, and waits for them for the grace period. */
  async stop(options: { grace?: DurationInput } = {}): Promise<void> {
    checkOptions(options, ['grace'], 'stop')
    const { grace } = options
    await this.#engine.stop(grace === undefined ? undefined : parseDuration(grace, 'grace'))
  }

  /** Stops, and lets go of the store. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#results.close()
    await this.#engine.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** Creates work, once or later. The payload is checked against the job's schema where this process knows it. */
  async enqueue<const J extends Job>(
    job: J,
    ...[payload, options = {}]: EnqueueArguments<InputOf<J>>
  ): Promise<Handle<ResultOf<J>>> {
    this.#checkOpen()
    ownNameOf(job)
    checkOptions(options, Object.keys(options ?? {}), 'options of enqueue')
    const { tx, ...rest } = options
    return this.#handle(await this.#commands.enqueue({ ...rest, job, payload }, tx))
  }

  /** Creates many at once: all of them, or none where one is not valid. */
  async enqueueMany<const Jobs extends readonly Job[]>(
    requests: readonly [...{ [At in keyof Jobs]: EnqueueRequest<Jobs[At]> }],
    options?: { tx?: Queryable | undefined },
  ): Promise<{ -readonly [At in keyof Jobs]: Handle<ResultOf<Jobs[At]>> }> {
    this.#checkOpen()
    const given = requests as readonly Request[]
    if (!Array.isArray(given))
      throw new PunctualError('option.invalid', `enqueueMany takes a list of requests; got ${shown(given)}`, {
        field: 'requests',
      })
    for (const request of given) if (request?.job !== undefined) ownNameOf(request.job)
    const rows = await this.#commands.enqueueAll(given, options)
    return rows.map((row) => this.#handle(row)) as { -readonly [At in keyof Jobs]: Handle<ResultOf<Jobs[At]>> }
  }

  /** Gives a job its schedule. Saying the same again writes nothing. */
  async schedule<const J extends Job>(
    definition: J,
    schedule: Schedule,
    ...[options]: ScheduleArguments<InputOf<J>>
  ): Promise<ScheduleResult> {
    this.#checkOpen()
    return this.#jobCommands.schedule(this.#declared(definition), schedule, options)
  }

  /** A person's change of a job: it wins over what code declares until `reset`. */
  async update<const J extends Job>(
    job: J,
    patch: JobPatch<InputOf<J>>,
    options?: UpdateOptions & { tenant?: string; by?: string },
  ): Promise<UpdateResult> {
    this.#checkOpen()
    return this.#jobCommands.update(job, patch, options)
  }

  /** Takes a person's changes back, all or those of some fields. */
  async reset(
    job: AnyDefinition | string,
    options?: UpdateOptions & { tenant?: string; fields?: readonly OverridableField[]; by?: string },
  ): Promise<UpdateResult> {
    this.#checkOpen()
    return this.#jobCommands.reset(job, options)
  }

  /** Makes an older version hold again, as a new one. */
  async rollback(
    job: AnyDefinition | string,
    version: number,
    options?: UpdateOptions & { tenant?: string; by?: string },
  ): Promise<UpdateResult> {
    this.#checkOpen()
    return this.#jobCommands.rollback(job, version, options)
  }

  /** Ends a job that no code declares any more; its history stays. */
  async retire(job: AnyDefinition | string, options?: { tenant?: string; by?: string }): Promise<UpdateResult> {
    this.#checkOpen()
    return this.#jobCommands.retire(job, options)
  }

  /** Pauses a job, a tenant (`{ tenant }`), or everything (no target). Scheduled instants meanwhile are skipped, other work waits. */
  async pause(target?: PauseTarget, options?: PauseOptions): Promise<'paused' | 'unchanged'> {
    this.#checkOpen()
    return this.#pauses.pause(target, options)
  }

  /** Ends the pause of exactly this target. */
  async resume(target?: PauseTarget): Promise<'resumed' | 'unchanged'> {
    this.#checkOpen()
    return this.#pauses.resume(target)
  }

  /** The pauses in force, and with `all` those that are over, too. */
  async pauses(options?: { all?: boolean }): Promise<readonly PauseView[]> {
    this.#checkOpen()
    return this.#pauses.pauses(options)
  }

  /** Runs a job now, once, beside its schedule. */
  async trigger<const J extends Job>(job: J, options?: TriggerOptions<InputOf<J>>): Promise<Handle<ResultOf<J>>> {
    this.#checkOpen()
    ownNameOf(job)
    return this.#handle(await this.#commands.trigger(job, options))
  }

  /** Runs an ended occurrence again, as a new one linked to it: all of it, or some of its tasks. */
  async replay<const J extends Job = string>(target: OccurrenceTarget<J>, options: ReplayOptions): Promise<Handle<ResultOf<J>>> {
    this.#checkOpen()
    return this.#handle(await this.#operations.replay(target, options))
  }

  /** Runs again whatever a filter finds. The id is that of the operation, which shows its progress and can be canceled. */
  async replayAll(filter: ListFilter, options: { reason: string }): Promise<Handle<OperationResult>> {
    this.#checkOpen()
    return this.#handle(await this.#operations.replayAll(filter, options))
  }

  /** The preview of a backfill: the exact instants, their count, and existing runs. Writes nothing. */
  async previewBackfill(job: AnyDefinition | string, options: BackfillOptions): Promise<BackfillPreview> {
    this.#checkOpen()
    return this.#operations.previewBackfill(job, options)
  }

  /** Creates runs for a range of a job's schedule. The id is that of the operation, which shows its progress and can be canceled. */
  async backfill(job: AnyDefinition | string, options: BackfillOptions): Promise<Handle<OperationResult> & { count: number }> {
    this.#checkOpen()
    const { count, ...row } = await this.#operations.backfill(job, options)
    return Object.assign(this.#handle<OperationResult>(row), { count })
  }

  /** Cancels pending work at once and signals running work (`canceling`). */
  async cancel(target: CancelTarget, options?: CancelOptions): Promise<CancelOutcome> {
    this.#checkOpen()
    return this.#commands.cancel(target, options)
  }

  /**
   * To call after the commit of a transaction in which work was created or canceled (`tx`): nodes look at once, here and elsewhere.
   * Without it they find out within about a second, and of a running occurrence that is canceled at their next beat.
   */
  async wake(): Promise<void> {
    this.#checkOpen()
    await this.#commands.wake()
  }

  /**
   * Moves pending work to another time.
   * @example await punctual.reschedule({ job: remind, key: 'order-42' }, { delay: '1h' })
   */
  async reschedule(target: OccurrenceTarget, when: When): Promise<void> {
    this.#checkOpen()
    return this.#commands.reschedule(target, when)
  }

  /** Gives a dead occurrence another chance, with fresh retries; its finished tasks are not repeated. */
  async retry(target: OccurrenceTarget, options?: When): Promise<void> {
    this.#checkOpen()
    return this.#commands.retry(target, options)
  }

  /** Ends a dead occurrence as canceled. */
  async discard(target: OccurrenceTarget, options?: { reason?: string }): Promise<void> {
    this.#checkOpen()
    return this.#commands.discard(target, options)
  }

  /**
   * An occurrence with all that became of it; null when there is none. With its job, payload and result have the job's types.
   * @example const found = await punctual.get(invoice, id)
   */
  async get<const J extends AnyDefinition>(job: J, id: string): Promise<OccurrenceOf<J> | null>
  async get<const J extends Job = string>(target: OccurrenceTarget<J>): Promise<OccurrenceOf<J> | null>
  async get(first: OccurrenceTarget | AnyDefinition, id?: string): Promise<Occurrence | null> {
    this.#checkOpen()
    if (!(first instanceof Definition)) return this.#reads.get(first)
    const found = await this.#reads.get(id as string)
    return found?.definition === first.name ? found : null
  }

  /**
   * The result of an occurrence, as the `result` of a handle: for an id or a key alone, also in another process.
   * @example const pdf = await punctual.result({ job: render, idempotencyKey: 'order-42' }, { timeout: '1m' })
   */
  async result<const J extends Job = string>(target: OccurrenceTarget<J>, options?: ResultOptions): Promise<ResultOf<J>> {
    this.#checkOpen()
    return this.#results.of(target, options) as Promise<ResultOf<J>>
  }

  /** The newest first, a page at a time. */
  async list(filter?: ListFilter): Promise<Page<OccurrenceLine>> {
    this.#checkOpen()
    return this.#reads.list(filter)
  }

  /** The number of occurrences in each state: of all, of a tenant or of a job. */
  async counts(filter?: { tenant?: string; job?: AnyDefinition | string }): Promise<Counts> {
    this.#checkOpen()
    return this.#reads.counts(filter)
  }

  /** Where a job stands: whether it is active, paused or running, and its next and last run. */
  async status(job: AnyDefinition | string, options?: { tenant?: string }): Promise<JobStatus> {
    this.#checkOpen()
    return this.#reads.status(job, options)
  }

  /** The settings that a run of the job, or one of its tasks, would be subject to now. */
  async settings(job: Job, task?: string, options?: { tenant?: string }): Promise<EffectiveSettings> {
    this.#checkOpen()
    return this.#reads.settings(job, task, options)
  }

  /**
   * The same API for one tenant: ids and jobs of other tenants are unknown to it.
   * @example await punctual.tenant('acme').enqueue(remind, { order: 42 })
   */
  tenant(name: string): Tenant {
    return new Tenant(this, checkName(name, 'tenant'))
  }

  /** Why a job or an occurrence has not run, or will not. */
  async explain(target: ExplainTarget): Promise<Explanation> {
    this.#checkOpen()
    return this.#explainer.explain(target)
  }

  /** The versions of a job, oldest first. */
  async versions(job: AnyDefinition | string, options?: { tenant?: string }): Promise<readonly VersionView[]> {
    this.#checkOpen()
    return this.#reads.versions(job, options)
  }

  /** The differences between two versions of a job, field by field. */
  async diff(
    job: AnyDefinition | string,
    from: number,
    to: number,
    options?: { tenant?: string },
  ): Promise<readonly FieldChange[]> {
    this.#checkOpen()
    return this.#reads.diff(job, from, to, options)
  }

  /** Ranges of passed-over instants without single records, the newest first. */
  async ranges(filter?: { tenant?: string; job?: AnyDefinition | string; limit?: number }): Promise<readonly RangeView[]> {
    this.#checkOpen()
    return this.#reads.ranges(filter)
  }

  /** The jobs by name and tenant, those that never ran included, a page at a time. */
  async jobs(filter?: JobFilter): Promise<Page<JobView>> {
    this.#checkOpen()
    return this.#reads.jobs(filter)
  }

  /** The nodes that the store knows, with their heartbeats. */
  async nodes(): Promise<readonly NodeRecord[]> {
    this.#checkOpen()
    return this.#reads.nodes()
  }

  /** The last 50 executions of a job that this process saw, from memory. */
  recent(job: AnyDefinition | string, options: { tenant?: string } = {}): readonly ExecutionReport[] {
    checkOptions(options, ['tenant'], 'recent')
    return this.#recent.of(tenantOf(options), nameOf(job))
  }

  /** One pass for hosts that tick from outside: plans, claims up to `limit`, runs to the end. `now` can only lower the store's. */
  async runDue(options: { now?: InstantInput; limit?: number } = {}): Promise<DueSummary> {
    this.#checkOpen()
    checkOptions(options, ['now', 'limit'], 'runDue')
    const { now, limit = 100 } = options
    checkWhole(limit, 'limit', 1, 100_000)
    return this.#engine.runDue({ limit, ...(now !== undefined && { dueBy: parseInstant(now, 'now') }) })
  }

  /** Resolves when a started scheduler has run everything that is due now and that it has handlers for. */
  async idle(): Promise<void> {
    this.#checkOpen()
    await this.#engine.idle()
  }

  /** Registers a definition after creation. */
  define(definition: AnyDefinition): this {
    if (!(definition instanceof Definition))
      throw new PunctualError('option.invalid', `definition must be made by defineJob; got ${shown(definition)}`, {
        field: 'definition',
      })
    this.#engine.env.registry.define(definition)
    this.#engine.noteRegistration()
    return this
  }

  /** Registers a handler for a job, or for one of its tasks, apart from the definition. */
  handle<const J extends Job>(job: J, handler: HandlerOf<J>): this
  handle<const J extends Job>(job: J, task: keyof ResultsOf<J> & string, handler: HandlerOf<J>): this
  handle(job: Job, second: string | Handler<never, never>, third?: Handler<never, never>): this {
    const [task, handler] = typeof second === 'string' ? [second, third] : [null, second]
    this.#engine.env.registry.handle(nameOf(job), task === null ? null : checkName(task, 'task'), handler as Handler)
    this.#engine.noteRegistration()
    return this
  }

  /** Hears of what this process does; the returned function ends it. */
  on<Name extends EventName>(event: Name, listener: Listener<Name>): () => void {
    checkOneOf(event, 'event', eventNames)
    if (typeof listener !== 'function')
      throw new PunctualError('option.invalid', `listener of ${event} must be a function; got ${shown(listener)}`, {
        field: 'listener',
      })
    return this.#engine.env.events.on(event, listener)
  }

  /** Whether this node does its work, and why not. */
  get health(): Health {
    return this.#engine.health
  }

  /** How many occurrences run here, and how many claimed ones wait for a slot. */
  get depth(): { running: number; queued: number } {
    return this.#engine.depth
  }

  #handle<Result>(row: CreatedRow): Handle<Result> {
    return new Handle(row, (id, options) => this.result(id, options))
  }

  #declared(definition: AnyDefinition | string): AnyDefinition {
    if (definition instanceof Definition) return definition
    const known = this.#engine.env.registry.definition(nameOf(definition))
    if (known) return known
    throw new PunctualError(
      'definition.unknown',
      `No definition is named ${shown(definition)} in this process; give it to createPunctual in jobs`,
      { field: 'definition', given: definition },
    )
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new PunctualError('punctual.closed', 'This scheduler was closed; create a new one', {})
  }
}

function registryOf({ jobs = [], handlers = {} }: PunctualOptions): Registry {
  const registry = new Registry()
  if (!Array.isArray(jobs))
    throw new PunctualError('option.invalid', 'jobs must be a list of definitions made by defineJob', { field: 'jobs' })
  jobs.forEach((definition, at) => {
    if (!(definition instanceof Definition))
      throw new PunctualError('option.invalid', `jobs[${at}] must be made by defineJob; got ${typeof definition}`, {
        field: `jobs[${at}]`,
      })
    registry.define(definition)
  })
  checkObject(handlers, 'handlers')
  for (const [job, own] of Object.entries(handlers)) {
    if (typeof own !== 'function') checkObject(own, `handlers.${job} must be a function, or an object of functions by task; it`)
    if (typeof own === 'function') registry.handle(job, null, own as Handler)
    else for (const [task, handler] of Object.entries(own)) registry.handle(job, task, handler as Handler)
  }
  return registry
}
