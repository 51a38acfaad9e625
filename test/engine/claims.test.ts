import { expect, it } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import { newCluster, occurrence } from '../support/cluster.ts'
import { onEachStore } from '../support/each-store.ts'

onEachStore('TM-5, JB-17 claims', (newDatabase) => {
  it('take by priority, then by due time', async () => {
    const { client, clock } = newCluster({ connect: newDatabase() })
    const seen: unknown[] = []
    const job = defineJob('work').task('only', ({ payload }) => void seen.push(payload))
    const { punctual } = client({ jobs: [job], concurrency: 1 })
    await punctual.enqueue(job, 'late', { delay: '2s' })
    await punctual.enqueue(job, 'early', { delay: '1s' })
    await punctual.enqueue(job, 'low', { priority: 9 })
    await punctual.enqueue(job, 'high', { delay: '3s', priority: 0 })
    await clock.advance('5s')
    await punctual.start()
    while (seen.length < 4) await clock.settle()
    expect(seen).toEqual(['high', 'early', 'late', 'low'])
  })

  it('run no more at once than concurrency allows, and depth tells', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const gates: PromiseWithResolvers<void>[] = []
    let most = 0
    let running = 0
    const job = defineJob('work').task('only', async () => {
      most = Math.max(most, ++running)
      const gate = Promise.withResolvers<void>()
      gates.push(gate)
      await gate.promise
      running--
    })
    const { punctual } = await node({ jobs: [job], concurrency: 3 })
    await punctual.enqueueMany(Array.from({ length: 12 }, () => ({ job })))
    await clock.settle()
    expect(punctual.depth.running).toBe(3)
    while (gates.length > 0) {
      gates.shift()?.resolve()
      await clock.settle()
    }
    await punctual.idle()
    expect(most).toBe(3)
    expect(await punctual.counts({ job })).toMatchObject({ completed: 12 })
    expect(punctual.depth).toEqual({ running: 0, queued: 0 })
  })

  it('of two nodes share the work, and each occurrence runs once', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const seen: unknown[] = []
    const job = (name: string) => defineJob('work').task('only', async ({ payload }) => void seen.push([payload, name]))
    const first = await node({ jobs: [job('first')], concurrency: 2 })
    const second = await node({ jobs: [job('second')], concurrency: 2, name: 'second' })
    await first.punctual.enqueueMany(
      Array.from({ length: 200 }, (_, payload) => ({ job: 'work', payload, delay: payload % 2 ? 0 : '1s' })),
    )
    await clock.advance('2s')
    await first.punctual.idle()
    await second.punctual.idle()
    expect(seen.map(([payload]: any) => payload).toSorted((a, b) => a - b)).toEqual(Array.from({ length: 200 }, (_, at) => at))
  })

  it('whose answer is on its way count as work', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const seen: unknown[] = []
    const job = defineJob('work').task('only', ({ payload }) => void seen.push(payload))
    // With a custom pick no claim travels with a creation.
    const { punctual, store } = await node({ jobs: [job], pick: () => [{ limit: 10 }] })
    const answer = store.holdAnswer('claim')
    await punctual.enqueue(job, 'one')
    while ((await punctual.counts({ job })).running === 0) await Promise.resolve()
    const idle = punctual.idle().then(() => seen.push('idle'))
    // By then the look that idle() takes has long been answered.
    for (let looks = 0; looks < 10; looks++) await store.peek({ kinds: ['work'] })
    answer()
    await idle
    expect(seen).toEqual(['one', 'idle'])
  })

  it('TM-4 go on while handlers take their time', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const job = defineJob('work').task('only', ({ payload }) => (payload === 'slow' ? new Promise(() => {}) : 'quick'))
    const { punctual, probe } = await node({ jobs: [job], concurrency: 2 })
    await punctual.enqueue(job, 'slow')
    await clock.advance('10s')
    const { id } = await punctual.enqueue(job, 'quick')
    expect((await probe.next('occurrence.completed')).id).toBe(id)
  })

  it('F08 go on when a running one was canceled from outside', async () => {
    const { node, client, clock } = newCluster({ connect: newDatabase() })
    const job = defineJob('work').task('only', ({ payload, signal }) =>
      payload === 'slow' ? new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))) : 'quick',
    )
    const { punctual, probe } = await node({ jobs: [job], concurrency: 1 })
    const slow = await punctual.enqueue(job, 'slow')
    await probe.next('task.started')
    const next = await punctual.enqueue(job, 'next')
    await client().punctual.cancel(slow.id)
    await clock.advance('6s')
    expect((await occurrence(punctual, next.id)).state).toBe('completed')
  })

  it('that find no slot for a second are given back, so that another node runs them', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const gate = Promise.withResolvers<void>()
    const job = defineJob('mixed').task('only', async ({ payload }) => {
      if (payload === 'long') await gate.promise
    })
    const busy = await node({ jobs: [job], concurrency: 1 })
    await busy.punctual.enqueue(job, 'long')
    await clock.advance('1s')
    const ids = await busy.punctual.enqueueMany(['a', 'b', 'c'].map((payload) => ({ job, payload })))
    await clock.settle()
    const free = await node({ jobs: [job], concurrency: 1 })
    await clock.advance('5s')
    for (const { id } of ids) expect((await occurrence(free.punctual, id)).state).toBe('completed')
    gate.resolve()
    await clock.advance('1s')
    expect(await free.punctual.counts()).toMatchObject({ completed: 4 })
  })

  it('of long queues come with the ends of what ran before, twice as many each time', async () => {
    const { client, clock } = newCluster({ connect: newDatabase() })
    const queued: number[] = []
    const job = defineJob('work').task('only', () => void queued.push(store.calls('claim')))
    const { punctual, store } = client({ jobs: [job], concurrency: 10 })
    await client().punctual.enqueueMany(Array.from({ length: 70 }, (_, payload) => ({ job, payload })))
    await punctual.start()
    while (queued.length < 70) await clock.settle()
    expect(new Set(queued).size).toBe(1)
    // 10, 20 and 40, one for each settlement.
    expect(store.calls('settle')).toBeLessThanOrEqual(8)
  })

  it('of a pass by hand wait for their slot, however long that takes', async () => {
    const { client, clock } = newCluster({ connect: newDatabase() })
    const job = defineJob('slow').task('only', () => new Promise<void>((resolve) => void clock.timer(5000, resolve)))
    const { punctual } = client({ jobs: [job], concurrency: 1 })
    await punctual.enqueueMany([1, 2, 3].map((payload) => ({ job, payload })))
    const summary = punctual.runDue()
    await clock.advance('20s')
    expect(await summary).toMatchObject({ claimed: 3, succeeded: 3 })
  })

  it.each([
    ['clusterConcurrency', { clusterConcurrency: 5 }],
    ['pick', { pick: 'fair' as const }],
  ])('with %s take no more than the free slots, and follow each end at once', async (_, options) => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    let most = 0
    let done = 0
    const job = defineJob('work').task('only', () => {
      most = Math.max(most, punctual.depth.queued)
      done++
    })
    const { punctual } = await node({ jobs: [job], concurrency: 5, ...options })
    await punctual.enqueueMany(Array.from({ length: 40 }, () => ({ job })))
    const from = clock.wall()
    await punctual.idle()
    expect([done, clock.wall() - from]).toEqual([40, 0])
    expect(most).toBeLessThan(5)
  })

  it('follow a hint of work that is due already without a timer', async () => {
    const { node, client, clock } = newCluster({ connect: newDatabase() })
    const job = defineJob('work').task('only', () => 1)
    const { probe } = await node({ jobs: [job] })
    const { id } = await client().punctual.enqueue(job, undefined)
    const at = clock.wall()
    expect((await probe.next('occurrence.completed')).id).toBe(id)
    expect(clock.wall()).toBe(at)
  })

  it('travel with the end before them: after the first no other is sent by itself', async () => {
    const { client, clock } = newCluster({ connect: newDatabase() })
    const claims: number[] = []
    const job = defineJob('work').task('only', () => void claims.push(store.calls('claim')))
    const { punctual, store } = client({ jobs: [job], concurrency: 1 })
    await client().punctual.enqueueMany(Array.from({ length: 5 }, () => ({ job })))
    await punctual.start()
    while (claims.length < 5) await clock.settle()
    expect(claims.map((count) => count - (claims[0] as number))).toEqual([0, 0, 0, 0, 0])
  })

  it('of work that waits for a key travel with the end that frees it', async () => {
    const { client, clock } = newCluster({ connect: newDatabase() })
    const claims: number[] = []
    const job = defineJob('work', { concurrency: { key: 'one', limit: 1 } }).task(
      'only',
      () => void claims.push(store.calls('claim')),
    )
    const { punctual, store } = client({ jobs: [job] })
    await client({ jobs: [job] }).punctual.enqueueMany(Array.from({ length: 5 }, () => ({ job })))
    await punctual.start()
    while (claims.length < 5) await clock.settle()
    expect(claims.map((count) => count - (claims[0] as number))).toEqual([0, 0, 0, 0, 0])
  })

  it('travel with the creation of work that the node can run at once', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const job = defineJob('work').task('only', () => 1)
    const { punctual, probe, store } = await node({ jobs: [job] })
    const letThrough = store.hold('claim')
    const { id } = await punctual.enqueue(job, undefined)
    expect((await probe.next('occurrence.completed')).id).toBe(id)
    letThrough()
  })

  it('do not travel with the writes of a pass by hand, which has a limit', async () => {
    const { client } = newCluster({ connect: newDatabase() })
    const job = defineJob('work').task('only', () => 1)
    const { punctual } = client({ jobs: [job] })
    await punctual.enqueueMany(Array.from({ length: 5 }, () => ({ job })))
    expect(await punctual.runDue({ limit: 2 })).toMatchObject({ claimed: 2, succeeded: 2 })
    expect(await punctual.counts({ job })).toMatchObject({ completed: 2, pending: 3 })
  })

  it('that travel with ends leave room for timers, also where the store answers at once', async () => {
    const { client } = newCluster({ connect: newDatabase() })
    let done = 0
    const job = defineJob('work').task('only', () => void done++)
    await client().punctual.enqueueMany(Array.from({ length: 2000 }, () => ({ job })))
    const { punctual } = client({ jobs: [job], concurrency: 1 })
    await punctual.start()
    while (done === 0) await new Promise(setImmediate)
    await new Promise(setImmediate)
    expect(done).toBeLessThan(2000)
    await punctual.idle()
    expect(done).toBe(2000)
  })
})
