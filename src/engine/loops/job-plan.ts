// The plan of one job for one pass of the planner: a pure function of what the store returned.

import { scheduledId } from '../../model/ids.ts'
import { type VersionRecord, versionAt } from '../../model/job.ts'
import type { Source } from '../../model/lifecycle.ts'
import { limitsFor } from '../../model/limit.ts'
import { isPausedAt } from '../../model/pause.ts'
import { decideGap, type Passed, PassedInstants, type RecoveryPolicy, type Span } from '../../model/recovery.ts'
import { cascade, type Settings, type SettingsDiff } from '../../model/settings.ts'
import { spreadMs } from '../../schedule/spread.ts'
import { tzStamp } from '../../schedule/tz-stamp.ts'
import type { JobPlan, PlanCandidate, PlannedOccurrence, PlanWork } from '../../store/store.ts'
import type { Tick, Timeline } from './timeline.ts'

const rowsPerPlan = 1000

interface PlanInput {
  readonly candidate: PlanCandidate
  readonly work: PlanWork
  readonly timeline: Timeline
  readonly horizonMs: number
  /** The scheduler's level of the settings. */
  readonly settings: SettingsDiff
  /** A pass of `runDue`: no node runs between two of them, which is no downtime. */
  readonly isPass?: boolean
}

/** The plan from the job's cursor to a little beyond now: first the gap in which no node ran, then the coming instants. */
export function planJob(input: PlanInput): JobPlan {
  const { candidate, work, timeline } = input
  const { job } = candidate
  const rows = new Rows(input)
  const gap = planGap(input, rows)
  const horizon = work.now + input.horizonMs
  let tick = timeline.next(gap.through)
  for (; gap.isWhole && tick && tick.at <= horizon && rows.count < rowsPerPlan; tick = timeline.next(tick.at)) {
    const isOver = tick.at < work.now && isPaused(candidate, tick.at)
    rows.add(tick, 'schedule', isOver ? { end: { state: 'skipped', reason: 'paused' } } : {})
  }
  const isWhole = gap.isWhole && (tick === null || tick.at > horizon)
  const through = isWhole ? Math.max(horizon, job.cursor) : Math.max(rows.lastAt, gap.through)
  const next = timeline.next(through)
  return {
    tenant: job.tenant,
    job: job.name,
    version: job.version,
    cursor: job.cursor,
    pauseRevision: work.pauseRevision,
    through,
    nextAt: next?.at ?? null,
    tz: next ? stamp(timeline, next) : job.tz,
    rows: rows.rows,
    ranges: gap.ranges,
    revive: gap.revive,
    drop: gap.drop,
  }
}

interface GapPlan extends Pick<JobPlan, 'ranges' | 'revive' | 'drop'> {
  /** How far the gap was resolved. */
  readonly through: number
  readonly isWhole: boolean
}

/** Passes all instants that came due while no node ran through the job's recovery strategy. Only `all` is taken in parts. */
function planGap(input: PlanInput, rows: Rows): GapPlan {
  const { candidate, work, timeline } = input
  const { job, stranded, versions } = candidate
  const settings = settingsOf(input, versionAt(versions, work.now))
  const isLate = input.isPass === true && settings.recovery.strategy === 'mark-missed'
  const policy: RecoveryPolicy = isLate ? { strategy: 'last' } : settings.recovery
  const ticks = new Map<number, Tick>()
  const paused = new PassedInstants()
  const held = stranded.filter((at) => !isPaused(candidate, at))
  let through = job.cursor
  let isWhole = true
  function* instants(): Generator<number, void, undefined> {
    yield* held
    let tick = timeline.next(job.cursor)
    for (let count = 0; tick && rows.dueAt(tick) <= work.aliveSince; tick = timeline.next(tick.at)) {
      if (policy.strategy === 'all' && ++count > rowsPerPlan) {
        isWhole = false
        return
      }
      through = tick.at
      if (isPaused(candidate, tick.at)) paused.add(tick.at)
      else {
        if (ticks.size < 2 * rowsPerPlan) ticks.set(tick.at, tick)
        yield tick.at
      }
    }
  }
  const decision = decideGap(policy, instants(), work.now)
  const tickAt = (at: number): Tick => ticks.get(at) ?? (timeline.next(at - 1) as Tick)
  const planned = new Set(stranded)
  const passed = [...decision.passed, ...paused.records({ state: 'skipped', reason: 'paused' })]
  for (const { at, span } of decision.run) if (!planned.has(at)) rows.add(tickAt(at), 'recovery', { span })
  for (const one of passed) if (one.count === 1 && !planned.has(one.from)) rows.add(tickAt(one.from), 'recovery', { end: one })
  const revived = new Map(decision.run.filter(({ at }) => planned.has(at)).map((one) => [one.at, one]))
  const limits = limitsFor({ tenant: job.tenant, job: job.name, source: 'recovery', settings })
  const ends = new Map(passed.filter(({ count }) => count === 1).map((one) => [one.from, one]))
  return {
    through,
    isWhole,
    ranges: passed.filter(({ count }) => count > 1).flatMap((range) => withoutPlanned(range, held, ticks.keys().next().value)),
    revive: Array.from(revived.values(), ({ at, span }) => ({ at, limits, span })),
    drop: stranded.filter((at) => !revived.has(at)).map((at) => dropped(at, ends.get(at), passed, isPaused(candidate, at))),
  }
}

/** A range stands for instants without records: those that were planned before have theirs, and come before all others. */
function withoutPlanned(range: Passed, held: readonly number[], firstNew: number | undefined): readonly Passed[] {
  const inside = held.filter((at) => at >= range.from && at <= range.to).length
  if (inside === 0) return [range]
  return firstNew === undefined || inside === range.count ? [] : [{ ...range, from: firstNew, count: range.count - inside }]
}

function dropped(at: number, own: Passed | undefined, passed: readonly Passed[], isInPause: boolean): JobPlan['drop'][number] {
  if (isInPause) return { at, state: 'skipped', reason: 'paused' }
  const { state, reason } = own ??
    passed.find((one) => one.from <= at && at <= one.to) ?? { state: 'missed' as const, reason: 'downtime' }
  return { at, state, reason }
}

function isPaused({ pauses, job }: PlanCandidate, at: number): boolean {
  return pauses.some((pause) => isPausedAt(pause, job.tenant, job.name, at))
}

function settingsOf({ settings }: PlanInput, { spec }: VersionRecord): Settings {
  return cascade(settings, spec.defaults, spec.settings)
}

/** Gathers the rows of a plan, in order. */
class Rows {
  readonly rows: PlannedOccurrence[] = []
  readonly #input: PlanInput
  readonly #facts = new Map<number, { readonly settings: Settings; readonly delayMs: number }>()

  constructor(input: PlanInput) {
    this.#input = input
  }

  get count(): number {
    return this.rows.length
  }

  get lastAt(): number {
    return this.rows.reduce((last, { at }) => Math.max(last, at), 0)
  }

  dueAt({ at, version }: Tick): number {
    return at + this.#factsOf(version).delayMs
  }

  add(
    { at, version }: Tick,
    source: Source,
    more: { readonly span?: Span | null; readonly end?: Pick<Passed, 'state' | 'reason'> },
  ): void {
    const { tenant, name } = this.#input.candidate.job
    const { settings, delayMs } = this.#factsOf(version)
    const end = more.end ?? null
    this.rows.push({
      id: scheduledId(tenant, name, at),
      at,
      dueAt: at + delayMs,
      version: version.version,
      source,
      priority: settings.priority,
      limits: end ? null : limitsFor({ tenant, job: name, source, settings }),
      span: more.span ?? null,
      startWithinMs: settings.startWithinMs,
      end: end && { state: end.state, reason: end.reason },
    })
  }

  #factsOf(version: VersionRecord) {
    const known = this.#facts.get(version.version)
    if (known) return known
    const schedule = this.#input.timeline.schedule(version)
    const facts = {
      settings: settingsOf(this.#input, version),
      delayMs: schedule ? spreadMs(schedule, this.#input.candidate.job.id) : 0,
    }
    this.#facts.set(version.version, facts)
    return facts
  }
}

/** By which zone data the next instant was computed. */
function stamp(timeline: Timeline, { at, version }: Tick): string {
  const schedule = timeline.schedule(version)
  return schedule ? tzStamp(schedule, at) : ''
}
