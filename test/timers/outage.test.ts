import { describe, expect, it, onTestFinished } from 'vitest'
import { local } from '../../src/broker/local/index.ts'
import { createPunctual } from '../../src/client/punctual.ts'
import { memory } from '../../src/store/memory/index.ts'
import { manualClock } from '../../src/testing/manual-clock.ts'
import { createTimers } from '../../src/timers/timers.ts'
import { onEachStore } from '../support/each-store.ts'
import { FlakyBroker, TimersScene } from './scene.ts'

describe('TS-11 a responder that cannot be made', () => {
  it('leaves commands working, and answers once it can be', async () => {
    const clock = manualClock('2026-11-18T03:00:00.000Z')
    const broker = new FlakyBroker(local({ clock }))
    broker.isSilent = true
    const log = { debug() {}, info() {}, warn() {}, error() {} }
    const punctual = createPunctual({ store: memory(), clock, log })
    const timers = createTimers({ punctual, broker }).start()
    onTestFinished(async () => {
      await timers.stop()
      await punctual.close()
    })
    await punctual.start()
    const command = { tenantId: 'acme', serviceCallId: 'call', dueAt: '2026-11-18T04:00:00Z' }
    await broker.publish([{ channel: { name: 'timers.commands', kind: 'queue' }, id: '1', body: JSON.stringify(command) }])
    await clock.advance(1000)
    expect(timers.metrics.schedulesProcessed.created).toBe(1)
    expect((await timers.health()).commands).toMatchObject({ isOk: true })
    broker.isSilent = false
    await clock.advance('10s')
    const answer = await broker.request('timers.commands.when', JSON.stringify(command), 1000)
    expect(JSON.parse(answer)).toMatchObject({ state: 'scheduled' })
  })
})

/** Due while the broker is away. More: TIMERS=5000. */
const count = Number(process.env.TIMERS ?? 300)

onEachStore('TS-11 an outage of ten minutes', (newDatabase) => {
  it('buries none of the timers that come due in it, and counts no attempt; the oldest fire first, without a storm', async () => {
    const scene = await TimersScene.open({}, { store: newDatabase()(), concurrency: 50 })
    const dueAt = (n: number) => new Date(scene.clock.wall() + 1000 + n).toISOString()
    const commands = Array.from({ length: count }, (_, n) => ({
      tenantId: `t-${n % 7}`,
      serviceCallId: `call-${n}`,
      dueAt: dueAt(n),
    }))
    await scene.sendTogether(...commands)
    expect(scene.timers.metrics.schedulesProcessed.created).toBe(count)
    const before = scene.broker.publishes
    scene.broker.isAway = true
    await scene.clock.advance('10m')
    // Those that were under way as the broker went; then only its health is asked for.
    expect(scene.broker.publishes - before).toBeLessThanOrEqual(50)
    expect(await scene.timers.overview()).toMatchObject({ pending: count, dead: 0, fired: 0 })
    scene.broker.isAway = false
    await scene.clock.advance('1m')
    expect(await scene.timers.overview()).toMatchObject({ pending: 0, dead: 0, fired: count })
    const order = scene.firedIds.map((id) => Number(id.slice(5)))
    expect(new Set(order).size).toBe(count)
    // 50 are published at once, in any order.
    for (const [at, n] of order.entries()) expect(Math.abs(at - n)).toBeLessThanOrEqual(100)
    for (const n of [0, count - 1]) {
      const target = { tenant: `t-${n % 7}`, job: 'punctual/timer', idempotencyKey: `call-${n}` }
      const found = await scene.punctual.get(target)
      expect(found?.turns.filter(({ startedAt }) => startedAt !== null)).toHaveLength(1)
      expect(found?.turns.length).toBeLessThanOrEqual(2)
    }
  })

  it('in which the broker is well and takes no event leaves few turns in the records, and ends within a minute', async () => {
    const scene = await TimersScene.open({}, { store: newDatabase()() })
    await scene.schedule('call', 1000)
    scene.broker.isAway = true
    scene.broker.looksWell = true
    scene.broker.failure = 'unroutable'
    await scene.clock.advance('10m')
    const found = await scene.punctual.get({ tenant: 'acme', job: 'punctual/timer', idempotencyKey: 'call' })
    expect(found?.turns.length).toBeLessThan(20)
    scene.broker.isAway = false
    await scene.clock.advance('1m')
    expect(scene.firedIds).toEqual(['call'])
  })

  it('in which the broker is well and takes no event is tried with one event at a time', async () => {
    const scene = await TimersScene.open({}, { concurrency: 100 })
    for (let n = 0; n < 50; n++) await scene.schedule(`call-${n}`, 1000)
    scene.broker.isAway = true
    scene.broker.looksWell = true
    scene.broker.failure = 'unroutable'
    await scene.clock.advance('2s')
    const before = scene.broker.publishes
    await scene.clock.advance('10m')
    expect(scene.broker.publishes - before).toBeLessThan(20)
    scene.broker.isAway = false
    await scene.clock.advance('1m')
    expect(scene.firedIds).toHaveLength(50)
  })
})
