// Backfills: the runs of a range of a job's schedule. Each is an occurrence of a built-in job: it shows its progress, can be canceled,
// and another node continues it after a crash, since the runs it creates have ids that come out the same every time.

import { type Tick, Timeline } from '../engine/loops/timeline.ts'
import { builtInPrefix } from '../engine/node/registry.ts'
import { PunctualError } from '../errors.ts'
import type { Context } from '../model/context.ts'
import { defineJob } from '../model/definition.ts'
import { fillId, scheduledId } from '../model/ids.ts'
import { defaultTenant, type JobRecord, type VersionRecord } from '../model/job.ts'
import type { OccurrenceState } from '../model/lifecycle.ts'
import { checkObject, checkOneOf, checkOptions, checkWhole } from '../model/limits.ts'
import { decodePayload } from '../model/payload.ts'
import type { CreatedRow, NewOccurrence } from '../store/store.ts'
import { type InstantInput, parseInstant } from '../time/instant.ts'
import { auditNote, type By, byNames } from './audit-note.ts'
import type { ClientEnv } from './client-env.ts'
import type { Creations } from './creations.ts'
import { type InstantRun, instantRuns } from './instant-runs.ts'
import { type Job, nameOf } from './job-name.ts'
import { newOccurrence } from './new-occurrence.ts'
import { unknownJob } from './unknown-job.ts'

export const backfillModes = ['missing', 'failed', 'all'] as const
/** Which instants of the range are run: those without a run, those that failed, or every one. */
export type BackfillMode = (typeof backfillModes)[number]

/** The range of a backfill, and how it runs. */
export interface BackfillOptions extends By {
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

export class Backfills {
  readonly #env: ClientEnv
  readonly #creations: Creations

  constructor(env: ClientEnv, creations: Creations) {
    this.#env = env
    this.#creations = creations
    env.registry.defineBuiltIn(defineJob<BackfillPayload>(`${builtInPrefix}backfill`).task('create', (ctx) => this.#run(ctx)))
  }

  async preview(job: Job, options: BackfillOptions): Promise<BackfillPreview> {
    const request = parseBackfill(job, options, this.#env.time.now())
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
  async start(job: Job, options: BackfillOptions): Promise<CreatedRow & { count: number }> {
    const request = parseBackfill(job, options, this.#env.time.now())
    const { count } = await this.preview(job, options)
    const row = await newOccurrence(this.#env, { job: `${builtInPrefix}backfill`, tenant: request.tenant, payload: request })
    const created = await this.#creations.addAudited(row, auditNote(this.#env, 'backfill', options))
    return { ...created, count }
  }

  async #run({ payload, occurrenceId, signal, progress }: Context<BackfillPayload>): Promise<OperationResult> {
    const { job, ticks, existing } = await this.#survey(payload)
    // Runs that an earlier turn of this operation has created are left out.
    const isOwn = ({ at }: Tick) => existing.get(at)?.entity === occurrenceId
    const wanted = ticks.filter((tick) => !isOwn(tick) && isWanted(payload.mode, existing.get(tick.at)))
    let created = ticks.filter(isOwn).length
    for (let at = 0; at < wanted.length; at += pageSize) {
      signal.throwIfAborted()
      const page = wanted.slice(at, at + pageSize)
      const answers = await this.#fill(
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

  /** Creates the runs of a backfill, under a separate limit. Each stands for its instant, by the version in force at it. */
  async #fill(
    job: JobRecord,
    rows: readonly FillRow[],
    { operation, limit }: { operation: string; limit: number },
  ): Promise<readonly CreatedRow[]> {
    const { store } = this.#env
    const versions = await store.readVersions(job)
    const created: NewOccurrence[] = []
    for (const { id, at, version, origin } of rows) {
      const spec = versions.find((one) => one.version === version)?.spec ?? job.spec
      const request = { job: job.name, tenant: job.tenant, payload: decodePayload(spec.payload), entity: operation }
      const replay = origin === null ? {} : { replay: { origin, reason: `backfill ${operation}`, tasks: null } }
      const row = await newOccurrence(this.#env, request, {
        source: 'backfill',
        definition: spec.definition,
        id,
        version,
        spec,
        ...replay,
      })
      // Its instant is long past: how late it may start says nothing about it.
      created.push({
        ...row,
        due: at,
        startWithinMs: null,
        limits: [
          { kind: 'concurrency', key: JSON.stringify(['backfill', operation]), limit },
          ...(row.limits === 'declared' ? [] : (row.limits ?? [])),
        ],
      })
    }
    return this.#creations.addAll(created)
  }

  /** The instants of the range with what is recorded of each: the newest, be it the scheduled run or one that a backfill made. */
  async #survey({
    tenant,
    job: name,
    from,
    to,
  }: BackfillPayload): Promise<{ job: JobRecord; ticks: readonly Tick[]; existing: ReadonlyMap<number, InstantRun> }> {
    const { store } = this.#env
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

interface FillRow {
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
function parseBackfill(job: Job, options: BackfillOptions, now: number): BackfillPayload {
  checkObject(options, 'options of backfill')
  checkOptions(options, ['from', 'to', 'mode', 'concurrency', 'tenant', ...byNames], 'options of backfill')
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
