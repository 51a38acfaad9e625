// The calls that only read. Lists are the truth; events are hints.
import { builtInPrefix } from '../engine/node/registry.ts'
import { PunctualError } from '../errors.ts'
import { defaultTenant, definitionOf, isPlannable, type JobRecord, type JobSpec } from '../model/job.ts'
import type { OccurrenceState } from '../model/lifecycle.ts'
import { checkName, checkOptions, checkWhole } from '../model/limits.ts'
import type { OccurrenceHistory } from '../model/occurrence.ts'
import { covers, type PauseRecord } from '../model/pause.ts'
import type { ErrorRecord } from '../model/report.ts'
import { cascade, type Settings } from '../model/settings.ts'
import type { Page } from '../store/query.ts'
import type { JobQuery, NodeRecord } from '../store/store.ts'
import type { ClientEnv } from './client-env.ts'
import { decodePlace, encodePlace } from './job-cursor.ts'
import { type Job, nameOf } from './job-name.ts'
import { changes, type FieldChange, type JobView, jobView, nextRun, type VersionView, versionView } from './job-view.ts'
import { type ListFilter, parseFilter } from './list-filter.ts'
import { type OccurrenceTarget, tenantOf, whichOf } from './occurrence-target.ts'
import { type Occurrence, type OccurrenceLine, occurrenceLine, occurrenceView } from './occurrence-view.ts'
import { unknownJob } from './unknown-job.ts'

/** The status of a job. */
export interface JobStatus {
  /** Now lies within the window of its schedule, which has instants left, and the job is neither disabled nor retired. */
  readonly active: boolean
  /** Active and not paused. */
  readonly enabled: boolean
  readonly paused: boolean
  /** An occurrence of it is claimed by a node, where it runs or waits for a slot. */
  readonly running: boolean
  readonly nextRun: Date | null
  readonly lastRun: Date | null
  /** How its newest ended run went; null before the first. */
  readonly lastResult: LastResult | null
}

/** The newest ended run of a job. */
export interface LastResult {
  readonly id: string
  readonly state: OccurrenceState
  readonly result: unknown
  readonly error: ErrorRecord | null
}

/** The settings of the next run: for a task, its own within those of the job. */
export type EffectiveSettings = Settings

const ranStates: readonly OccurrenceState[] = ['completed', 'failed', 'dead']

/** Many passed-over instants of a job in one record. */
export interface RangeView {
  readonly tenant: string
  readonly job: string
  readonly state: 'missed' | 'skipped'
  readonly reason: string
  readonly from: Date
  readonly to: Date
  readonly count: number
}

/** Which jobs to list. */
export interface JobFilter {
  tenant?: string
  /** Exactly this one. */
  name?: string
  /** From the page before. */
  cursor?: string
  /** Default 100, at most 1,000. */
  limit?: number
}

/** The number of occurrences in each state. */
export type Counts = Readonly<Record<OccurrenceState, number>>

export class Reads {
  readonly #env: ClientEnv

  constructor(env: ClientEnv) {
    this.#env = env
  }

  async get(target: OccurrenceTarget): Promise<Occurrence | null> {
    const which = whichOf(target)
    const history = await this.#env.store.get(which)
    return history && this.view(history)
  }

  async view(history: OccurrenceHistory): Promise<Occurrence> {
    const { tenant, job, definition } = history.record
    const spec = (await this.#find(tenant, job))?.spec ?? (await this.#find(defaultTenant, definition))?.spec ?? null
    const { settings: scheduler } = this.#env.options
    const redact = (spec?.defaults ?? this.#env.registry.definition(definition)?.settings)?.redact ?? []
    return occurrenceView(history, { spec, redact, scheduler, origins: await this.#origins(history) })
  }

  /** The runs from which a replay of single tasks has taken over the results of the others, the nearest first. */
  async #origins({ record, state }: OccurrenceHistory): Promise<readonly OccurrenceHistory[]> {
    const origins: OccurrenceHistory[] = []
    for (let { replay } = record; state === 'completed' && replay?.tasks; ) {
      const origin: OccurrenceHistory | null = await this.#env.store.get({ id: replay.origin })
      if (!origin) break
      origins.push(origin)
      replay = origin.record.replay
    }
    return origins
  }

  async list(filter: ListFilter = {}): Promise<Page<OccurrenceLine>> {
    const parsed = parseFilter(filter)
    const { items, cursor } = await this.#env.store.list(parsed)
    return { items: items.map(occurrenceLine), cursor }
  }

  async counts(filter: { tenant?: string; job?: Job } = {}): Promise<Counts> {
    checkOptions(filter, ['tenant', 'job'], 'counts')
    const { tenant, job } = filter
    const query = {
      ...(tenant !== undefined && { tenant: checkName(tenant, 'tenant') }),
      ...(job !== undefined && { job: nameOf(job) }),
    }
    return (await this.#env.store.counts(query)).states
  }

  async status(job: Job, options: { tenant?: string } = {}): Promise<JobStatus> {
    checkOptions(options, ['tenant'], 'status')
    const name = nameOf(job)
    const tenant = tenantOf(options)
    const { store, time } = this.#env
    const record = await this.#find(tenant, name)
    if (!record) throw unknownJob(tenant, name)
    const { lastRunAt } = await store.counts({ tenant, job: name })
    const { items: running } = await store.list({ tenant, job: name, states: ['running'], limit: 1 })
    const now = time.now()
    const pauses = await this.#pauses(now)
    const isPaused = pauses.some((pause) => covers(pause, tenant, name))
    const next = await this.#nextRun(record, now)
    const isActive = next !== null && isPlannable(record.spec) && isInWindow(record.spec, now)
    return {
      active: isActive,
      enabled: isActive && !isPaused,
      paused: isPaused,
      running: running.length > 0,
      nextRun: next,
      lastRun: lastRunAt === null ? null : new Date(lastRunAt),
      lastResult: await this.#lastResult(tenant, name),
    }
  }

  async #lastResult(tenant: string, job: string): Promise<LastResult | null> {
    const { items } = await this.#env.store.list({ tenant, job, states: ranStates, limit: 1 })
    const found = items[0] && (await this.get(items[0].id))
    return found ? { id: found.id, state: found.state, result: found.result, error: found.error } : null
  }

  async settings(job: Job, task?: string, options: { tenant?: string } = {}): Promise<EffectiveSettings> {
    checkOptions(options, ['tenant'], 'settings')
    const name = nameOf(job)
    const tenant = tenantOf(options)
    const { spec } = (await this.#find(tenant, name)) ?? fail(unknownJob(tenant, name))
    const own = task === undefined ? undefined : spec.tasks.find((one) => one.name === task)
    if (task !== undefined && !own)
      throw new PunctualError('task.unknown', `Job ${JSON.stringify(name)} has no task ${JSON.stringify(task)}`, {
        job: name,
        task,
        allowed: spec.tasks.map((one) => one.name),
      })
    return cascade(this.#env.options.settings, spec.defaults, spec.settings, own?.settings)
  }

  async jobs(filter: JobFilter = {}): Promise<Page<JobView>> {
    const query = parseJobFilter(filter)
    const { store, time, options } = this.#env
    const records = await store.readJobs(query)
    const now = time.now()
    const facts = { scheduler: options.settings, pauses: await this.#pauses(now), nodes: (await store.nodes()).nodes }
    const items = await Promise.all(
      records.map(async (record) => jobView(record, { ...facts, nextRun: await this.#nextRun(record, now) })),
    )
    const last = records.at(-1)
    return { items, cursor: last && records.length === query.limit ? encodePlace(last) : null }
  }

  async versions(job: Job, { tenant = defaultTenant }: { tenant?: string } = {}): Promise<readonly VersionView[]> {
    const name = nameOf(job)
    const versions = await this.#env.store.readVersions({ tenant, name })
    if (versions.length === 0) throw unknownJob(tenant, name)
    return versions.map(versionView)
  }

  async diff(job: Job, from: number, to: number, options: { tenant?: string } = {}): Promise<readonly FieldChange[]> {
    const versions = await this.versions(job, options)
    const specOf = (version: number) => {
      const known = versions.find((one) => one.version === version)
      if (known) return known.spec
      throw new PunctualError(
        'job.unknown',
        `Job ${JSON.stringify(nameOf(job))} has no version ${version}; it has ${versions.length}`,
        { job: nameOf(job), version },
      )
    }
    return changes(specOf(from), specOf(to))
  }

  async ranges({ tenant, job, limit = 100 }: { tenant?: string; job?: Job; limit?: number } = {}): Promise<readonly RangeView[]> {
    checkWhole(limit, 'limit', 1, 1000)
    const query = {
      limit,
      ...(tenant !== undefined && { tenant: checkName(tenant, 'tenant') }),
      ...(job !== undefined && { job: nameOf(job) }),
    }
    const ranges = await this.#env.store.listRanges(query)
    return ranges.map(({ from, to, tenant: of, job: name, state, reason, count }) => ({
      tenant: of,
      job: name,
      state,
      reason,
      count,
      from: new Date(from),
      to: new Date(to),
    }))
  }

  async nodes(): Promise<readonly NodeRecord[]> {
    const { nodes } = await this.#env.store.nodes()
    return nodes.map((node) => ({ ...node, kinds: definitionsIn(node.kinds) }))
  }

  async #find(tenant: string, name: string): Promise<JobRecord | undefined> {
    return (await this.#env.store.readJobs({ tenant, name, limit: 1 }))[0]
  }

  /** The pauses in force. A pause begins by the store's clock, which may be a moment ahead of this process; so may its end. */
  #pauses(now: number): Promise<readonly PauseRecord[]> {
    return this.#env.store.readPauses({ since: now + 1 })
  }

  /** An update may hold only from a later instant on; until then the version before it has the say. */
  async #nextRun(record: JobRecord, now: number): Promise<Date | null> {
    const { spec, createdAt, updatedAt, version } = record
    const only = { version, spec, effectiveAt: createdAt, createdAt: updatedAt, by: null }
    return nextRun(record, version === 1 ? [only] : await this.#env.store.readVersions(record), now)
  }
}

function isInWindow({ schedule }: JobSpec, now: number): boolean {
  const { start, end } = (schedule ?? {}) as { start?: string; end?: string }
  return (start === undefined || Date.parse(start) <= now) && (end === undefined || now < Date.parse(end))
}

function fail(error: Error): never {
  throw error
}

/** The names of the definitions that a node can run, each once, without the built-in ones. */
function definitionsIn(kinds: readonly string[]): readonly string[] {
  return [...new Set(kinds.map(definitionOf))].filter((name) => !name.startsWith(builtInPrefix))
}

function parseJobFilter(filter: JobFilter): JobQuery {
  checkOptions(filter, ['tenant', 'name', 'cursor', 'limit'], 'jobs')
  const { tenant, name, cursor, limit = 100 } = filter
  return {
    limit: checkWhole(limit, 'limit', 1, 1000),
    ...(tenant !== undefined && { tenant: checkName(tenant, 'tenant') }),
    ...(name !== undefined && { name: checkName(name, 'name') }),
    ...(cursor !== undefined && { after: decodePlace(cursor) }),
  }
}
