import { expect, it } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import { historyOf, onStores } from './stores.ts'

/** A job that counts how many of it run at once. */
function counting(name: string, options: Parameters<typeof defineJob>[1] = {}) {
  const seen = { atOnce: 0, most: 0, starts: [] as number[] }
  const gates: (() => void)[] = []
  const job = defineJob(name, options).task('only', async (ctx) => {
    seen.most = Math.max(seen.most, ++seen.atOnce)
    seen.starts.push(ctx.startedAt.getTime())
    const { promise, resolve } = Promise.withResolvers<void>()
    gates.push(resolve)
    await promise
    seen.atOnce--
  })
  return { job, seen, gates, endAll: () => gates.splice(0).forEach((end) => void end()) }
}

onStores('JB-8 limits of the whole cluster', (scene) => {
  it('concurrency holds over nodes, jobs and processes that lack the definition', async () => {
    const { node, client, clock } = scene()
    const { job, seen, endAll } = counting('api', { concurrency: { key: 'vendor', limit: 2 } })
    await node({ jobs: [job] })
    await node({ jobs: [job] })
    await clock.advance('1s')
    const stranger = client().punctual
    for (let n = 0; n < 6; n++) await stranger.enqueue('api', n)
    await clock.advance('2s')
    expect(seen.atOnce).toBe(2)
    expect(await stranger.counts({ job: 'api' })).toMatchObject({ running: 2, waiting: 4 })
    for (let n = 0; n < 3; n++) {
      endAll()
      await clock.advance('1s')
    }
    expect(await stranger.counts({ job: 'api' })).toMatchObject({ completed: 6 })
    expect(seen.most).toBe(2)
  })

  it('a concurrency key given with the work is its own', async () => {
    const { node, clock } = scene()
    const { job, seen, endAll } = counting('api')
    const { punctual } = await node({ jobs: [job] })
    for (const customer of ['a', 'a', 'b']) await punctual.enqueue(job, undefined, { concurrency: { key: customer, limit: 1 } })
    await clock.advance('1s')
    expect(seen.atOnce).toBe(2)
    endAll()
    await clock.advance('1s')
    expect(seen.starts).toHaveLength(3)
  })

  it('limits given with work of a job that nobody has declared yet hold once somebody has', async () => {
    const { node, client, clock } = scene()
    const stranger = client().punctual
    for (let n = 0; n < 3; n++) await stranger.enqueue('api', n, { concurrency: { key: 'vendor', limit: 1 } })
    const { job, seen, endAll } = counting('api')
    await node({ jobs: [job] })
    await clock.advance('2s')
    expect(seen.atOnce).toBe(1)
    endAll()
  })

  it('rate: no more than the limit starts in any window, over two nodes, and nothing is lost', async () => {
    const { node, client, clock } = scene()
    const { job, seen, endAll } = counting('mail', { rate: { key: 'smtp', limit: 3, per: '10s' } })
    await node({ jobs: [job] })
    await node({ jobs: [job] })
    await clock.advance('1s')
    const stranger = client().punctual
    for (let n = 0; n < 10; n++) await stranger.enqueue('mail', n)
    for (let n = 0; n < 45; n++) {
      await clock.advance('1s')
      endAll()
    }
    await clock.advance('1s')
    expect(await stranger.counts({ job: 'mail' })).toMatchObject({ completed: 10 })
    for (const at of seen.starts)
      expect(seen.starts.filter((other) => other >= at && other < at + 10_000).length).toBeLessThanOrEqual(3)
  })

  it('clusterConcurrency bounds what runs on all nodes together', async () => {
    const { node, clock } = scene()
    const { job, seen, endAll } = counting('any')
    const one = await node({ jobs: [job], clusterConcurrency: 3 })
    await node({ jobs: [job], clusterConcurrency: 3 })
    await one.punctual.enqueueMany(Array.from({ length: 9 }, () => ({ job })))
    for (let n = 0; n < 6; n++) {
      await clock.advance('2s')
      expect(seen.atOnce).toBeLessThanOrEqual(3)
      endAll()
    }
    await clock.advance('2s')
    expect(await one.punctual.counts({ job })).toMatchObject({ completed: 9 })
    expect(seen.most).toBe(3)
  })

  it('F16 a crashed node gives back the keys and slots that its work held', async () => {
    const { node, clock, crash } = scene()
    const first = counting('api', { concurrency: { key: 'vendor', limit: 1 } })
    const one = await node({ jobs: [first.job] })
    await one.punctual.enqueue(first.job, undefined)
    await clock.advance('1s')
    expect(first.seen.atOnce).toBe(1)
    crash(one)
    const second = counting('api', { concurrency: { key: 'vendor', limit: 1 } })
    const two = await node({ jobs: [second.job] })
    await two.punctual.enqueue(second.job, undefined)
    await clock.advance('40s')
    expect(second.seen.starts).toHaveLength(1)
    second.endAll()
    await clock.advance('2s')
    second.endAll()
    await clock.advance('2s')
    expect(await two.punctual.counts({ job: 'api' })).toMatchObject({ completed: 2, waiting: 0, running: 0 })
  })

  it('canceling, discarding and expiring a holder or a waiting one lets the next go', async () => {
    const { node, clock } = scene()
    const { job, seen, endAll } = counting('api', { concurrency: { key: 'vendor', limit: 1 }, retry: { max: 1, interval: '1h' } })
    const { punctual } = await node({ jobs: [job] })
    const { id: a } = await punctual.enqueue(job, 'a')
    await clock.advance('1s')
    const { id: b } = await punctual.enqueue(job, 'b')
    const { id: c } = await punctual.enqueue(job, 'c', { startWithin: '30s' })
    const { id: d } = await punctual.enqueue(job, 'd')
    await clock.advance('1s')
    expect(await punctual.cancel(b)).toBe('canceled')
    await clock.advance('40s')
    expect(await punctual.get(c)).toMatchObject({ state: 'missed', reason: 'not started in time' })
    endAll()
    await clock.advance('1s')
    expect(await punctual.get(a)).toMatchObject({ state: 'completed' })
    expect(await punctual.get(d)).toMatchObject({ state: 'running' })
    expect(seen.most).toBe(1)
    endAll()
  })

  it('work under the limits keeps its order', async () => {
    const { node, clock } = scene()
    const order: unknown[] = []
    const job = defineJob('api', { concurrency: { key: 'k', limit: 1 } }).task('only', async ({ payload }) => {
      order.push(payload)
      await clock.settle()
    })
    const { punctual } = await node({ jobs: [job] })
    await punctual.enqueueMany([1, 2, 3, 4, 5].map((payload) => ({ job, payload })))
    await clock.advance('5s')
    await punctual.idle()
    expect(order).toEqual([1, 2, 3, 4, 5])
    expect((await historyOf(punctual, 'api')).every(({ turn }) => turn === 1)).toBe(true)
  })
})
