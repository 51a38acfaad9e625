import { expect, it } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import { cron } from '../../src/schedule/cron.ts'
import { accountOf, historyOf, hour, onStores, steps } from './stores.ts'

const start = Date.parse('2026-01-01T00:30:00Z')
const hourly = cron('0 * * * *', { timezone: 'UTC' })

function ticking(name = 'tick', options: object = {}) {
  const ran: number[] = []
  const job = defineJob(name, { schedule: hourly, ...options }).task('only', (ctx) => void ran.push(ctx.scheduledAt.getTime()))
  return { job, ran }
}

onStores('JB-7 pause and resume', (scene) => {
  it.each([
    ['a job', 'tick'],
    ['a tenant', { tenant: 'default' }],
    ['everything', undefined],
  ])('instants in a pause of %s are skipped, and the schedule keeps its place', async (_, target) => {
    const { slowNode, clock } = scene('2026-01-01T00:30:00Z')
    const { job, ran } = ticking()
    const { punctual } = await slowNode({ jobs: [job] })
    await clock.advance('2h')
    expect(await punctual.pause(target, { reason: 'audit', by: 'ann' })).toBe('paused')
    expect(await punctual.pause(target, { reason: 'audit', by: 'ann' })).toBe('unchanged')
    expect(await punctual.status(job)).toMatchObject({ active: true, paused: true, enabled: false })
    expect(await punctual.pauses()).toMatchObject([{ reason: 'audit', by: 'ann', until: null }])
    await clock.advance('3h')
    expect(await punctual.resume(target)).toBe('resumed')
    expect(await punctual.resume(target)).toBe('unchanged')
    await clock.advance('2h')
    const instants = steps(start, clock.wall(), hour)
    expect(ran).toEqual([...instants.slice(0, 2), ...instants.slice(5)])
    expect(await accountOf(punctual, 'tick', instants)).toEqual({ completed: 4, skipped: 3 })
    expect(await punctual.pauses()).toEqual([])
    expect(await punctual.pauses({ all: true })).toHaveLength(1)
  })

  it.each(['all', 'last', 'mark-missed', 'compressed'] as const)(
    'a pause while all nodes are down is a pause, and never goes to recovery (%s)',
    async (recovery) => {
      const { slowNode, client, clock } = scene('2026-01-01T00:30:00Z')
      const { job, ran } = ticking('tick', { recovery })
      const first = await slowNode({ jobs: [job] })
      await clock.advance('1h')
      await first.punctual.stop()
      await clock.advance('2h')
      const person = client().punctual
      await person.pause('tick')
      await clock.advance('3h')
      await person.resume('tick')
      await clock.advance('2h')
      const { punctual } = await slowNode({ jobs: [job] })
      await clock.advance('1m')
      await punctual.idle()
      const instants = steps(start, clock.wall(), hour)
      const paused = instants.slice(3, 6)
      expect(ran.filter((at) => paused.includes(at))).toEqual([])
      const lines = await historyOf(punctual, 'tick')
      for (const at of paused) {
        const line = lines.find(({ scheduledAt }) => scheduledAt.getTime() === at)
        expect(line?.state).toBe('skipped')
        expect(await punctual.get(line?.id as string)).toMatchObject({ reason: 'paused' })
      }
      const run = recovery === 'all' ? 4 : recovery === 'mark-missed' ? 0 : 1
      expect((await accountOf(punctual, 'tick', instants)).completed).toBe(1 + run)
    },
  )

  it('a pause that is not over when the nodes come back goes on', async () => {
    const { slowNode, client, clock } = scene('2026-01-01T00:30:00Z')
    const { job, ran } = ticking()
    const first = await slowNode({ jobs: [job] })
    await first.punctual.stop()
    await client().punctual.pause()
    await clock.advance('5h')
    const { punctual } = await slowNode({ jobs: [job] })
    await clock.advance('2h')
    expect(ran).toEqual([])
    expect(await accountOf(punctual, 'tick', steps(start, clock.wall(), hour))).toEqual({ skipped: 7 })
  })

  it('until: it ends by itself, also for a node that starts after it', async () => {
    const { slowNode, clock } = scene('2026-01-01T00:30:00Z')
    const { job, ran } = ticking()
    const one = await slowNode({ jobs: [job] })
    await one.punctual.pause(job, { for: '2h' })
    const { id } = await one.punctual.enqueue(job, undefined)
    await clock.advance('1h')
    expect(await one.punctual.get(id)).toMatchObject({ state: 'waiting' })
    await clock.advance('61m')
    expect(await one.punctual.get(id)).toMatchObject({ state: 'completed' })
    await clock.advance('1h')
    const instants = steps(start, clock.wall(), hour)
    expect(ran.filter((at) => instants.includes(at))).toEqual(instants.slice(2))
    expect((await accountOf(one.punctual, 'tick', instants)).skipped).toBe(2)
  })

  it('rows planned before the pause are skipped, and rows planned before the resume run when they are due after it', async () => {
    const { slowNode, clock } = scene('2026-01-01T00:30:00Z')
    const { job, ran } = ticking()
    const { punctual } = await slowNode({ jobs: [job] })
    await clock.advance(30 * 60_000 - 5000)
    expect(await punctual.counts({ job })).toMatchObject({ pending: 1 })
    await punctual.pause(job)
    await clock.advance('10s')
    expect(await punctual.counts({ job })).toMatchObject({ pending: 0, skipped: 1 })
    await clock.advance(hour - 10_000)
    expect(await punctual.counts({ job })).toMatchObject({ pending: 1 })
    await punctual.resume(job)
    await clock.advance('10s')
    expect(ran).toEqual([start + 1.5 * hour])
  })

  it('what runs goes on, its retries and keyed work wait for the resume and then run', async () => {
    const { slowNode, clock } = scene('2026-01-01T00:30:00Z')
    const gate = Promise.withResolvers<void>()
    const job = defineJob('work', { retry: { max: 1, interval: '1m' } }).task('only', async ({ payload, attempt }) => {
      if (payload === 'runs') await gate.promise
      if (payload === 'shaky' && attempt === 1) throw new Error('once')
      return payload
    })
    const { punctual } = await slowNode({ jobs: [job] })
    const { id: runs } = await punctual.enqueue(job, 'runs')
    const { id: shaky } = await punctual.enqueue(job, 'shaky')
    await clock.advance('1s')
    await punctual.pause(job)
    const { id: keyed } = await punctual.enqueue(job, 'keyed', { key: 'k' })
    gate.resolve()
    await clock.advance('10m')
    expect(await punctual.get(runs)).toMatchObject({ state: 'completed' })
    expect(await punctual.get(shaky)).toMatchObject({ state: 'waiting' })
    expect(await punctual.get(keyed)).toMatchObject({ state: 'waiting' })
    await punctual.resume(job)
    await clock.advance('2s')
    expect(await punctual.get(shaky)).toMatchObject({ state: 'completed' })
    expect(await punctual.get(keyed)).toMatchObject({ state: 'completed' })
  })

  it('a pause of one tenant leaves the others alone', async () => {
    const { slowNode, clock } = scene('2026-01-01T00:30:00Z')
    const { job } = ticking()
    const { punctual } = await slowNode({ jobs: [job] })
    await punctual.pause({ tenant: 'acme' })
    const { id: acme } = await punctual.enqueue(job, undefined, { tenant: 'acme' })
    const { id: other } = await punctual.enqueue(job, undefined, { tenant: 'globex' })
    await clock.advance('2s')
    expect(await punctual.get(acme)).toMatchObject({ state: 'waiting' })
    expect(await punctual.get(other)).toMatchObject({ state: 'completed' })
  })

  it('JB-4 while disabled no instants are generated or recorded, and enabled again it goes on from then', async () => {
    const { slowNode, clock } = scene('2026-01-01T00:30:00Z')
    const { job, ran } = ticking()
    const { punctual } = await slowNode({ jobs: [job] })
    await clock.advance('1h')
    await punctual.update(job, { enabled: false }, { by: 'ann' })
    expect(await punctual.status(job)).toMatchObject({ active: false, enabled: false, paused: false, nextRun: null })
    await clock.advance('3h')
    await punctual.update(job, { enabled: true })
    await clock.advance('2h')
    const instants = steps(start, clock.wall(), hour)
    const wanted = [...instants.slice(0, 1), ...instants.slice(4)]
    expect(ran).toEqual(wanted)
    expect(await accountOf(punctual, 'tick', wanted)).toEqual({ completed: 3 })
  })

  it('autoPause: a job that fails too often in a row is paused with the reason, and a success starts the count anew', async () => {
    const { slowNode, clock } = scene('2026-01-01T00:30:00Z')
    const outcomes = ['bad', 'bad', 'good', 'bad', 'bad', 'bad', 'bad']
    const job = defineJob('shaky', { schedule: hourly, autoPause: 3, retry: { max: 0 } }).task('only', () => {
      if (outcomes.shift() === 'bad') throw new Error('it broke')
    })
    const { punctual, probe } = await slowNode({ jobs: [job] })
    await clock.advance('5h')
    expect(await punctual.status(job)).toMatchObject({ paused: false })
    await clock.advance('1h')
    expect(await punctual.status(job)).toMatchObject({ paused: true, enabled: false })
    expect(probe.seen('job.paused')).toMatchObject([{ job: 'shaky', reason: '3 failures in a row' }])
    await clock.advance('2h')
    expect(await punctual.counts({ job })).toMatchObject({ failed: 5, completed: 1, skipped: 2 })
    await punctual.resume(job)
    await clock.advance('1h')
    expect(await punctual.counts({ job })).toMatchObject({ failed: 6 })
  })

  it('startWithin: what has not started in time is missed, busy or without a node', async () => {
    const { slowNode, client, clock } = scene('2026-01-01T00:30:00Z')
    const gate = Promise.withResolvers<void>()
    const slow = defineJob('slow', { executionTimeout: '9h', timeout: '9h' }).task('only', () => gate.promise)
    const urgent = defineJob('urgent', { schedule: hourly, startWithin: '10m', overlap: 'queue' }).task('only', () => 1)
    const { punctual } = await slowNode({ jobs: [slow, urgent], concurrency: 1 })
    // Enough that none of the others is taken before there is a slot for it.
    await punctual.enqueueMany([slow, slow, slow].map((job) => ({ job })))
    await clock.advance('45m')
    const [first] = await historyOf(punctual, 'urgent')
    expect(first).toMatchObject({ state: 'missed' })
    const { id } = await client().punctual.enqueue('nobody-has-it', undefined, { startWithin: '5m' })
    await clock.advance('6m')
    expect(await punctual.get(id)).toMatchObject({ state: 'missed', reason: 'not started in time' })
    gate.resolve()
    await clock.advance('1h')
    expect((await historyOf(punctual, 'urgent')).map(({ state }) => state)).toEqual(['missed', 'completed'])
  })

  it('startWithin counts from when the work was due, and a retry is no late start', async () => {
    const { slowNode, clock } = scene()
    const job = defineJob('work', { startWithin: '1m', retry: { max: 1, interval: '10m' } }).task('only', ({ attempt }) => {
      if (attempt === 1) throw new Error('once')
    })
    const { punctual } = await slowNode({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined, { delay: '1h' })
    await clock.advance('75m')
    expect(await punctual.get(id)).toMatchObject({ state: 'completed' })
  })
})
