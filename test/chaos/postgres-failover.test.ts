// A primary dies and its standby takes over, with nodes at work: by real servers and the system's clock.
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { PunctualOptions } from '../../src/client/options.ts'
import { createPunctual } from '../../src/client/punctual.ts'
import { defineJob } from '../../src/model/definition.ts'
import { interval } from '../../src/schedule/interval.ts'
import { postgres } from '../../src/store/postgres/index.ts'
import { probe } from '../../src/testing/probe.ts'
import { patiently } from '../support/patiently.ts'
import { brokenInvariants } from '../support/postgres-invariants.ts'
import { isLeftOut, postgres as needed } from '../support/servers/needed.ts'
import { fastSettings, type Postgres, startPostgres, startStandby } from '../support/servers/postgres.ts'
import { TcpProxy } from '../support/servers/tcp-proxy.ts'

const schema = 'punctual'
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
describe.skipIf(isLeftOut(needed))('a failover', () => {
  it('F13, F54 to a synchronous standby: the node goes on by itself, nothing acknowledged is lost, and nothing runs twice', async () => {
    const { primary, standby, proxy, node } = await newPair()
    await primary.restart({ synchronous_standby_names: '*' })
    const runs = new Map<unknown, number>()
    const isOver = Promise.withResolvers<void>()
    const job = defineJob('work').task('only', async ({ payload }) => {
      runs.set(payload, (runs.get(payload) ?? 0) + 1)
      if (payload === 'long') await isOver.promise
    })
    const instants: number[] = []
    const tick = defineJob('tick', { schedule: interval('PT0.2S'), overlap: 'allow' }).task(
      'only',
      ({ scheduledAt }) => void instants.push(scheduledAt.getTime()),
    )
    // However long the failover takes on this machine, it is not long enough to take the node for gone.
    const { punctual, events } = node({ jobs: [job, tick], node: { timeout: '1h' } })
    await punctual.start()
    const { id: long } = await punctual.enqueue(job, 'long')
    await events.next('task.started', (event) => event.id === long)

    // A client enqueues all the time, and repeats each call until it is acknowledged.
    const acknowledged: string[] = []
    let [isPromoted, afterwards] = [false, 0]
    const enqueueing = (async () => {
      for (let n = 0; afterwards < 20; n++) {
        const { id } = await insist(() => punctual.enqueue(job, n, { idempotencyKey: `${n}` }))
        acknowledged.push(id)
        if (isPromoted) afterwards++
      }
    })()
    await vi.waitFor(() => expect(acknowledged.length).toBeGreaterThan(20), patiently)
    await primary.kill()
    proxy.leadTo(standby)
    // Until it is promoted it is read-only: all that fails is tried again.
    const refused = await events.next('loop.error', ({ error }) => /takes no writes/.test(error.message))
    expect(refused.error).toMatchObject({ code: 'store.unreachable' })
    expect(punctual.health.state).toBe('degraded')
    await standby.promote()
    isPromoted = true
    const promotedAt = Date.now()
    await enqueueing
    isOver.resolve()
    await vi.waitFor(async () => expect((await punctual.counts({ job })).completed).toBe(acknowledged.length + 1), patiently)
    expect((await punctual.get(long))?.turns).toMatchObject([{ turn: 1, end: 'completed' }])
    // A claim whose answer was lost may be given back before it is asked for again: no attempt is burned.
    for (const id of acknowledged) {
      const ran = (await punctual.get(id))?.turns.filter(({ end }) => end !== 'released')
      expect(ran).toMatchObject([{ end: 'completed' }])
    }
    expect([...runs.values()].filter((count) => count !== 1)).toEqual([])
    await vi.waitFor(() => expect(steps(instants, promotedAt)).toEqual([200]), patiently)
    expect(new Set(instants).size, 'no instant runs twice').toBe(instants.length)
    expect(events.seen('node.fenced')).toEqual([])
    await vi.waitFor(() => expect(punctual.health.state).toBe('ok'), patiently)
    await punctual.close()
    expect(await brokenInvariants(standby.url, schema)).toEqual([])
  })

  it('F17, F54 a node that starts on the standby waits for its promotion, takes over, and late writes of the other are refused', async () => {
    const { primary, standby, proxy, node } = await newPair()
    const late = Promise.withResolvers<string>()
    const ranBy: unknown[] = []
    const job = (by: string, work: () => unknown) =>
      defineJob('work').task('only', () => {
        ranBy.push(by)
        return work()
      })
    // The handler ignores its signal.
    const quick = { node: { heartbeat: 100, timeout: 1500, checkInterval: 100 } }
    const first = node({ jobs: [job('first', () => late.promise)], node: { ...quick.node, abandonAfter: '1h' } })
    await first.punctual.start()
    const { id } = await first.punctual.enqueue('work', undefined, { idempotencyKey: 'a' })
    await first.events.next('task.started')
    await caughtUp(primary, standby)

    const second = node({ ...quick, jobs: [job('second', () => 'in time')] }, standby)
    await second.punctual.start()
    expect(second.punctual.health).toMatchObject({ state: 'degraded', reasons: [expect.stringContaining('takes no writes')] })
    await primary.kill()
    const fenced = first.events.next('node.fenced')
    await standby.promote()
    await second.events.next('occurrence.completed', (event) => event.id === id)
    await fenced
    proxy.leadTo(standby)
    late.resolve('too late')
    expect(await first.events.next('occurrence.lost')).toMatchObject({ id })
    expect(ranBy).toEqual(['first', 'second'])
    expect(await second.punctual.get(id)).toMatchObject({
      state: 'completed',
      result: 'in time',
      turns: [{ end: 'lost' }, { turn: 2 }],
    })
    await vi.waitFor(async () => expect(await second.punctual.nodes()).toHaveLength(2), patiently)
    expect(await first.punctual.enqueue('work', undefined, { idempotencyKey: 'a' })).toMatchObject({
      id,
      outcome: 'existing',
      payloadDiffers: false,
    })
  })

  it('to a standby that was behind: what it does not know is gone, and the node goes on with all it has', async () => {
    const { primary, standby, proxy, node } = await newPair()
    const runs: unknown[] = []
    const [isHeld, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const handler = async ({ payload }: { payload: unknown }) => {
      runs.push(payload)
      if (payload !== 'held') return
      isHeld.resolve()
      await held.promise
    }
    const { punctual, events } = node({ jobs: [defineJob('old').task('only', handler)], node: { heartbeat: 100, timeout: '1h' } })
    await punctual.start()
    await punctual.enqueue('old', 'before', { idempotencyKey: 'before' })
    await events.next('occurrence.completed')
    await caughtUp(primary, standby)
    await standby.stop()

    // All of this is lost: a job that is new to the database, what is done, and what is claimed and runs.
    punctual.define(defineJob('new').task('only', handler))
    for (const name of ['old', 'new']) {
      await punctual.enqueue(name, 'lost', { idempotencyKey: 'lost' })
      await events.next('occurrence.completed')
    }
    await punctual.enqueue('new', 'held', { idempotencyKey: 'held' })
    await isHeld.promise
    await primary.kill()
    await standby.restart()
    proxy.leadTo(standby)
    await standby.promote()

    for (const name of ['old', 'new']) {
      const { outcome, id } = await insist(() => punctual.enqueue(name, 'again', { idempotencyKey: 'lost' }))
      expect(outcome).toBe('created')
      await events.next('occurrence.completed', (event) => event.id === id)
    }
    held.resolve()
    await events.next('occurrence.lost')
    expect(await punctual.enqueue('old', 'before', { idempotencyKey: 'before' })).toMatchObject({ outcome: 'existing' })
    await vi.waitFor(() => expect(punctual.health.state).toBe('ok'), patiently)
    expect(runs).toEqual(['before', 'lost', 'lost', 'held', 'again', 'again'])
    await punctual.close()
    expect(await brokenInvariants(standby.url, schema)).toEqual([])
  })

  it('to a standby that was behind: the newer version of a job that it does not know is declared again', async () => {
    const { primary, standby, proxy, node } = await newPair()
    const job = (priority: number) => defineJob('report', { priority }).task('only', () => {})
    const earlier = node({ jobs: [job(5)] }).punctual
    await earlier.start()
    await earlier.close()
    await caughtUp(primary, standby)
    await standby.stop()
    const { punctual } = node({ jobs: [job(2)], node: { timeout: '1h' } })
    await punctual.start()
    await vi.waitFor(async () => expect(await punctual.versions('report')).toHaveLength(2), patiently)
    await primary.kill()
    await standby.restart()
    proxy.leadTo(standby)
    await standby.promote()
    await insist(() => punctual.nodes())
    await vi.waitFor(async () => expect(await punctual.versions('report')).toHaveLength(2), patiently)
  })
})

/** How far the instants are apart, from the first one to the first after `until`. */
function steps(instants: readonly number[], until: number): number[] {
  const sorted = instants.toSorted((a, b) => a - b)
  const last = sorted.findIndex((at) => at > until)
  return last < 0 ? [] : [...new Set(sorted.slice(1, last + 1).map((at, before) => at - (sorted[before] as number)))]
}

async function insist<Answer>(call: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    try {
      return await call()
    } catch (error) {
      expect(error).toMatchObject({ code: expect.stringMatching(/^store\.(unreachable|busy)$/) })
    }
  }
}

/** Resolves when the standby has all that the primary has by now. */
async function caughtUp(primary: Postgres, standby: Postgres): Promise<void> {
  const [now] = await primary.query<{ at: string }>('SELECT pg_current_wal_flush_lsn()::text AS at')
  await vi.waitFor(async () => {
    const [there] = await standby.query<{ is_so: boolean }>('SELECT pg_last_wal_replay_lsn() >= $1::pg_lsn AS is_so', [now?.at])
    expect(there?.is_so).toBe(true)
  }, patiently)
}

/** A primary that a proxy leads to, a standby of it, and nodes. */
async function newPair() {
  const primary = await startPostgres({ settings: { ...fastSettings, synchronous_commit: true } })
  onTestFinished(() => primary.remove())
  const standby = await startStandby(primary)
  onTestFinished(() => standby.remove())
  const proxy = await TcpProxy.start(primary)
  onTestFinished(() => proxy.close())
  const node = (options: Partial<PunctualOptions>, at: Pick<Postgres, 'url'> = proxy) => {
    const punctual = createPunctual({ store: postgres(at.url, { schema }), log: silent, grace: 0, ...options })
    onTestFinished(() => punctual.close())
    return { punctual, events: probe(punctual) }
  }
  return { primary, standby, proxy, node }
}
