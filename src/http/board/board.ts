// Reads that several pages need, and the facts that many jobs share. Nothing here walks history.

import type { ClientEnv } from '../../client/client-env.ts'
import { nextRun } from '../../client/job-view.ts'
import { builtInPrefix } from '../../engine/node/registry.ts'
import { defaultTenant, isOwnJob, type JobRecord, type VersionRecord } from '../../model/job.ts'
import { occurrenceStates } from '../../model/lifecycle.ts'
import { covers, type PauseRecord } from '../../model/pause.ts'
import type { DueRow, NodeRecord, StateCounts } from '../../store/store.ts'
import { graceMs } from './line.ts'

/** Jobs that are looked at one by one. */
const mostJobs = 1000
const mostLate = 500
const mostMissed = 200
const mostFailing = 1000
const mostTenants = 1000
const dayMs = 86_400_000
/** Pages of several listeners ask for the same at the same time. */
const sharedMs = 500

const noCounts = Object.fromEntries(occurrenceStates.map((state) => [state, 0])) as StateCounts

/** Problems and work under way, over all jobs, by `jobKey`. */
export interface Facts {
  readonly now: number
  /** The tenant that was asked for; undefined for all. */
  readonly tenant: string | undefined
  readonly pauses: readonly PauseRecord[]
  readonly nodes: readonly NodeRecord[]
  readonly unserved: readonly string[]
  /** The oldest late work of each job. */
  readonly late: ReadonlyMap<string, DueRow>
  /** Jobs that have failed since their last success. */
  readonly failing: ReadonlySet<string>
  /** The newest missed instant of each job, within the last day. */
  readonly missed: ReadonlyMap<string, { readonly id: string; readonly at: number; readonly count: number }>
}

/** A fact is of the job in its tenant, and of the job in all of them. */
function keysOf({ tenant, job }: { readonly tenant: string; readonly job: string }): readonly string[] {
  return [jobKey(tenant, job), jobKey('', job)]
}

/** No name holds a line break. */
export function jobKey(tenant: string, job: string): string {
  return `${tenant}\n${job}`
}

/**
 * Whether the record stands for the job in every tenant. A job that code declares without a schedule is in the default tenant. Its
 * work is enqueued for any tenant, where the job has no record.
 */
function isShared(record: JobRecord): boolean {
  return isOwnJob(record) && record.spec.schedule === null
}

/** The work that is shown with a job, as a filter. */
export function workOf(record: JobRecord, { tenant }: Pick<Facts, 'tenant'>): { readonly tenant?: string; readonly job: string } {
  const isOfAll = tenant === undefined && isShared(record)
  return { ...(!isOfAll && { tenant: record.tenant }), job: record.name }
}

/** The key of a job's facts. */
export function factKey(record: JobRecord, facts: Pick<Facts, 'tenant'>): string {
  return jobKey(workOf(record, facts).tenant ?? '', record.name)
}

export class Board {
  readonly env: ClientEnv
  readonly #shared = new Map<string, { readonly at: number; readonly answer: Promise<unknown> }>()

  constructor(env: ClientEnv) {
    this.env = env
  }

  get now(): number {
    return this.env.time.now()
  }

  /** The same answer for all who ask within half a second. */
  share<Answer>(key: string, read: () => Promise<Answer>): Promise<Answer> {
    const at = this.env.clock.mono()
    const known = this.#shared.get(key)
    if (known && at - known.at < sharedMs) return known.answer as Promise<Answer>
    if (this.#shared.size > 200) this.#shared.clear()
    const answer = read()
    answer.catch(() => this.#shared.delete(key))
    this.#shared.set(key, { at, answer })
    return answer
  }

  facts(tenant: string | undefined): Promise<Facts> {
    return this.share(JSON.stringify(['facts', tenant]), () => this.#facts(tenant))
  }

  async #facts(tenant: string | undefined): Promise<Facts> {
    const { store } = this.env
    const { now, nodes, unserved } = await store.nodes()
    const scope = tenant === undefined ? {} : { tenant }
    const [pauses, late, { failing }, missed] = await Promise.all([
      store.readPauses({ since: now + 1 }),
      store.listDue({ ...scope, to: now - graceMs, limit: mostLate }),
      store.counts({ ...scope, failing: mostFailing }),
      store.list({ ...scope, states: ['missed'], limit: mostMissed }),
    ])
    const oldest = new Map<string, DueRow>()
    for (const line of late)
      for (const key of keysOf(line)) if (!line.job.startsWith(builtInPrefix) && !oldest.has(key)) oldest.set(key, line)
    const passed = new Map<string, { id: string; at: number; count: number }>()
    const lately = missed.items.filter(({ scheduledAt }) => scheduledAt >= now - dayMs)
    for (const { id, scheduledAt, ...of } of lately)
      for (const key of keysOf(of)) {
        const known = passed.get(key)
        if (known) known.count += 1
        else passed.set(key, { id, at: scheduledAt, count: 1 })
      }
    return {
      now,
      tenant,
      pauses,
      nodes,
      unserved,
      late: oldest,
      failing: new Set(failing.flatMap(keysOf)),
      missed: passed,
    }
  }

  /** The jobs of a tenant, or of all, by name; at most `mostJobs`. Built-in ones and retired ones are left out. */
  async jobs(tenant: string | undefined): Promise<{ readonly jobs: readonly JobRecord[]; readonly capped: boolean }> {
    return this.share(JSON.stringify(['jobs', tenant]), async () => {
      const records = await this.env.store.readJobs({ ...(tenant !== undefined && { tenant }), limit: mostJobs })
      const jobs = [...records, ...(await this.shared(tenant))]
        .filter(({ name, spec }) => !name.startsWith(builtInPrefix) && !spec.isRetired)
        .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
      return { jobs, capped: records.length === mostJobs }
    })
  }

  /** Jobs of the default tenant that the tenant has work of and no record, as if they were the tenant's. */
  async shared(tenant: string | undefined, name?: string): Promise<readonly JobRecord[]> {
    if (tenant === undefined || tenant === defaultTenant) return []
    return this.share(JSON.stringify(['shared', tenant, name]), () => this.#findShared(tenant, name))
  }

  async #findShared(tenant: string, name: string | undefined): Promise<readonly JobRecord[]> {
    const { store } = this.env
    // The same for every tenant.
    const records = await this.share(JSON.stringify(['of default', name]), () =>
      store.readJobs({ tenant: defaultTenant, ...(name !== undefined && { name }), limit: mostJobs }),
    )
    const found = await Promise.all(
      records.filter(isShared).map(async (record) => {
        const own = { tenant, name: record.name, limit: 1 }
        const [{ states }, [known]] = await Promise.all([store.counts({ tenant, job: record.name }), store.readJobs(own)])
        return known || Object.values(states).every((count) => count === 0) ? [] : [{ ...record, tenant }]
      }),
    )
    return found.flat()
  }

  /** Tenants that have jobs or work, with their counts; at most `mostTenants`, and those of the jobs that are looked at. */
  async tenants(): Promise<ReadonlyMap<string, StateCounts>> {
    const [{ jobs }, { tenants }] = await Promise.all([this.jobs(undefined), this.env.store.counts({ tenants: mostTenants })])
    const counts = new Map(tenants.map(({ name, states }) => [name, states]))
    for (const { tenant } of jobs) if (!counts.has(tenant)) counts.set(tenant, noCounts)
    return counts
  }

  /** The versions that may bring coming instants. Of a job that was never changed, its record says all. */
  async versions(record: JobRecord): Promise<readonly VersionRecord[]> {
    const { spec, createdAt, updatedAt, version } = record
    if (version === 1) return [{ version, spec, effectiveAt: createdAt, createdAt: updatedAt, by: null }]
    const { store } = this.env
    const own = await store.readVersions(record)
    // A job of the default tenant that is shown as another tenant's has its versions there.
    return own.length > 0 ? own : store.readVersions({ tenant: defaultTenant, name: record.name })
  }

  /** The next instant that is not in a pause: those in one are skipped. */
  async nextRun(record: JobRecord, { now, pauses }: Pick<Facts, 'now' | 'pauses'>): Promise<number | null> {
    const versions = await this.versions(record)
    const own = pauses.filter((pause) => covers(pause, record.tenant, record.name))
    let at = nextRun(record, versions, now)?.getTime() ?? null
    for (let pause = within(own, at); pause && at !== null; pause = within(own, at)) {
      if (pause.to === null) return null
      at = nextRun(record, versions, pause.to - 1)?.getTime() ?? null
    }
    return at
  }
}

/** The pause that holds at an instant. */
export function within(pauses: readonly PauseRecord[], at: number | null): PauseRecord | undefined {
  return at === null ? undefined : pauses.find(({ from, to }) => from <= at && (to === null || at < to))
}
