import { setTimeout as realWait } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import { cron } from '../../src/schedule/cron.ts'
import { newCluster, occurrence } from '../support/cluster.ts'
import { onEachStore } from '../support/each-store.ts'

const day = 86_400_000

onEachStore('a manual clock under an engine', (newDatabase, store) => {
  it('one advance runs every retry at its instant', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const at: number[] = []
    const job = defineJob('shaky', { retry: { max: 3, interval: '2s', factor: 2, jitter: 0 } }).task('only', ({ fail }) => {
      at.push(clock.mono())
      fail('no luck')
    })
    const { punctual } = await node({ jobs: [job] })
    await punctual.enqueue(job, undefined)
    await clock.advance('1m')
    expect(at).toEqual([0, 2000, 6000, 14_000])
  })

  it('an empty day takes few looks at the store', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const one = await node({ jobs: [defineJob('idle').task('only', () => 1)] })
    const verbs = ['beat', 'nodes', 'peek', 'prune', 'jobsToPlan'] as const
    const calls = () => verbs.reduce((sum, verb) => sum + one.store.calls(verb), 0)
    const before = calls()
    await clock.advance('1d')
    expect(calls() - before).toBeLessThan(20)
    expect(one.probe.seen('node.fenced')).toEqual([])
  })

  it('30 days of a daily job stop only at its instants, and none of them counts as missed', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const at: number[] = []
    const job = defineJob('daily', { schedule: cron('0 3 * * *', { timezone: 'UTC' }), recovery: 'mark-missed' }).task(
      'only',
      ({ startedAt, scheduledAt }) => void at.push(startedAt.getTime() - scheduledAt.getTime()),
    )
    const one = await node({ jobs: [job] })
    const before = one.store.calls('beat')
    await clock.advance(30 * day)
    expect(at).toEqual(Array.from({ length: 30 }, () => 0))
    expect(one.store.calls('beat') - before).toBeLessThan(30 * 6)
    const { items } = await one.punctual.list({ job, limit: 100 })
    expect(items.map(({ state, source }) => `${state} ${source}`)).toEqual(Array.from({ length: 30 }, () => 'completed schedule'))
  })

  it('a planned instant that is due long after its planning is not stranded', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const job = defineJob('spread', {
      schedule: cron('0 * * * *', { timezone: 'UTC', spread: '20m' }),
      recovery: 'mark-missed',
    }).task('only', () => 1)
    const { punctual } = await node({ jobs: [job], node: { heartbeat: '1s', timeout: '3s' } })
    await clock.advance('6h')
    const { items } = await punctual.list({ job, limit: 100 })
    const due = items.filter(({ dueAt }) => dueAt.getTime() <= clock.wall())
    expect(due.length).toBeGreaterThan(4)
    expect(new Set(due.map(({ state, source }) => `${state} ${source}`))).toEqual(new Set(['completed schedule']))
  })

  it('several nodes stay alive through an advance of a day, and a crashed one is found in it', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const job = defineJob('stuck', { executionTimeout: '2d', timeout: '2d' }).task('only', ({ attempt }) =>
      attempt === 1 ? new Promise(() => {}) : 'again',
    )
    const first = await node({ jobs: [job], node: { timeout: '50m', heartbeat: '5m' } })
    const { id } = await first.punctual.enqueue(job, undefined)
    await first.probe.next('task.started')
    const second = await node({ jobs: [job], node: { timeout: '50m', heartbeat: '5m' }, name: 'second' })
    await clock.advance('12h')
    for (const { probe } of [first, second]) expect([...probe.seen('node.fenced'), ...probe.seen('node.gone')]).toEqual([])
    first.store.freeze()
    await clock.advance('12h')
    expect(second.probe.seen('node.gone')).toHaveLength(1)
    expect(await occurrence(second.punctual, id)).toMatchObject({ state: 'completed', result: 'again' })
  })

  it('waits for real timers and I/O in handlers before time moves on', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const seen: [number, number][] = []
    const job = defineJob('io', { timeout: '1s' }).task('only', async ({ attempt }) => {
      const begunAt = clock.mono()
      await realWait(60)
      await import('node:fs/promises').then(({ readFile }) => readFile(new URL(import.meta.url)))
      seen.push([attempt, clock.mono() - begunAt])
      return 'done'
    })
    const { punctual } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined, { delay: '10m' })
    await clock.advance('1h')
    expect(seen).toEqual([[1, 0]])
    expect(await occurrence(punctual, id)).toMatchObject({ state: 'completed', result: 'done' })
  })

  it('lets a timeout pass for a handler that waits for nothing real', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const job = defineJob('hang', { timeout: '1m', retry: { max: 0 } }).task('only', () => new Promise(() => {}))
    const { punctual } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    await clock.advance('2m')
    expect((await occurrence(punctual, id)).tasks[0]?.attempts).toMatchObject([{ state: 'timeout' }])
  })

  it.runIf(store === 'memory')('names the handler that takes too much real time', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const job = defineJob('endless').task('forever', () => realWait(3_600_000, undefined, { ref: true }))
    const { punctual } = await node({ jobs: [job] })
    await punctual.enqueue(job, undefined, { delay: '1s' })
    await expect(clock.advance('1m')).rejects.toThrow(
      /task forever of job endless has waited for 4000 ms of real time \(Timeout\)/,
    )
  })

  it('close() ends although a handler ignores its signal and nobody moves the clock', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const job = defineJob('deaf').task('only', () => new Promise(() => {}))
    const { punctual, probe } = await node({ jobs: [job] })
    await punctual.enqueue(job, undefined)
    await probe.next('task.started')
    await punctual.close()
  })
})
