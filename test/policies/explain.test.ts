import { expect, it } from 'vitest'
import type { Punctual } from '../../src/client/punctual.ts'
import { type ReasonCode, reasonCodes } from '../../src/client/reason.ts'
import { defineJob } from '../../src/model/definition.ts'
import type { JobRecord } from '../../src/model/job.ts'
import { cron } from '../../src/schedule/cron.ts'
import { interval } from '../../src/schedule/interval.ts'
import { once } from '../../src/schedule/once.ts'
import type { ScheduleJson } from '../../src/schedule/schedule.ts'
import { untilAborted } from '../support/until-aborted.ts'
import { historyOf, onStores, type Scene } from './stores.ts'

const hourly = cron('0 * * * *', { timezone: 'UTC' })
const work = defineJob('work', { retry: { max: 1, interval: '1h' } }).task('only', (ctx) => {
  if (ctx.payload === 'bad') throw new Error('vendor is down')
  if (ctx.payload === 'long') return untilAborted(ctx)
  return 1
})
const first = async (punctual: Punctual, target: Parameters<Punctual['explain']>[0]) =>
  (await punctual.explain(target)).reasons[0]

/** A scheduler with a job whose schedule only other code could have declared. */
async function withSchedule({ node, clock }: Scene, schedule: ScheduleJson): Promise<Punctual> {
  const { punctual, store } = await node({ jobs: [work] })
  const [known] = await store.readJobs({ tenant: 'default', name: 'work', limit: 1 })
  const spec = { ...(known as JobRecord).spec, schedule }
  await store.putJob({ tenant: 'default', name: 'work', spec, declared: spec, override: null, effectiveAt: null, by: null })
  await clock.advance('1s')
  return punctual
}

/** For each reason the situation in which it is the first that is given. */
const situations: Record<ReasonCode, (scene: Scene) => Promise<unknown>> = {
  async ended({ node, clock }) {
    const { punctual } = await node({ jobs: [work] })
    const { id } = await punctual.enqueue(work, 1)
    await clock.advance('1s')
    return first(punctual, id)
  },
  async running({ node, clock }) {
    const { punctual } = await node({ jobs: [work] })
    const { id } = await punctual.enqueue(work, 'long')
    await clock.advance('1s')
    expect((await punctual.explain('work')).reasons[0]).toMatchObject({ code: 'running', details: { id } })
    return first(punctual, id)
  },
  async 'long-run'({ node, clock }) {
    const { punctual } = await node({ jobs: [work] })
    const { id } = await punctual.enqueue(work, 'long')
    await clock.advance('2s')
    const startedAt = '2026-01-01T00:00:00.000Z'
    expect(await first(punctual, id)).toMatchObject({ code: 'running', details: { startedAt: null } })
    await clock.advance('90s')
    expect((await punctual.explain('work')).reasons[0]).toMatchObject({ code: 'long-run', details: { id, startedAt } })
    const reason = await first(punctual, id)
    expect(reason).toMatchObject({ details: { startedAt, runningMs: 92_000 } })
    return reason
  },
  async 'retry-loop'({ node, clock }) {
    const loop = defineJob('loop', { retry: { max: 5, interval: '1h', factor: 1 } }).task('only', (ctx) =>
      ctx.attempt > 2 ? untilAborted(ctx) : ctx.fail(`no ${ctx.attempt}`),
    )
    const { punctual } = await node({ jobs: [loop] })
    const { id } = await punctual.enqueue(loop)
    await clock.advance('59m')
    expect((await punctual.explain(id)).reasons.map(({ code }) => code)).toEqual(['retrying'])
    await clock.advance('30m')
    const parked = await punctual.explain(id)
    expect(parked.reasons.map(({ code }) => code)).toEqual(['retry-loop', 'retrying'])
    await clock.advance('32m')
    expect((await punctual.explain(id)).reasons.map(({ code }) => code)).toEqual(['retry-loop', 'running'])
    expect(parked.reasons[0]).toMatchObject({ details: { failures: 2, error: { message: 'no 2' } } })
    return parked.reasons[0]
  },
  async 'not-due'({ node }) {
    const { punctual } = await node({ jobs: [work] })
    return first(punctual, (await punctual.enqueue(work, 1, { delay: '1h' })).id)
  },
  async retrying({ node, clock }) {
    const { punctual } = await node({ jobs: [work] })
    const { id } = await punctual.enqueue(work, 'bad')
    await clock.advance('1s')
    const reason = await first(punctual, id)
    expect(reason?.message).toContain('vendor is down')
    return reason
  },
  async overlap({ node, clock }) {
    const job = defineJob('tick', { schedule: interval('PT10S'), overlap: 'queue' }).task('only', (ctx) => untilAborted(ctx))
    const { punctual } = await node({ jobs: [job] })
    await clock.advance('21s')
    const [running, waiting] = await historyOf(punctual, 'tick')
    const reason = await first(punctual, waiting?.id as string)
    expect(reason?.details.blockers).toEqual([running?.id])
    return reason
  },
  async concurrency({ node, clock }) {
    const { punctual } = await node({ jobs: [work] })
    const limit = { concurrency: { key: 'k', limit: 1 } }
    const { id: holder } = await punctual.enqueue(work, 'long', limit)
    await clock.advance('1s')
    const { id } = await punctual.enqueue(work, 1, limit)
    await clock.advance('1s')
    const reason = await first(punctual, id)
    expect(reason?.details.blockers).toEqual([holder])
    return reason
  },
  async rate({ node, clock }) {
    const { punctual } = await node({ jobs: [work] })
    const limit = { rate: { key: 'k', limit: 1, per: '1h' } as const }
    await punctual.enqueue(work, 1, limit)
    await clock.advance('1s')
    const { id } = await punctual.enqueue(work, 1, limit)
    await clock.advance('1s')
    const reason = await first(punctual, id)
    expect(reason?.details.until).toBe('2026-01-01T01:00:00.020Z')
    return reason
  },
  async 'catch-up'({ node, clock }) {
    const job = defineJob('tick', { schedule: hourly, overlap: 'allow' }).task('only', (ctx) => untilAborted(ctx))
    const down = await node({ jobs: [job] })
    await down.punctual.stop()
    await clock.advance('3h')
    const { punctual } = await node({ jobs: [job] })
    await clock.advance('2s')
    const waiting = (await historyOf(punctual, 'tick')).find(({ state }) => state === 'waiting')
    return first(punctual, waiting?.id as string)
  },
  async recovery({ node, clock, client }) {
    const job = defineJob('tick', { schedule: interval('PT5S') }).task('only', () => 1)
    const down = await node({ jobs: [job] })
    await down.punctual.stop()
    await clock.advance('1h')
    // A node that claims and does not get to plan.
    const { punctual, store } = client({ jobs: [job] })
    const planned = store.hold('plan')
    void punctual.start()
    await clock.settle()
    const waiting = (await historyOf(down.punctual, 'tick')).find(({ state }) => state === 'waiting')
    const reason = await first(down.punctual, waiting?.id as string)
    planned()
    return reason
  },
  async paused({ node, clock }) {
    const { punctual } = await node({ jobs: [work] })
    await punctual.pause(work, { reason: 'audit', by: 'ann', for: '2h' })
    const { id } = await punctual.enqueue(work, 1)
    expect(await first(punctual, 'work')).toMatchObject({ code: 'paused', details: { reason: 'audit', by: 'ann' } })
    await clock.advance('1s')
    const reason = await first(punctual, id)
    expect(reason?.message).toContain('audit')
    return reason
  },
  async disabled({ node }) {
    const { punctual } = await node({ jobs: [defineJob('tick', { schedule: hourly }).task('only', () => 1)] })
    await punctual.update('tick', { enabled: false })
    return first(punctual, 'tick')
  },
  async retired({ node }) {
    const { punctual } = await node({ jobs: [work] })
    await punctual.retire('work')
    return first(punctual, 'work')
  },
  async 'no-schedule'({ node }) {
    const { punctual } = await node({ jobs: [work] })
    return first(punctual, work)
  },
  async 'window-ahead'({ node }) {
    const job = defineJob('tick', { schedule: cron('0 * * * *', { timezone: 'UTC', start: '2027-01-01T00:00:00Z' }) }).task(
      'only',
      () => 1,
    )
    const { punctual } = await node({ jobs: [job] })
    return first(punctual, job)
  },
  async 'window-over'({ node, clock }) {
    const job = defineJob('tick', { schedule: once('2026-01-01T01:00:00Z') }).task('only', () => 1)
    const { punctual } = await node({ jobs: [job] })
    await clock.advance('2h')
    return first(punctual, job)
  },
  async 'no-node'({ client }) {
    const { punctual } = client({ jobs: [work] })
    return first(punctual, (await punctual.enqueue(work, 1)).id)
  },
  async 'no-handler'({ node, client, clock }) {
    const { punctual } = await node({ jobs: [work] })
    const { id } = await client().punctual.enqueue('nobody-has-it')
    await clock.advance('1s')
    return first(punctual, id)
  },
  async 'slots-full'({ node, clock }) {
    const { punctual } = await node({ jobs: [work], concurrency: 1 })
    for (let n = 0; n < 4; n++) await punctual.enqueue(work, 'long')
    await clock.advance('1s')
    const { id } = await punctual.enqueue(work, 1)
    await clock.advance('1s')
    const reason = await first(punctual, id)
    expect(reason?.details.position).toBeGreaterThan(1)
    return reason
  },
  async 'next-run'({ node, clock }) {
    const job = defineJob('tick', { schedule: hourly }).task('only', () => 1)
    const { punctual } = await node({ jobs: [job] })
    await clock.advance('1s')
    expect(await first(punctual, { job: 'tick' })).toMatchObject({ details: { nextRun: '2026-01-01T01:00:00.000Z' } })
    return first(punctual, job)
  },
  async 'never-fires'(scene) {
    return first(await withSchedule(scene, { kind: 'cron', text: '0 0 30 2 *', timezone: 'UTC' }), work)
  },
  async 'unknown-schedule'(scene) {
    return first(await withSchedule(scene, { kind: 'moon', phase: 'full' }), work)
  },
  async 'store-unreachable'({ node }) {
    const { punctual, store } = await node({ jobs: [work] })
    store.cut()
    return first(punctual, work)
  },
}

onStores('explain answers why something has not run, or will not', (scene) => {
  it.each(Object.entries(situations))('%s', async (code, situation) => {
    expect(await situation(scene())).toMatchObject({ code, message: expect.stringMatching(/\S/) })
  })

  it('a key that is granted to work without a free slot: the second reason names that work', async () => {
    const { node, clock } = scene()
    const other = defineJob('other', () => 1)
    const { punctual } = await node({ jobs: [work], concurrency: 1 })
    for (let n = 0; n < 4; n++) await punctual.enqueue(work, 'long')
    await clock.advance('1s')
    const limit = { concurrency: { key: 'k', limit: 1 } }
    const { id: holder } = await punctual.enqueue(work, 1, limit)
    const { id } = await punctual.enqueue(work, 2, limit)
    // Another node passes the keys on, and cannot run the work.
    const helper = await node({ jobs: [other] })
    await helper.punctual.enqueue(other)
    await clock.advance('3s')
    const { reasons } = await punctual.explain(id)
    expect(reasons).toMatchObject([
      { code: 'concurrency', details: { blockers: [holder] } },
      { code: 'slots-full', message: expect.stringContaining(holder), details: { id: holder, slots: [{ concurrency: 1 }] } },
    ])
  })

  it('a job whose last instant was missed or skipped says so, and its list names the reason', async () => {
    const { clock, slowNode } = scene()
    const report = defineJob('report', { schedule: hourly, recovery: 'mark-missed' }, () => 1)
    const { punctual } = await slowNode({ jobs: [report] })
    await clock.advance('90m')
    expect((await punctual.explain('report')).reasons.map(({ code }) => code)).toEqual(['next-run'])
    await punctual.stop()
    await clock.advance('1h')
    const later = (await slowNode({ jobs: [report] })).punctual
    await clock.advance('1m')
    const { items } = await later.list({ job: 'report', limit: 1 })
    expect(items).toMatchObject([{ state: 'missed', reason: 'downtime' }])
    expect((await later.explain('report')).reasons).toMatchObject([
      {
        code: 'ended',
        message: expect.stringMatching(/was missed: no node ran at 2026-01-01T02:00:00.000Z. A node was back at 2026-01-01T02:3/),
        details: { id: items[0]?.id, state: 'missed', reason: 'downtime' },
      },
      { code: 'next-run' },
    ])
    await later.pause('report')
    await clock.advance('1h')
    await later.resume('report')
    const [skipped] = (await later.list({ job: 'report', limit: 1 })).items
    expect(skipped).toMatchObject({ state: 'skipped', reason: 'paused' })
    expect((await later.explain('report')).reasons[0]?.message).toContain('the job was paused at 2026-01-01T03:00:00.000Z')
    await clock.advance('1h')
    expect((await later.explain('report')).reasons.map(({ code }) => code)).toEqual(['next-run'])
  })

  it('what is unknown is refused', async () => {
    const { punctual } = await scene().node({ jobs: [work] })
    await expect(punctual.explain('nothing')).rejects.toMatchObject({ code: 'job.unknown' })
    await expect(punctual.explain({ job: 'work', key: 'none' })).rejects.toMatchObject({ code: 'occurrence.unknown' })
  })
})

it('explain: every reason has a situation here', () => {
  expect(Object.keys(situations).toSorted()).toEqual(reasonCodes.toSorted())
})
