import { expect, it } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import { cron } from '../../src/schedule/cron.ts'
import { interval } from '../../src/schedule/interval.ts'
import { newCluster, occurrence } from '../support/cluster.ts'
import { onEachStore } from '../support/each-store.ts'

onEachStore('BL-2 runDue', (newDatabase) => {
  it('takes over from a node that is gone, although its looks are a minute apart', async () => {
    const { node, client, clock } = newCluster({ connect: newDatabase() })
    const job = defineJob('work', { retry: { interval: '1s' } }).task('only', ({ attempt }) =>
      attempt === 1 ? new Promise(() => {}) : attempt,
    )
    const gone = await node({ jobs: [job] })
    const { id } = await gone.punctual.enqueue(job, undefined)
    await gone.probe.next('task.started')
    gone.store.freeze()
    const { punctual } = client({ jobs: [job] })
    for (let tick = 0; tick < 4; tick++) {
      await punctual.runDue()
      await clock.advance('1m')
    }
    expect(await occurrence(punctual, id)).toMatchObject({ state: 'completed', result: 2 })
  })

  it('plans, claims and runs what is due, once, and says how it went', async () => {
    const { client, clock } = newCluster({ connect: newDatabase() })
    const job = defineJob('tick', { retry: { max: 1, interval: '1m' } }).task('only', ({ payload, attempt, fail }) => {
      if (payload === 'shaky' && attempt === 1) fail('again')
      if (payload === 'bad') fail('never', { retryable: false })
    })
    const scheduled = defineJob('cron', { schedule: interval('PT1M') }).task('only', () => 1)
    const { punctual } = client({ jobs: [job, scheduled] })
    expect(await punctual.runDue()).toEqual({ claimed: 0, succeeded: 0, retried: 0, failed: 0 })
    await punctual.enqueueMany(['fine', 'shaky', 'bad'].map((payload) => ({ job, payload })))
    await punctual.enqueue(job, 'later', { delay: '1h' })
    expect(await punctual.runDue()).toEqual({ claimed: 3, succeeded: 1, retried: 1, failed: 1 })
    await clock.advance('61s')
    expect(await punctual.runDue()).toEqual({ claimed: 2, succeeded: 2, retried: 0, failed: 0 })
    expect(await punctual.counts({ job })).toMatchObject({ completed: 2, dead: 1, pending: 1 })
    expect(await punctual.nodes()).toEqual([])
  })

  it('runs the instant that has come due since the pass before, also where what was missed is only marked', async () => {
    const { client, clock } = newCluster({ connect: newDatabase(), start: '2026-01-01T00:00:30Z' })
    const ran: string[] = []
    const job = defineJob('tick', { schedule: cron('* * * * *', { timezone: 'UTC' }), recovery: 'mark-missed' }).task(
      'only',
      (ctx) => {
        ran.push(ctx.scheduledAt.toISOString().slice(14, 19))
      },
    )
    const { punctual } = client({ jobs: [job] })
    await punctual.runDue()
    for (const step of ['60s', '60s', '40s', '3m']) {
      await clock.advance(step)
      await punctual.runDue()
    }
    expect(ran).toEqual(['01:00', '02:00', '03:00', '06:00'])
    expect(await punctual.counts({ job })).toMatchObject({ completed: 4, missed: 2 })
  })

  it('takes no more than limit, oldest first, and more than one claim when the limit asks for it', async () => {
    const { client } = newCluster({ connect: newDatabase() })
    const seen: unknown[] = []
    const job = defineJob('tick').task('only', ({ payload }) => void seen.push(payload))
    const { punctual } = client({ jobs: [job] })
    await punctual.enqueueMany(Array.from({ length: 1205 }, (_, at) => ({ job, payload: at })))
    expect(await punctual.runDue({ limit: 2 })).toMatchObject({ claimed: 2, succeeded: 2 })
    expect(seen).toEqual([0, 1])
    expect(await punctual.runDue({ limit: 1200 })).toMatchObject({ claimed: 1200, succeeded: 1200 })
    expect(await punctual.runDue({ limit: 1200 })).toMatchObject({ claimed: 3 })
  })

  it('now can lower the time of the store, and never raise it', async () => {
    const { client, clock } = newCluster({ connect: newDatabase() })
    const job = defineJob('tick').task('only', () => 1)
    const { punctual } = client({ jobs: [job] })
    await punctual.enqueue(job, 1, { delay: '1m' })
    await punctual.enqueue(job, 2, { delay: '3m' })
    expect((await punctual.runDue({ now: new Date(clock.wall() + 3_600_000) })).claimed).toBe(0)
    await clock.advance('5m')
    expect((await punctual.runDue({ now: new Date(clock.wall() - 180_000) })).claimed).toBe(1)
    expect((await punctual.runDue()).claimed).toBe(1)
  })

  it('beats while a handler takes its time, so that no other node takes it over', async () => {
    const { client, node, pass } = newCluster({ connect: newDatabase() })
    const work = Promise.withResolvers<string>()
    let runs = 0
    const job = defineJob('slow').task('only', () => {
      runs++
      return work.promise
    })
    const ticker = client({ jobs: [job] })
    const { id } = await ticker.punctual.enqueue(job, undefined)
    const summary = ticker.punctual.runDue()
    await ticker.probe.next('task.started')
    const other = await node({ jobs: [job] })
    await pass(40)
    work.resolve('done')
    expect(await summary).toMatchObject({ claimed: 1, succeeded: 1 })
    expect(runs).toBe(1)
    expect(await occurrence(other.punctual, id)).toMatchObject({ result: 'done', turns: [{ end: 'completed' }] })
  })

  it('of two calls at once each says what it did itself, and beside a started scheduler too', async () => {
    const { client, node } = newCluster({ connect: newDatabase() })
    const seen: unknown[] = []
    const job = defineJob('tick').task('only', async ({ payload }) => void seen.push(payload))
    const { punctual } = client({ jobs: [job] })
    await punctual.enqueueMany([1, 2, 3].map((payload) => ({ job, payload })))
    const [first, second] = await Promise.all([punctual.runDue({ limit: 2 }), punctual.runDue({ limit: 2 })])
    expect([first.succeeded, second.succeeded]).toEqual([2, 1])
    const started = await node({ jobs: [job] })
    await started.punctual.enqueueMany([4, 5, 6, 7].map((payload) => ({ job, payload })))
    const summary = await started.punctual.runDue()
    await started.punctual.idle()
    expect(summary.claimed).toBe(summary.succeeded)
    expect(seen.toSorted()).toEqual([1, 2, 3, 4, 5, 6, 7])
  })

  it('fails when the store is away, and works when it is back', async () => {
    const { client } = newCluster({ connect: newDatabase() })
    const job = defineJob('tick').task('only', () => 1)
    const { punctual, store } = client({ jobs: [job] })
    await punctual.enqueue(job, undefined)
    store.cut()
    await expect(punctual.runDue()).rejects.toMatchObject({ code: 'store.unreachable' })
    store.heal()
    expect(await punctual.runDue()).toMatchObject({ succeeded: 1 })
  })
})
