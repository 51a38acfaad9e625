import { expect } from 'vitest'
import { planJob } from '../../src/engine/loops/job-plan.ts'
import { Timeline } from '../../src/engine/loops/timeline.ts'
import type { JobRecord, JobSpec, VersionRecord } from '../../src/model/job.ts'
import type { OccurrenceState } from '../../src/model/lifecycle.ts'
import { isPausedAt } from '../../src/model/pause.ts'
import type { RecoveryPolicy } from '../../src/model/recovery.ts'
import { MemoryStore } from '../../src/store/memory/memory-store.ts'
import type { JobPlan, PlanWork } from '../../src/store/store.ts'
import { type ManualClock, manualClock } from '../../src/testing/manual-clock.ts'
import { nodeInfo } from '../../src/testing/store-suite/scene.ts'

export type Strategy = RecoveryPolicy

/** An act on a job or on a node that plans it. */
export type PlanStep =
  | { readonly verb: 'plan' | 'plan-twice' | 'plan-late' | 'work' | 'resume' }
  | { readonly verb: 'pass' | 'down'; readonly seconds: number }
  | { readonly verb: 'pause'; readonly seconds: number | null }
  | {
      readonly verb: 'put'
      readonly every: number | null
      readonly isEnabled: boolean
      readonly strategy: Strategy
      readonly inSeconds: number | null
    }

/** The outcome of one instant of the schedule. `range`: it is counted in a range record. */
export interface Account {
  readonly at: number
  readonly state: OccurrenceState | 'range'
  readonly isPaused: boolean
}

const scope = { tenant: 'default', job: 'tick' }
const node = nodeInfo({ name: 'host', concurrency: 10, kinds: ['tick'] })

/**
 * A job with a schedule of whole seconds on a memory store, planned step by step. Everything happens half a second after a
 * whole one, so no act falls on an instant.
 */
export class PlannedJob {
  readonly horizonMs = 5000
  readonly #clock: ManualClock
  readonly #store = new MemoryStore()
  #claims = 0

  static async create(strategy: Strategy, everySeconds = 1, spread = 0): Promise<PlannedJob> {
    const job = new PlannedJob()
    await job.#store.open({ clock: job.#clock, random: () => 0 })
    await job.#beat('join')
    await job.#put(specOf(everySeconds, true, strategy, spread), null)
    return job
  }

  constructor() {
    this.#clock = manualClock('2026-01-01T00:00:00.500Z')
  }

  get now(): number {
    return this.#clock.wall()
  }

  async take(step: PlanStep): Promise<void> {
    if (step.verb === 'put')
      await this.#put(specOf(step.every, step.isEnabled, step.strategy), step.inSeconds && this.now + step.inSeconds * 1000)
    else if (step.verb === 'pass') await this.#pass(step.seconds)
    else if (step.verb === 'down') await this.#down(step.seconds)
    else if (step.verb === 'pause') await this.#pause(step.seconds)
    else if (step.verb === 'plan') await this.#plan()
    else if (step.verb === 'plan-twice') await this.#planTwice()
    else if (step.verb === 'plan-late') await this.#planLate()
    else if (step.verb === 'work') await this.#work()
    else await this.#store.pause({ ...scope, open: null })
  }

  /** Plans and runs what is left, with nothing paused any more. */
  async finish(): Promise<void> {
    await this.#store.pause({ ...scope, open: null })
    for (let plan = await this.nextPlan(); plan; plan = await this.nextPlan()) await this.say(plan)
    await this.#pass(this.horizonMs / 1000 + 1)
    await this.#work()
  }

  work(): Promise<PlanWork> {
    return this.#store.jobsToPlan({ horizonMs: this.horizonMs, limit: 10 })
  }

  async nextPlan(): Promise<JobPlan | null> {
    const work = await this.work()
    const [candidate] = work.jobs
    if (!candidate) return null
    const timeline = new Timeline(candidate.job, candidate.versions)
    return planJob({ candidate, work, timeline, horizonMs: this.horizonMs, settings: { overlap: 'allow' } })
  }

  async say(plan: JobPlan): Promise<JobPlan> {
    expect((await this.#store.plan([plan]))[0]?.outcome).toBe('planned')
    expect(plan.rows.filter(({ end }) => end === null).length).toBeLessThanOrEqual(1000)
    return plan
  }

  async record(): Promise<JobRecord> {
    const [job] = await this.#store.readJobs({ tenant: scope.tenant, name: scope.job, limit: 1 })
    return job as JobRecord
  }

  /** Compares what is recorded with the instants that the versions yield, found second by second. */
  async checkAccounts(): Promise<readonly Account[]> {
    const { cursor, createdAt } = await this.record()
    const versions = await this.#store.readVersions({ tenant: scope.tenant, name: scope.job })
    const expected = new Map<number, number>()
    for (let at = Math.ceil(createdAt / 1000) * 1000; at <= cursor; at += 1000) {
      const { version, spec } = inForce(versions, at)
      if (isInstant(spec, at)) expected.set(at, version)
    }
    const records = await this.#records()
    for (const [at, { version }] of records) expect([at, version]).toEqual([at, expected.get(at)])
    const ranges = await this.#store.listRanges({ limit: 1000 })
    const left = [...expected.keys()].filter((at) => !records.has(at))
    expect(ranges.reduce((sum, { count }) => sum + count, 0)).toBe(left.length)
    for (const at of left) expect(ranges.some(({ from, to }) => from <= at && at <= to)).toBe(true)
    for (const { from, to } of ranges) expect([left.includes(from), left.includes(to)]).toEqual([true, true])
    const pauses = await this.#store.readPauses({})
    return [...expected.keys()].map((at) => {
      const isPaused = pauses.some((pause) => isPausedAt(pause, scope.tenant, scope.job, at))
      const state = records.get(at)?.state ?? 'range'
      expect(['completed', 'missed', 'skipped', 'range']).toContain(state)
      if (isPaused) expect([at, state === 'range' ? 'skipped' : state]).toEqual([at, 'skipped'])
      return { at, state, isPaused }
    })
  }

  async #records(): Promise<ReadonlyMap<number, { readonly version: number; readonly state: OccurrenceState }>> {
    const records = new Map<number, { version: number; state: OccurrenceState }>()
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await this.#store.list({ limit: 500, ...(cursor !== undefined && { cursor }) })
      for (const { id, state, scheduledAt } of page.items) {
        expect(records.has(scheduledAt), 'no instant twice').toBe(false)
        records.set(scheduledAt, { version: (await this.#store.get({ id }))?.record.version ?? 0, state })
      }
      cursor = page.cursor
    }
    return records
  }

  async #plan(): Promise<void> {
    const plan = await this.nextPlan()
    if (plan) await this.say(plan)
  }

  /** As two planners would, or one whose answer was lost. */
  async #planTwice(): Promise<void> {
    const plan = await this.nextPlan()
    if (!plan) return
    await this.say(plan)
    const after = await this.record()
    if (after.cursor === plan.cursor) return
    const counts = await this.#store.counts({})
    expect(await this.#store.plan([plan])).toEqual([{ outcome: 'behind' }])
    expect([await this.record(), await this.#store.counts({})]).toEqual([after, counts])
  }

  /** The plan comes after a pause that it does not know of. */
  async #planLate(): Promise<void> {
    const plan = await this.nextPlan()
    const { outcome } = await this.#store.pause({
      tenant: 'other',
      job: null,
      open: { until: { in: 1 }, reason: null, by: null },
    })
    if (!plan || outcome !== 'paused') return
    const counts = await this.#store.counts({})
    expect(await this.#store.plan([plan])).toEqual([{ outcome: 'behind' }])
    expect(await this.#store.counts({})).toEqual(counts)
  }

  async #pass(seconds: number): Promise<void> {
    for (let left = seconds; left > 0; left -= 10) {
      await this.#clock.advance(Math.min(left, 10) * 1000)
      await this.#beat('stay')
    }
  }

  async #down(seconds: number): Promise<void> {
    await this.#clock.advance(seconds * 1000)
    await this.#beat('stay')
  }

  async #pause(seconds: number | null): Promise<void> {
    const until = seconds && { in: seconds * 1000 }
    await this.#store.pause({ ...scope, open: { until, reason: null, by: null } })
  }

  async #put(spec: JobSpec, effectiveAt: number | null): Promise<void> {
    await this.#store.putJob({
      tenant: scope.tenant,
      name: scope.job,
      spec,
      declared: spec,
      override: null,
      effectiveAt,
      by: null,
    })
  }

  /** Runs all that is due to its end. */
  async #work(): Promise<void> {
    for (;;) {
      const n = ++this.#claims
      const claim = { id: `claim-${n}`, token: `token-${n}` }
      const { members, passed } = await this.#store.claim({ ...claim, node: node.boot, kinds: node.kinds, limit: 1000 })
      if (members.length === 0 && passed.length === 0) return
      const none = { result: null, error: null, attempt: null, settings: null, tasks: null, reason: null }
      const end = { ...none, end: 'completed', startedAt: this.now, endedAt: this.now } as const
      await this.#store.settle(
        members.map((member) => ({ claim, member, end, attempts: [], delayMs: 0 })),
        { done: [claim] },
      )
    }
  }

  #beat(phase: 'join' | 'stay') {
    return this.#store.beat({ node, claims: [], inFlight: [], long: [], phase })
  }
}

function specOf(every: number | null, isEnabled: boolean, recovery: Strategy, spread = 0): JobSpec {
  const step =
    every === null ? null : every < 60 ? `*/${every} * * * * *` : every < 3600 ? `0 */${every / 60} * * * *` : '0 0 * * * *'
  return {
    definition: 'tick',
    schedule: step === null ? null : { kind: 'cron', text: step, timezone: 'UTC', ...(spread > 0 && { spread }) },
    payload: JSON.stringify(every),
    settings: { recovery },
    defaults: {},
    tasks: [{ name: 'run' }],
    isEnabled,
    isRetired: false,
  }
}

/** The newest version that has taken effect, found the plain way. */
function inForce(versions: readonly VersionRecord[], at: number): VersionRecord {
  let found = versions[0] as VersionRecord
  for (const version of versions) if (version.effectiveAt <= at) found = version
  return found
}

function isInstant({ schedule, isEnabled, payload }: JobSpec, at: number): boolean {
  const every = Number(payload)
  return schedule !== null && isEnabled && (at / 1000) % Math.max(every, 1) === 0
}
