import { errorText } from '../../model/error-record.ts'
import type { JobRecord, VersionRecord } from '../../model/job.ts'
import { isStampOutdated, seesOtherwise, tzOfStamp, tzStamp } from '../../schedule/tz-stamp.ts'
import type { JobPlan, NodeRecord, PlanCandidate, PlanWork } from '../../store/store.ts'
import { tzVersion } from '../../time/zone.ts'
import { isNewerTz } from '../../time/zone-rules.ts'
import type { Env } from '../env.ts'
import { allJobs } from './all-jobs.ts'
import { planJob } from './job-plan.ts'
import type { Wait } from './loop.ts'
import { Timeline } from './timeline.ts'

const jobsPerPass = 500
const idleMs = 60_000

/** Brings the schedule of every job from its cursor to a little beyond now. Boot, sleep and outage are all just a cursor that is behind. */
export class Planner {
  readonly #env: Env
  readonly #timelines = new Map<string, { readonly newest: VersionRecord | undefined; readonly timeline: Timeline }>()
  readonly #unknownKinds = new Set<string>()
  #otherTz: readonly string[] = []
  #isRetimed = false

  constructor(env: Env) {
    this.#env = env
  }

  /** One pass over the jobs that want planning. Returns the wait until the next. */
  async runOnce(isPass = false): Promise<Wait> {
    const { store, options, time, clock } = this.#env
    if (!this.#isRetimed) await this.#retime()
    const sentAt = clock.mono()
    const work = await store.jobsToPlan({ horizonMs: options.horizonMs, limit: jobsPerPass })
    time.observe(work.now, sentAt)
    const plans = work.jobs.flatMap((candidate) => this.#plan(candidate, work, isPass) ?? [])
    if (plans.length > 0) {
      const answers = await store.plan(plans)
      plans.forEach((plan, at) => void this.#announce(plan, answers[at]?.outcome === 'planned'))
      const horizon = work.now + options.horizonMs
      const isBehind = plans.some(
        ({ nextAt }, at) => answers[at]?.outcome !== 'planned' || (nextAt !== null && nextAt <= horizon),
      )
      if (isBehind || work.jobs.length === jobsPerPass) return 0
    }
    const next = [work.nextAt, ...plans.map(({ nextAt }) => nextAt && nextAt - options.horizonMs)].filter((at) => at !== null)
    return { in: Math.max(1, Math.min(...next) - work.now), poll: idleMs }
  }

  /** Takes note of the time zone data of other nodes, and warns when they differ. */
  observe(nodes: readonly NodeRecord[]): void {
    const others = [...new Set(nodes.map(({ tz }) => tz))].filter((tz) => tz !== tzVersion()).sort()
    if (others.length > 0 && others.join() !== this.#otherTz.join()) {
      this.#env.log.warn('Nodes have different time zone data; only the newest changes a plan', { own: tzVersion(), others })
    }
    this.#otherTz = others
  }

  #plan(candidate: PlanCandidate, work: PlanWork, isPass: boolean): JobPlan | null {
    const { job } = candidate
    try {
      const timeline = this.#timelineOf(job, candidate.versions)
      if (this.#isForNewerTz(job, timeline, candidate.versions)) return null
      const { horizonMs, settings } = this.#env.options
      return planJob({ candidate, work, timeline, horizonMs, settings, isPass })
    } catch (error) {
      const kind = job.spec.schedule?.kind ?? ''
      const fields = { tenant: job.tenant, job: job.name, kind, error: errorText(error) }
      if (!this.#unknownKinds.has(kind))
        this.#env.log.warn('A schedule cannot be read here; its job is left to other nodes', fields)
      this.#unknownKinds.add(kind)
      return null
    }
  }

  #timelineOf(job: JobRecord, versions: readonly VersionRecord[]): Timeline {
    const known = this.#timelines.get(job.id)
    const newest = versions.at(-1)
    // A number alone is not enough: a store that has lost its last commits gives it again, to something else.
    if (known && known.newest?.version === newest?.version && known.newest?.createdAt === newest?.createdAt) return known.timeline
    const timeline = new Timeline(job, versions)
    this.#timelines.set(job.id, { newest, timeline })
    return timeline
  }

  /** While a node with newer zone data lives, jobs whose zones it sees otherwise are left to it. */
  #isForNewerTz({ tz }: JobRecord, timeline: Timeline, versions: readonly VersionRecord[]): boolean {
    if (!isNewerTz(tzOfStamp(tz), tzVersion()) || !this.#otherTz.some((other) => isNewerTz(other, tzVersion()))) return false
    const schedule = timeline.schedule(versions.at(-1) as VersionRecord)
    return schedule !== null && seesOtherwise(tz, schedule)
  }

  /** Once, at the start: with newer zone data than a plan was made with, the next instant is computed again. Planned rows stay. */
  async #retime(): Promise<void> {
    for await (const job of allJobs(this.#env.store)) if (isNewerTz(tzVersion(), tzOfStamp(job.tz))) await this.#retimeJob(job)
    this.#isRetimed = true
  }

  async #retimeJob(job: JobRecord): Promise<void> {
    const { store, log } = this.#env
    const { pauseRevision } = await store.jobsToPlan({ horizonMs: 0, limit: 1 })
    const timeline = new Timeline(job, await store.readVersions(job))
    const next = timeline.next(job.cursor)
    const schedule = next && timeline.schedule(next.version)
    if (!schedule || !isStampOutdated(job.tz, schedule)) return
    const { tenant, name, version, cursor } = job
    const nothing = { rows: [], ranges: [], revive: [], drop: [] }
    const tz = tzStamp(schedule, next.at)
    await store.plan([{ tenant, job: name, version, cursor, pauseRevision, through: cursor, nextAt: next.at, tz, ...nothing }])
    log.info('The next instant was found anew with newer time zone data', { tenant, job: name, nextAt: next.at })
  }

  #announce(plan: JobPlan, isPlanned: boolean): void {
    const { tenant, job, rows, through } = plan
    if (isPlanned) countPassed(this.#env, plan)
    if (isPlanned && rows.length > 0) this.#env.events.emit('job.planned', { tenant, job, count: rows.length, through })
  }
}

/** Instants that a plan has passed over, where they belong; a range at its end. */
function countPassed({ figures }: Env, { tenant, job, rows, ranges, drop }: JobPlan): void {
  for (const { at, end } of rows) if (end) figures.count(tenant, job, at, end.state)
  for (const { to, state, count } of ranges) figures.count(tenant, job, to, state, count)
  for (const { at, state } of drop) figures.count(tenant, job, at, state)
}
