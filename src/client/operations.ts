// Replays and backfills of many occurrences. Each is an occurrence of a built-in job: it shows its progress, can be canceled, and another
// node continues it after a crash, since what it creates has ids that come out the same every time.

import { type Tick, Timeline } from '../engine/loops/timeline.ts'
import type { Engine } from '../engine/node/engine.ts'
import { builtInPrefix } from '../engine/node/registry.ts'
import { PunctualError } from '../errors.ts'
import type { Context } from '../model/context.ts'
import { type AnyDefinition, defineJob } from '../model/definition.ts'
import { fillId, replayId, scheduledId, uuidV7 } from '../model/ids.ts'
import { defaultTenant, type JobRecord, type VersionRecord } from '../model/job.ts'
import type { OccurrenceState } from '../model/lifecycle.ts'
import { checkKey, checkObject, checkOneOf, checkOptions, checkWhole } from '../model/limits.ts'
import type { OccurrenceSummary } from '../model/occurrence.ts'
import type { OccurrenceFilter } from '../store/query.ts'
import type { CreatedRow } from '../store/store.ts'
import { type InstantInput, parseInstant } from '../time/instant.ts'
import type { Commands } from './commands.ts'
import { hasSucceededSince, type InstantRun, instantRuns } from './instant-runs.ts'
import { nameOf } from './job-name.ts'
import { type ListFilter, parseFilter } from './list-filter.ts'
import { type OccurrenceTarget, unknownOccurrence, whichOf } from './occurrence-target.ts'
import { unknownJob } from './unknown-job.ts'

export const backfillModes = ['missing', 'failed', 'all'] as const
/** Which instants of the range are run: those without a run, those that failed, or every one. */
export type BackfillMode = (typeof backfillModes)[number]

/** The range of a backfill, and how it runs. */
export interface BackfillOptions {
  /** Inclusive. */
  from: InstantInput
  /** Exclusive; what lies ahead of now is left to the schedule. */
  to: InstantInput
  mode?: BackfillMode
  /** How many of them run at once. Default 1. */
  concurrency?: number
  tenant?: string
}

/** The preview of a backfill. */
export interface BackfillPreview {
  /** Instants of the schedule in the range. */
  readonly instants: number
  /** How many of them would be run. */
  readonly count: number
  /** The first of those that would be run. */
  readonly first: readonly Date[]
  /** The number of existing runs, by state. */
  readonly existing: Readonly<Partial<Record<OccurrenceState, number>>>
}

/** The options of `replay`. */
export interface ReplayOptions {
  /** Why: kept with the replay. */
  reason: string
  /** Runs only these tasks; what the others came to stands. */
  tasks?: readonly string[]
  /** Saying the same again under the same request creates nothing more. */
  request?: string
}

/** The result of a backfill or of `replayAll`. */
export interface OperationResult {
  /** How many runs it has created. */
  readonly created: number
}

export const mostInstants = 100_000
const shownInstants = 1000
const pageSize = 500
const failedStates: readonly OccurrenceState[] = ['failed', 'dead', 'missed', 'canceled']

interface BackfillPayload {
  readonly tenant: string
  readonly job: string
  readonly from: number
  readonly to: number
  readonly mode: BackfillMode
  readonly concurrency: number
}

interface ReplayPayload {
  readonly filter: OccurrenceFilter
  readonly reason: string
}

export class Operations {
  readonly #engine: Engine
  readonly #commands: Commands

  constructor(engine: Engine, commands: Commands) {
    this.#engine = engine
    this.#commands = commands
    const { registry } = engine.env
    registry.defineBuiltIn(defineJob<BackfillPayload>(`${builtInPrefix}backfill`).task('create', (ctx) => this.#runBackfill(ctx)))
    registry.defineBuiltIn(defineJob<ReplayPayload>(`${builtInPrefix}replay`).task('create', (ctx) => this.#runReplay(ctx)))
  }

  /** Runs an ended occurrence again, as a new one that is linked to it. */
  async replay(target: OccurrenceTarget, options: ReplayOptions): Promise<CreatedRow> {
    checkOptions(options, ['reason', 'tasks', 'request'], 'options of replay')
    const reason = checkKey(options?.reason, 'reason')
    const which = whichOf(target)
    await this.#engine.open()
    const history = await this.#engine.env.store.get(which)
    if (!history) throw unknownOccurrence(target)
    const { record, state } = history
    if (['pending', 'waiting', 'running', 'retrying'].includes(state)) {
      throw new PunctualError(
        'occurrence.conflict',
        `Occurrence ${record.id} is ${state}; only one that has ended can be replayed`,
        { id: record.id, state },
      )
    }
    const request =
      options.request === undefined
        ? uuidV7(this.#engine.env.time.now(), this.#engine.env.randomBytes)
        : checkKey(options.request, 'request')
    const [known] = await this.#engine.env.store.readJobs({ tenant: record.tenant, name: record.job, limit: 1 })
    const tasks = options.tasks ? checkTasks(options.tasks, known, record.job) : null
    return this.#commands.replay(record, {
      id: replayId(record.id, request),
      replay: { origin: record.id, reason, tasks },
      spec: known?.spec,
    })
  }

  /** Runs again whatever a filter finds, under one reason. */
  async replayAll(filter: ListFilter, { reason }: { reason: string }): Promise<CreatedRow> {
    const parsed = parseFilter({ ...filter, limit: pageSize })
    return this.#commands.enqueue({
      job: `${builtInPrefix}replay`,
      ...(parsed.tenant !== undefined && { tenant: parsed.tenant }),
      payload: { filter: parsed, reason: checkKey(reason, 'reason') },
    })
  }

  async previewBackfill(job: AnyDefinition | string, options: BackfillOptions): Promise<BackfillPreview> {
    await this.#engine.open()
    const request = parseBackfill(job, options, this.#engine.env.time.now())
    const { ticks, existing } = await this.#survey(request)
    const wanted = ticks.filter(({ at }) => isWanted(request.mode, existing.get(at)))
    const states: Partial<Record<OccurrenceState, number>> = {}
    for (const { state } of existing.values()) states[state] = (states[state] ?? 0) + 1
    return {
      instants: ticks.length,
      count: wanted.length,
      first: wanted.slice(0, shownInstants).map(({ at }) => new Date(at)),
      existing: states,
    }
  }

  /** Creates the runs of a range, under a separate limit. The id is that of the operation. */
  async backfill(job: AnyDefinition | string, options: BackfillOptions): Promise<CreatedRow & { count: number }> {
    await this.#engine.open()
    const request = parseBackfill(job, options, this.#engine.env.time.now())
    const { count } = await this.previewBackfill(job, options)
    const created = await this.#commands.enqueue({ job: `${builtInPrefix}backfill`, tenant: request.tenant, payload: request })
    return { ...created, count }
  }

  async #runBackfill({ payload, occurrenceId, signal, progress }: Context<BackfillPayload>): Promise<OperationResult> {
    const { job, ticks, existing } = await this.#survey(payload)
    // Runs that an earlier turn of this operation has created are left out.
    const isOwn = ({ at }: Tick) => existing.get(at)?.entity === occurrenceId
    const wanted = ticks.filter((tick) => !isOwn(tick) && isWanted(payload.mode, existing.get(tick.at)))
    let created = ticks.filter(isOwn).length
    for (let at = 0; at < wanted.length; at += pageSize) {
      signal.throwIfAborted()
      const page = wanted.slice(at, at + pageSize)
      const answers = await this.#commands.fill(
        job,
        page.map((tick) => fillRow(payload, occurrenceId, tick, existing.get(tick.at))),
        {
          operation: occurrenceId,
          limit: payload.concurrency,
        },
      )
      created += answers.filter(({ outcome }) => outcome === 'created').length
      progress(Math.min(1, (at + page.length) / wanted.length), `${at + page.length} of ${wanted.length}`)
    }
    return { created }
  }

  async #runReplay({ payload, occurrenceId, signal, progress }: Context<ReplayPayload>): Promise<OperationResult> {
    let created = 0
    for (let cursor: string | null = null; ; ) {
      signal.throwIfAborted()
      const page = await this.#engine.env.store.list({ ...payload.filter, limit: pageSize, ...(cursor !== null && { cursor }) })
      for (const line of page.items) if (await this.#replayLine(line, occurrenceId, payload.reason)) created++
      progress(page.cursor === null ? 1 : 0.5, `${created} replays`)
      cursor = page.cursor
      if (cursor === null || created >= mostInstants) return { created }
    }
  }

  async #replayLine(line: OccurrenceSummary, operation: string, reason: string): Promise<boolean> {
    const { id, job, state, source } = line
    if (['pending', 'waiting', 'running', 'retrying'].includes(state) || source === 'replay' || job.startsWith(builtInPrefix))
      return false
    if (await hasSucceededSince(this.#engine.env.store, line)) return false
    return (await this.replay(id, { reason, request: operation })).outcome === 'created'
  }

  /** The instants of the range with what is recorded of each: the newest, be it the scheduled run or one that a backfill made. */
  async #survey({
    tenant,
    job: name,
    from,
    to,
  }: BackfillPayload): Promise<{ job: JobRecord; ticks: readonly Tick[]; existing: ReadonlyMap<number, InstantRun> }> {
    await this.#engine.open()
    const { store } = this.#engine.env
    const [job] = await store.readJobs({ tenant, name, limit: 1 })
    if (!job) throw unknownJob(tenant, name)
    const ticks = ticksBetween(new Timeline(job, fromFirstSchedule(await store.readVersions(job))), from, to)
    const instants = ticks.map(({ at }) => at)
    return { job, ticks, existing: await instantRuns(store, job, instants, { from, to }) }
  }
}

/** An instant from before the first schedule goes by that schedule. */
function fromFirstSchedule(versions: readonly VersionRecord[]): readonly VersionRecord[] {
  const first = versions.findIndex(({ spec }) => spec.schedule !== null)
  return first === -1 ? versions : versions.slice(first)
}

/** All instants of a range. Refuses what can only be a mistake, with the count. */
function ticksBetween(timeline: Timeline, from: number, to: number): readonly Tick[] {
  const ticks: Tick[] = []
  for (let tick = timeline.next(from - 1); tick && tick.at < to; tick = timeline.next(tick.at)) {
    if (ticks.push(tick) <= mostInstants) continue
    const estimate = Math.round(((to - from) / (tick.at - from)) * ticks.length)
    throw new PunctualError(
      'option.invalid',
      `The range has about ${estimate.toLocaleString('en')} instants; a backfill may have at most ${mostInstants.toLocaleString('en')}. Take a shorter range`,
      {
        field: 'to',
        count: estimate,
        max: mostInstants,
      },
    )
  }
  return ticks
}

function isWanted(mode: BackfillMode, existing: InstantRun | undefined): boolean {
  if (!existing) return mode !== 'failed'
  if (mode === 'missing') return existing.state === 'missed' || existing.state === 'skipped'
  return mode === 'all' || failedStates.includes(existing.state)
}

export interface FillRow {
  readonly id: string
  readonly at: number
  readonly version: number
  /** The run that is repeated; null for an instant without a record. */
  readonly origin: string | null
}

function fillRow(
  { tenant, job }: BackfillPayload,
  operation: string,
  { at, version }: Tick,
  existing: InstantRun | undefined,
): FillRow {
  return {
    id: existing?.id ? fillId(operation, tenant, job, at) : scheduledId(tenant, job, at),
    at,
    version: version.version,
    origin: existing?.id ?? null,
  }
}

/** The range ends with the present: the schedule runs what follows. */
function parseBackfill(job: AnyDefinition | string, options: BackfillOptions, now: number): BackfillPayload {
  checkObject(options, 'options of backfill')
  checkOptions(options, ['from', 'to', 'mode', 'concurrency', 'tenant'], 'options of backfill')
  const { mode = 'missing', concurrency = 1, tenant = defaultTenant } = options
  const [from, to] = [parseInstant(options.from, 'from'), parseInstant(options.to, 'to')]
  if (from >= to) throw new PunctualError('option.invalid', 'from must be before to', { field: 'from' })
  return {
    tenant,
    job: nameOf(job),
    from,
    to: Math.min(to, now + 1),
    mode: checkOneOf(mode, 'mode', backfillModes),
    concurrency: checkWhole(concurrency, 'concurrency', 1, 1000),
  }
}

/** Each task that is run again must have what it builds on: succeeded before, or run again too. */
function checkTasks(tasks: readonly string[], known: JobRecord | undefined, job: string): readonly string[] {
  const allowed = known?.spec.tasks.map(({ name }) => name) ?? []
  for (const task of tasks) {
    if (!allowed.includes(task))
      throw new PunctualError(
        'task.unknown',
        `Job ${JSON.stringify(job)} has no task ${JSON.stringify(task)}; it has ${allowed.join(', ')}`,
        { field: 'tasks', job, task, allowed },
      )
  }
  return tasks
}
