import { scheduledId } from '../model/ids.ts'
import type { JobRecord } from '../model/job.ts'
import { cascade } from '../model/settings.ts'
import { bind } from '../schedule/interval.ts'
import { restoreSchedule } from '../schedule/restore.ts'
import { nextMs, type Schedule } from '../schedule/schedule.ts'
import type { JobPlan, PlanCandidate, PlannedOccurrence } from '../store/store.ts'
import type { Env } from './env.ts'

const jobsPerPass = 500
const rowsPerPlan = 1000
const idleMs = 60_000

/** Brings the schedule of every job from its cursor to a little beyond now. Boot, sleep and outage are all just a cursor that is behind. */
export class Planner {
  readonly #env: Env
  readonly #schedules = new Map<string, { readonly version: number; readonly schedule: Schedule }>()
  readonly #unknownKinds = new Set<string>()

  constructor(env: Env) {
    this.#env = env
  }

  /** One pass over the jobs that want planning. Returns the ms until the next. */
  async runOnce(): Promise<number> {
    const { store, options, time } = this.#env
    const work = await store.jobsToPlan({ horizonMs: options.horizonMs, limit: jobsPerPass })
    time.observe(work.now)
    const plans = work.jobs.flatMap((candidate) => this.#plan(candidate, work.now, work.aliveSince) ?? [])
    if (plans.length > 0) {
      const answers = await store.plan(plans)
      for (const [at, plan] of plans.entries()) this.#announce(plan, answers[at]?.outcome === 'planned')
    }
    if (
      plans.some((plan) => plan.nextAt !== null && plan.nextAt <= work.now + options.horizonMs) ||
      work.jobs.length === jobsPerPass
    )
      return plans.length > 0 ? 0 : options.pollMs
    const next = [work.nextAt, ...plans.map((plan) => plan.nextAt && plan.nextAt - options.horizonMs)].filter((at) => at !== null)
    return Math.min(Math.max(1, Math.min(...next, work.now + idleMs) - work.now), idleMs)
  }

  #plan({ job, stranded }: PlanCandidate, now: number, aliveSince: number): JobPlan | null {
    const schedule = this.#scheduleOf(job)
    if (!schedule) return null
    const horizon = now + this.#env.options.horizonMs
    const { priority } = cascade(this.#env.options.settings, job.spec.defaults, job.spec.settings)
    const rows: PlannedOccurrence[] = []
    let at = nextMs(schedule, job.cursor)
    for (; at !== null && at <= horizon && rows.length < rowsPerPlan; at = nextMs(schedule, at)) {
      rows.push({ id: scheduledId(job.tenant, job.name, at), at, source: at < aliveSince ? 'recovery' : 'schedule', priority })
    }
    const isWhole = at === null || at > horizon
    const through = isWhole ? Math.max(horizon, job.cursor) : (rows.at(-1) as PlannedOccurrence).at
    return {
      tenant: job.tenant,
      job: job.name,
      version: job.version,
      cursor: job.cursor,
      through,
      nextAt: at,
      rows,
      revive: stranded,
    }
  }

  /** The job's schedule, bound to the job's creation; null when this node does not know its kind and leaves the job to others. */
  #scheduleOf(job: JobRecord): Schedule | null {
    const known = this.#schedules.get(job.id)
    if (known?.version === job.version) return known.schedule
    if (!job.spec.schedule) return null
    try {
      const schedule = bind(restoreSchedule(job.spec.schedule), job.createdAt)
      this.#schedules.set(job.id, { version: job.version, schedule })
      return schedule
    } catch (error) {
      const { kind } = job.spec.schedule
      if (!this.#unknownKinds.has(kind))
        this.#env.log.warn('A schedule cannot be read here; its job is left to other nodes', {
          tenant: job.tenant,
          job: job.name,
          kind,
          error: String(error),
        })
      this.#unknownKinds.add(kind)
      return null
    }
  }

  #announce({ tenant, job, rows, through }: JobPlan, isPlanned: boolean): void {
    if (isPlanned && rows.length > 0) this.#env.events.emit('job.planned', { tenant, job, count: rows.length, through })
  }
}
