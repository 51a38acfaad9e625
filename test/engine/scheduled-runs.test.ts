import { expect, it } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import { cron } from '../../src/schedule/cron.ts'
import { interval } from '../../src/schedule/interval.ts'
import { once } from '../../src/schedule/once.ts'
import { newCluster } from '../support/cluster.ts'
import { onEachStore } from '../support/each-store.ts'

onEachStore('JB-3 scheduled instants', (newDatabase) => {
  it('run exactly once each across two nodes, with deterministic ids', async () => {
    const { node, clock } = newCluster({ connect: newDatabase(), start: '2026-03-01T00:00:00Z' })
    const seen: string[] = []
    const job = () =>
      defineJob('tick', { schedule: cron('*/1 * * * *') }).task(
        'only',
        ({ scheduledAt, source }) => void seen.push(`${scheduledAt.toISOString()} ${source}`),
      )
    const first = await node({ jobs: [job()] })
    const second = await node({ jobs: [job()], name: 'second' })
    await clock.advance('10m')
    await first.punctual.idle()
    expect(seen.toSorted()).toEqual(
      Array.from({ length: 10 }, (_, at) => `2026-03-01T00:${String(at + 1).padStart(2, '0')}:00.000Z schedule`),
    )
    expect(await first.punctual.counts({ job: 'tick' })).toMatchObject({ completed: 10, pending: 0 })
    const planned = [...first.probe.seen('job.planned'), ...second.probe.seen('job.planned')]
    expect(planned.reduce((sum, { count }) => sum + count, 0)).toBe(10)
    expect(planned[0]).toMatchObject({ tenant: 'default', job: 'tick', count: 1 })
  })

  it('F39 that fell into a downtime all run once, oldest first, flagged as recovery', async () => {
    const { node, clock } = newCluster({ connect: newDatabase(), start: '2026-03-01T00:00:00Z' })
    const seen: [number, string][] = []
    const start = clock.wall()
    const job = () =>
      defineJob('tick', { schedule: interval('PT1H') }).task(
        'only',
        ({ scheduledAt, source }) => void seen.push([(scheduledAt.getTime() - start) / 3_600_000, source]),
      )
    const first = await node({ jobs: [job()], concurrency: 1 })
    await clock.advance('150m')
    await first.punctual.stop()
    await clock.advance('5h')
    const second = await node({ jobs: [job()], concurrency: 1 })
    await second.punctual.idle()
    await clock.advance('30m')
    expect(seen).toEqual([
      [1, 'schedule'],
      [2, 'schedule'],
      [3, 'recovery'],
      [4, 'recovery'],
      [5, 'recovery'],
      [6, 'recovery'],
      [7, 'recovery'],
      [8, 'schedule'],
    ])
  })

  it('rule 5: planned ahead and due while no node was there wait for the planner, then run once', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    let runs = 0
    const job = () => defineJob('tick', { schedule: interval('PT5S') }).task('only', () => ++runs)
    const first = await node({ jobs: [job()] })
    await first.punctual.stop()
    expect((await first.punctual.counts()).pending).toBe(2)
    await clock.advance('1m')
    const second = await node({ jobs: [job()] })
    await second.punctual.idle()
    expect(runs).toBe(12)
    expect(second.punctual.health.state).toBe('ok')
  })

  it('of a job without a schedule are none, once fires once, and a schedule given later begins then', async () => {
    const { node, clock } = newCluster({ connect: newDatabase(), start: '2026-03-01T00:00:00Z' })
    const seen: string[] = []
    const job = defineJob('report').task('only', ({ job: name, payload }) => void seen.push(`${name} ${payload}`))
    const { punctual } = await node({ jobs: [job] })
    await clock.advance('1h')
    await punctual.schedule(job, once('2026-03-01T02:00:00Z'), { name: 'report/once', payload: 1 })
    const answer = await punctual.schedule(job, interval('PT1H'), { name: 'report/hourly', payload: 2 })
    expect(answer).toMatchObject({
      job: 'report/hourly',
      version: 1,
      outcome: 'created',
      nextRun: new Date('2026-03-01T02:00:00Z'),
    })
    expect(await punctual.schedule(job, interval('PT1H'), { name: 'report/hourly', payload: 2 })).toMatchObject({
      version: 1,
      outcome: 'unchanged',
    })
    await clock.advance('150m')
    await punctual.idle()
    expect(seen.toSorted()).toEqual(['report/hourly 2', 'report/hourly 2', 'report/once 1'])
    expect(await punctual.schedule(job, interval('PT30M'), { name: 'report/hourly', payload: 3 })).toMatchObject({
      version: 2,
      outcome: 'updated',
    })
    await clock.advance('30m')
    await punctual.idle()
    expect(seen.at(-1)).toBe('report/hourly 3')
  })

  it('F63 are planned by any node, and run only where the handler is', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    let runs = 0
    const planner = await node({ jobs: [defineJob('tick', { schedule: interval('PT1M'), overlap: 'allow' }).task('only')] })
    await clock.advance('3m')
    expect(await planner.punctual.counts({ job: 'tick' })).toMatchObject({ pending: 3 })
    const worker = await node({ jobs: [], handlers: { tick: () => ++runs } })
    worker.punctual.define(defineJob('tick', { schedule: interval('PT1M'), overlap: 'allow' }).task('only'))
    await clock.settle()
    await worker.punctual.idle()
    expect(runs).toBe(3)
  })
})
