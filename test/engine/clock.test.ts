import { describe, expect, it } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import { interval } from '../../src/schedule/interval.ts'
import { newCluster, occurrence } from '../support/cluster.ts'
import { onEachStore } from '../support/each-store.ts'

const hour = 3_600_000

onEachStore('TM-13 time', (newDatabase) => {
  it('nothing starts early by the clock of the store, and work starts at its due instant', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const started: number[] = []
    const job = defineJob('timer').task(
      'only',
      ({ startedAt, scheduledAt }) => void started.push(startedAt.getTime() - scheduledAt.getTime()),
    )
    const { punctual, probe } = await node({ jobs: [job] })
    for (const ms of [1, 17, 999, 1000, 1001, 2500]) await punctual.enqueue(job, undefined, { delay: ms })
    await clock.advance('16ms')
    expect(started).toEqual([0])
    for (let passed = 0; passed < 26; passed++) await clock.advance('100ms')
    await punctual.idle()
    expect(started).toEqual([0, 0, 0, 0, 0, 0])
    expect(probe.seen('occurrence.started').map(({ latenessMs }) => latenessMs)).toEqual([0, 0, 0, 0, 0, 0])
  })

  it('F45 a wall that jumps back an hour repeats no instant', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const seen: number[] = []
    const job = defineJob('tick', { schedule: interval('PT10M') }).task(
      'only',
      ({ scheduledAt }) => void seen.push(scheduledAt.getTime()),
    )
    const { punctual, probe } = await node({ jobs: [job] })
    await clock.advance('31m')
    expect(seen).toHaveLength(3)
    clock.jump(-hour)
    await clock.advance('2h')
    expect(new Set(seen).size).toBe(seen.length)
    expect(seen).toHaveLength(9)
    expect(probe.seen('node.fenced')).toEqual([])
    expect(punctual.health.state).toBe('ok')
  })

  it('a wall that jumps forth an hour loses no instant, kills no node and repeats nothing', async () => {
    const { node, clock, pass } = newCluster({ connect: newDatabase() })
    const seen: number[] = []
    const work = Promise.withResolvers<void>()
    let longRuns = 0
    const tick = defineJob('tick', { schedule: interval('PT10M') }).task(
      'only',
      ({ scheduledAt }) => void seen.push(scheduledAt.getTime()),
    )
    const long = defineJob('long', { timeout: '2h', executionTimeout: '3h' }).task('only', () => {
      longRuns++
      return work.promise
    })
    const first = await node({ jobs: [tick, long] })
    const second = await node({ jobs: [tick, long], name: 'second' })
    const { id } = await first.punctual.enqueue(long, undefined)
    await clock.advance('5s')
    clock.jump(hour)
    await pass(30)
    expect([
      ...first.probe.seen('node.gone'),
      ...second.probe.seen('node.gone'),
      ...first.probe.seen('node.fenced'),
      ...second.probe.seen('node.fenced'),
    ]).toEqual([])
    work.resolve()
    await pass(2)
    expect(seen).toHaveLength(6)
    expect(new Set(seen).size).toBe(6)
    expect(longRuns).toBe(1)
    expect((await occurrence(first.punctual, id)).state).toBe('completed')
  })
})

describe('F50, F53 timers of 400 days', () => {
  it('fire at their instant, once, and wake nobody much before', async () => {
    const { node, clock } = newCluster()
    const started: Date[] = []
    const job = defineJob('far').task('only', ({ startedAt }) => void started.push(startedAt))
    const { punctual } = await node({ jobs: [job], node: { heartbeat: '12h', timeout: '36h' } })
    const { id } = await punctual.enqueue(job, undefined, { delay: '400d' })
    const dueAt = (await occurrence(punctual, id)).dueAt
    await punctual.stop()
    await clock.advance('399d')
    await punctual.start()
    await clock.advance('23h')
    expect(started).toEqual([])
    await clock.advance('1h')
    expect(started).toEqual([dueAt])
  })
})
