import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { planJob } from '../../src/engine/loops/job-plan.ts'
import { Timeline } from '../../src/engine/loops/timeline.ts'
import type { JobPlan, PlanWork } from '../../src/store/store.ts'
import { PlannedJob, type PlanStep, type Strategy } from '../support/planned-job.ts'

const strategies: readonly Strategy[] = [
  { strategy: 'all' },
  { strategy: 'last' },
  { strategy: 'mark-missed' },
  { strategy: 'compressed' },
  { strategy: 'bounded', maxOccurrences: 5 },
  { strategy: 'bounded', maxAgeMs: 60_000 },
  { strategy: 'bounded', maxAgeMs: 900_000, maxOccurrences: 3 },
]

function stepsOf(strategy: fc.Arbitrary<Strategy>): fc.Arbitrary<readonly PlanStep[]> {
  const seconds = fc.integer({ min: 1, max: 40 })
  const put = fc.record({
    verb: fc.constant('put' as const),
    every: fc.constantFrom(1, 2, 3, 5, 20, null),
    isEnabled: fc.oneof({ weight: 5, arbitrary: fc.constant(true) }, fc.constant(false)),
    strategy,
    inSeconds: fc.constantFrom(null, null, 4, 30, 300),
  })
  const step: fc.Arbitrary<PlanStep> = fc.oneof(
    { weight: 4, arbitrary: fc.constant({ verb: 'plan' as const }) },
    { weight: 1, arbitrary: fc.constant({ verb: 'plan-twice' as const }) },
    { weight: 1, arbitrary: fc.constant({ verb: 'plan-late' as const }) },
    { weight: 3, arbitrary: fc.record({ verb: fc.constant('pass' as const), seconds }) },
    { weight: 2, arbitrary: fc.record({ verb: fc.constant('down' as const), seconds: fc.constantFrom(20, 45, 100, 2200) }) },
    { weight: 2, arbitrary: fc.constant({ verb: 'work' as const }) },
    { weight: 1, arbitrary: fc.record({ verb: fc.constant('pause' as const), seconds: fc.constantFrom(null, 10, 200) }) },
    { weight: 1, arbitrary: fc.constant({ verb: 'resume' as const }) },
    { weight: 1, arbitrary: put },
  )
  return fc.array(step, { maxLength: 25, size: 'max' })
}

describe('the plan of a job', () => {
  it('JB-15 JB-20 F38 F41 accounts for every instant exactly once, over versions, pauses, gaps, strategies and chunks', async () => {
    const property = fc.asyncProperty(
      stepsOf(fc.constantFrom(...strategies)),
      fc.constantFrom(...strategies),
      async (steps, first) => {
        const job = await PlannedJob.create(first)
        for (const step of steps) await job.take(step)
        await job.finish()
        await job.checkAccounts()
      },
    )
    await fc.assert(property, { numRuns: 60 })
  })

  it('JB-15 F39 under all, everything outside a pause runs, however long nobody was there', async () => {
    const property = fc.asyncProperty(stepsOf(fc.constant({ strategy: 'all' })), async (steps) => {
      const job = await PlannedJob.create({ strategy: 'all' })
      for (const step of steps) await job.take(step)
      await job.finish()
      const accounts = await job.checkAccounts()
      for (const { at, state, isPaused } of accounts) expect([at, state]).toEqual([at, isPaused ? 'skipped' : 'completed'])
    })
    await fc.assert(property, { numRuns: 25 })
  })

  it('JB-15 takes `all` in parts of 1,000 rows, oldest first, and the rest of a gap in one plan', async () => {
    const all = await PlannedJob.create({ strategy: 'all' })
    await all.take({ verb: 'down', seconds: 2500 })
    const sizes: number[] = []
    for (let plan = await all.nextPlan(); plan; plan = await all.nextPlan()) sizes.push((await all.say(plan)).rows.length)
    expect(sizes).toEqual([1000, 1000, 505])
    const missed = await PlannedJob.create({ strategy: 'mark-missed' })
    await missed.take({ verb: 'down', seconds: 2500 })
    const plan = await missed.say((await missed.nextPlan()) as JobPlan)
    expect(plan.ranges.map(({ count, state, reason }) => [count, state, reason])).toEqual([[2500, 'missed', 'downtime']])
    expect(plan.rows.map(({ source }) => source)).toEqual(Array(5).fill('schedule'))
  })

  it('JB-15 runs 24 and records 176 as missed after 200 hours under a window of 24 hours', async () => {
    const job = await PlannedJob.create({ strategy: 'bounded', maxAgeMs: 24 * 3_600_000 }, 3600)
    await job.take({ verb: 'down', seconds: 200 * 3600 })
    const { rows, ranges } = await job.say((await job.nextPlan()) as JobPlan)
    expect(ranges).toEqual([])
    const run = rows.filter(({ end }) => end === null)
    const ended = rows.filter(({ end }) => end !== null)
    expect([run.length, ended.length, new Set(ended.map(({ end }) => `${end?.state} ${end?.reason}`))]).toEqual([
      24,
      176,
      new Set(['missed downtime']),
    ])
    expect(rows.every(({ source }) => source === 'recovery')).toBe(true)
    expect(Math.max(...ended.map(({ at }) => at))).toBeLessThan(Math.min(...run.map(({ at }) => at)))
  })

  it('JB-15 gives rows planned before the gap the same fate as those that were not', async () => {
    for (const [strategy, revived, dropped] of [
      [{ strategy: 'all' }, 5, 0],
      [{ strategy: 'last' }, 0, 5],
      [{ strategy: 'mark-missed' }, 0, 5],
    ] as const) {
      const job = await PlannedJob.create(strategy)
      await job.take({ verb: 'plan' })
      await job.take({ verb: 'down', seconds: 60 })
      const plan = (await job.nextPlan()) as JobPlan
      expect([plan.revive.length, plan.drop.length], strategy.strategy).toEqual([revived, dropped])
    }
  })

  it('JB-15 takes a range only over instants without records', async () => {
    const job = await PlannedJob.create({ strategy: 'last' })
    await job.take({ verb: 'plan' })
    await job.take({ verb: 'down', seconds: 3000 })
    const { ranges, drop, rows } = (await job.nextPlan()) as JobPlan
    const lastDropped = Math.max(...drop.map(({ at }) => at))
    expect(ranges.map(({ from, count }) => [from, count])).toEqual([[lastDropped + 1000, 3000 - drop.length - 1]])
    expect(rows.filter(({ source }) => source === 'recovery')).toHaveLength(1)
  })

  it('JB-15 compresses a gap into one run that is told the span', async () => {
    const job = await PlannedJob.create({ strategy: 'compressed' })
    const start = job.now
    await job.take({ verb: 'down', seconds: 90 })
    const { rows } = (await job.nextPlan()) as JobPlan
    const [run, ...more] = rows.filter(({ end, source }) => end === null && source === 'recovery')
    const first = Math.ceil(start / 1000) * 1000
    expect([run?.at, run?.span, more]).toEqual([first + 89_000, { from: first, to: first + 89_000, count: 90 }, []])
    expect(rows.filter(({ end }) => end?.reason === 'compressed')).toHaveLength(89)
  })

  it('does not count an instant as missed that its spread puts off until somebody is there', async () => {
    const job = await PlannedJob.create({ strategy: 'mark-missed' }, 60, 600_000)
    await job.take({ verb: 'down', seconds: 300 })
    const plan = (await job.nextPlan()) as JobPlan
    const { aliveSince } = await job.work()
    expect(plan.rows.some(({ end }) => end !== null)).toBe(plan.rows.some(({ dueAt }) => dueAt <= aliveSince))
    for (const { dueAt, end } of plan.rows) expect(end === null).toBe(dueAt > aliveSince)
    expect(plan.rows.length).toBeGreaterThan(0)
  })

  it('asks for nothing more once the horizon is reached, and moves the cursor there', async () => {
    const job = await PlannedJob.create({ strategy: 'all' })
    await job.take({ verb: 'plan' })
    const work = await job.work()
    expect(work.jobs).toEqual([])
    const record = await job.record()
    expect(record.cursor).toBe(job.now + job.horizonMs)
    expect(record.nextAt).toBe(Math.ceil(record.cursor / 1000) * 1000)
  })

  it('is the same for the same input', async () => {
    const job = await PlannedJob.create({ strategy: 'compressed' })
    await job.take({ verb: 'down', seconds: 50 })
    expect(await job.nextPlan()).toEqual(await job.nextPlan())
  })

  it('F42 resolves 30 days of a per-second job in one plan and bounded memory', async () => {
    const job = await PlannedJob.create({ strategy: 'bounded', maxOccurrences: 10 })
    const days = 30 * 86_400
    await job.take({ verb: 'down', seconds: days })
    const work: PlanWork = await job.work()
    const [candidate] = work.jobs
    if (!candidate) throw new Error('there is a job to plan')
    const timeline = new Timeline(candidate.job, candidate.versions)
    const plan = planJob({ candidate, work, timeline, horizonMs: job.horizonMs, settings: {} })
    expect(plan.ranges.map(({ count }) => count)).toEqual([days - 10])
    expect(plan.rows.filter(({ source }) => source === 'recovery')).toHaveLength(10)
  })
})
