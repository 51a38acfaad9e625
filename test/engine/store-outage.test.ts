import { expect, it } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import { interval } from '../../src/schedule/interval.ts'
import type { Store } from '../../src/store/store.ts'
import { newCluster, occurrence } from '../support/cluster.ts'
import { inMemory, onEachStore } from '../support/each-store.ts'

onEachStore('TM-9 the store is away', (newDatabase) => {
  it('at start: start does not fail, health says why, and work begins within 5 s of its return', async () => {
    const { client, clock } = newCluster({ connect: newDatabase() })
    let runs = 0
    const job = defineJob('tick', { schedule: interval('PT1M') }).task('only', () => runs++)
    const { punctual, probe, store } = client({ jobs: [job] })
    store.cut()
    await punctual.start()
    expect(punctual.health).toMatchObject({ state: 'degraded', reasons: [expect.stringContaining('opener: The store was cut')] })
    await clock.advance('10m')
    expect(punctual.health.state).toBe('degraded')
    expect(probe.seen('loop.error').length).toBeGreaterThan(100)
    store.heal()
    await clock.advance('5s')
    expect(punctual.health).toEqual({ state: 'ok', reasons: [] })
    expect((await punctual.status(job)).active).toBe(true)
    await clock.advance('1m')
    expect(runs).toBe(1)
    expect(probe.seen('health.changed').map(({ state }) => state)).toEqual(['degraded', 'ok'])
  })

  it('during a run for a short time: the settlement made meanwhile is not lost, and nothing runs twice', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const work = Promise.withResolvers<string>()
    let runs = 0
    const job = defineJob('work').task('only', ({ payload }) => {
      runs++
      return payload === 'slow' ? work.promise : 'quick'
    })
    const { punctual, probe, store } = await node({ jobs: [job] })
    const slow = await punctual.enqueue(job, 'slow')
    await punctual.enqueue(job, 'later', { delay: '5s' })
    await probe.next('task.started')
    store.cut()
    work.resolve('done')
    await clock.advance('9s')
    expect(punctual.health.state).toBe('degraded')
    expect(runs).toBe(1)
    store.heal()
    await clock.advance('5s')
    expect(punctual.health.state).toBe('ok')
    expect(await occurrence(punctual, slow.id)).toMatchObject({ state: 'completed', result: 'done', turns: [{ turn: 1 }] })
    expect(await punctual.counts({ job })).toMatchObject({ completed: 2 })
    expect(runs).toBe(2)
    expect(probe.seen('node.fenced')).toEqual([])
  })

  it('during a run for a long time: the node stops itself, and all its work is done within 5 s of the return', async () => {
    const { node, clock, pass } = newCluster({ connect: newDatabase() })
    const codes: string[] = []
    let runs = 0
    const job = defineJob('work').task('only', ({ signal, attempt }) => {
      runs++
      if (attempt > 1) return 'again'
      return new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          codes.push(signal.reason.code)
          reject(signal.reason)
        })
      })
    })
    const { punctual, probe, store } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    await probe.next('task.started')
    store.cut()
    await pass(60)
    expect(codes).toEqual(['lost'])
    expect(probe.seen('node.fenced')).toHaveLength(1)
    store.heal()
    await clock.advance('5s')
    expect(await occurrence(punctual, id)).toMatchObject({
      state: 'completed',
      result: 'again',
      turns: [{ end: 'lost' }, { end: 'completed' }],
    })
    expect(runs).toBe(2)
    expect(punctual.health.state).toBe('ok')
  })

  it('for an hour: every scheduled instant is run once after its return', async () => {
    const { node, clock, pass } = newCluster({ connect: newDatabase() })
    const instants: number[] = []
    const job = defineJob('tick', { schedule: interval('PT5M') }).task(
      'only',
      ({ scheduledAt }) => void instants.push(scheduledAt.getTime()),
    )
    const { store, punctual } = await node({ jobs: [job] })
    const start = clock.wall()
    await clock.advance('11m')
    store.cut()
    await clock.advance('1h')
    store.heal()
    await pass(5)
    await punctual.idle()
    expect(instants.map((at) => (at - start) / 300_000)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14])
  })

  it('F56 a failure of any one call ends no loop', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const job = defineJob('tick', { schedule: interval('PT1S') }).task('only', () => 1)
    const { punctual, store } = await node({ jobs: [job] })
    for (const verb of ['claim', 'settle', 'beat', 'nodes', 'rescue', 'jobsToPlan', 'plan', 'prune', 'readJobs'] as const) {
      store.loseAnswer(verb)
      await clock.advance('61s')
    }
    await clock.advance('5s')
    await punctual.idle()
    const { completed } = await punctual.counts({ job })
    expect(completed).toBe(9 * 61 + 5)
    expect(punctual.health.state).toBe('ok')
  })

  it('is logged once when it begins and once when it ends, with how long it lasted', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const { punctual, store, log } = await node({
      jobs: [defineJob('tick', { schedule: interval('PT1M') }).task('only', () => 1)],
    })
    await clock.advance('30s')
    store.cut()
    await clock.advance('10m')
    await punctual.enqueue('tick').catch(() => {})
    store.heal()
    await clock.advance('30s')
    const lines = log.filter(({ message }) => message.startsWith('The store'))
    expect(lines.map(({ level, message }) => `${level}: ${message}`)).toEqual([
      'error: The store does not answer; this node keeps trying',
      'warn: The store answers again',
    ])
    expect((lines.at(-1) as { fields: { lastedMs: number } }).fields.lastedMs).toBeGreaterThan(500_000)
  })

  it('while a node learns of a change to a job: it asks again', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const job = defineJob('work').task('only', () => 1)
    const { punctual, store } = await node({ jobs: [job] })
    await clock.advance('1s')
    const before = store.calls('readVersions')
    store.loseAnswer('readVersions')
    await (await node()).punctual.update(job, { priority: 2 })
    await clock.advance('30s')
    expect(store.calls('readVersions') - before).toBeGreaterThanOrEqual(2)
    expect(punctual.health.state).toBe('ok')
  })

  it('while work is enqueued: the caller is told, and nothing hangs', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const job = defineJob('work').task('only', () => 1)
    const { punctual, store } = await node({ jobs: [job] })
    store.cut()
    await expect(punctual.enqueue(job, undefined)).rejects.toMatchObject({ code: 'store.unreachable' })
    await expect(punctual.counts()).rejects.toMatchObject({ code: 'store.unreachable' })
  })
})

it('F17 a version that a failover loses before it was read back is declared again', async () => {
  const [primary, standby] = [inMemory()(), inMemory()()]
  let current = primary
  const leading = new Proxy({} as Store, {
    get(_, name) {
      const value = current[name as keyof Store]
      return typeof value === 'function' ? value.bind(current) : value
    },
  })
  const { node, client, clock } = newCluster({ connect: () => leading })
  const job = (priority: number) => defineJob('report', { priority }).task('only', () => {})
  for (const database of [primary, standby]) {
    current = database
    const { punctual } = await node({ jobs: [job(5)] })
    await punctual.stop()
  }
  current = primary
  const { punctual, store } = client({ jobs: [job(2)] })
  store.refuse('beat', () => {
    if (current === standby || store.calls('putJob') === 0) return false
    current = standby
    return true
  })
  await punctual.start()
  await clock.advance('10s')
  expect(current).toBe(standby)
  expect(await punctual.versions('report')).toHaveLength(2)
})
