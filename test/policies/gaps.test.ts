import { expect, it } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import { cron } from '../../src/schedule/cron.ts'
import { interval } from '../../src/schedule/interval.ts'
import { accountOf, day, historyOf, hour, onStores, steps } from './stores.ts'

const hourly = cron('0 * * * *', { timezone: 'UTC' })

onStores('JB-15 every way to be away', (scene, store) => {
  it('F42 30 days of a per-second job resolve quickly and with few records', async () => {
    const { slowNode, clock } = scene()
    const job = defineJob('second', { schedule: interval('PT1S'), recovery: { strategy: 'bounded', maxOccurrences: 3 } }).task(
      'only',
      () => 1,
    )
    const first = await slowNode({ jobs: [job] })
    await first.punctual.stop()
    await clock.advance('30d')
    // Processor time: other processes on the machine do not count.
    const before = process.cpuUsage()
    const { punctual } = await slowNode({ jobs: [job] })
    await clock.advance('1s')
    await punctual.idle()
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(5000)
    const counts = await punctual.counts({ job })
    expect(counts.missed).toBe(30 * 86_400 - 3)
    expect(counts.completed).toBeGreaterThanOrEqual(3)
    expect((await historyOf(punctual, 'second')).length).toBeLessThan(50)
    expect(await punctual.ranges({ job })).toHaveLength(1)
  })

  it('catch-up runs go one after another, oldest first, and never skip each other', async () => {
    const { slowNode, clock } = scene('2026-01-01T00:30:00Z')
    const ran: number[] = []
    let atOnce = 0
    let most = 0
    const job = defineJob('tick', { schedule: hourly }).task('only', async (ctx) => {
      most = Math.max(most, ++atOnce)
      ran.push(ctx.scheduledAt.getTime())
      expect(ctx.isRecovery).toBe(ctx.source === 'recovery')
      if (ctx.isRecovery) expect(ctx.lateness).toBeGreaterThan(0)
      await clock.settle()
      atOnce--
    })
    const first = await slowNode({ jobs: [job] })
    await first.punctual.stop()
    await clock.advance('30h')
    const { punctual } = await slowNode({ jobs: [job] })
    const other = await slowNode({ jobs: [job] })
    // Between two runs both are idle, for as long as the store takes to answer.
    while (ran.length < 30) {
      await clock.advance('1s')
      await punctual.idle()
      await other.punctual.idle()
    }
    // The last one may have begun on the first while the second was asked.
    await punctual.idle()
    expect(most).toBe(1)
    expect(ran).toEqual(ran.toSorted((a, b) => a - b))
    expect(await accountOf(punctual, 'tick', steps(Date.parse('2026-01-01T00:30:00Z'), clock.wall(), hour))).toEqual({
      completed: 30,
    })
  })

  it('all of a long gap is taken in parts, and comes out whole, also after a crash in its middle', async () => {
    const { slowNode, clock } = scene('2026-01-01T00:00:30Z')
    const ran: number[] = []
    const job = () =>
      defineJob('minute', { schedule: cron('* * * * *', { timezone: 'UTC' }) }).task(
        'only',
        (ctx) => void ran.push(ctx.scheduledAt.getTime()),
      )
    const first = await slowNode({ jobs: [job()] })
    await first.punctual.stop()
    await clock.advance('1200m')
    const dying = await slowNode({ jobs: [job()] })
    await clock.settle()
    dying.store.freeze()
    await clock.advance('45m')
    const { punctual } = await slowNode({ jobs: [job()] })
    await clock.advance('1m')
    await punctual.idle()
    await clock.advance('5m')
    await punctual.idle()
    const tally = await accountOf(punctual, 'minute', steps(Date.parse('2026-01-01T00:00:30Z'), clock.wall(), 60_000))
    expect(new Set(ran).size).toBe(tally.completed)
    expect(tally.completed).toBeGreaterThanOrEqual(1245)
    expect(tally).toEqual({ completed: tally.completed, ...(tally.skipped && { skipped: tally.skipped }) })
  }, 240_000)

  it('F46 many jobs catching up stay under the cap, and live work is not starved', async () => {
    const { slowNode, clock } = scene('2026-01-01T00:30:00Z')
    let atOnce = 0
    let most = 0
    const gate = Promise.withResolvers<void>()
    const jobs = Array.from({ length: 20 }, (_, n) =>
      defineJob(`tick-${n}`, { schedule: hourly }).task('only', async ({ isRecovery }) => {
        if (!isRecovery) return
        most = Math.max(most, ++atOnce)
        await gate.promise
        atOnce--
      }),
    )
    const live = defineJob('live').task('only', () => 'done')
    const first = await slowNode({ jobs })
    await first.punctual.stop()
    await clock.advance('12h')
    const { punctual } = await slowNode({ jobs: [...jobs, live], concurrency: 10, catchUp: 4 })
    await clock.advance('5s')
    const { id } = await punctual.enqueue(live, undefined)
    await clock.advance('1s')
    expect(atOnce).toBe(4)
    expect(await punctual.get(id)).toMatchObject({ state: 'completed' })
    gate.resolve()
    await clock.advance('5s')
    await punctual.idle()
    expect(most).toBe(4)
    for (const { name } of jobs)
      expect(await accountOf(punctual, name, steps(Date.parse('2026-01-01T00:30:00Z'), clock.wall(), hour))).toEqual({
        completed: 12,
      })
  })

  it.each(['all', 'last', 'mark-missed', 'compressed'] as const)(
    'a crash at any step of the catch-up and a second node at the same change nothing (%s)',
    async (recovery) => {
      for (let step = 0; step < (store === 'memory' ? 6 : 3); step++) {
        const { slowNode, clock, crash, client } = scene('2026-01-01T00:30:00Z')
        const ran: number[] = []
        const job = () =>
          defineJob('tick', { schedule: hourly, recovery, overlap: 'queue' }).task(
            'only',
            (ctx) => void ran.push(ctx.scheduledAt.getTime()),
          )
        const first = await slowNode({ jobs: [job()] })
        await first.punctual.stop()
        await clock.advance('20h')
        const dying = client({ jobs: [job()], node: { heartbeat: '15m', timeout: '40m' } })
        const starting = dying.punctual.start()
        for (let turn = 0; turn < step; turn++) await new Promise((resolve) => setImmediate(resolve))
        crash(dying)
        const [second] = await Promise.all([slowNode({ jobs: [job()] }), slowNode({ jobs: [job()] })])
        await clock.advance('2h')
        await second.punctual.idle()
        const tally = await accountOf(second.punctual, 'tick', steps(Date.parse('2026-01-01T00:30:00Z'), clock.wall(), hour))
        const run = recovery === 'all' ? 20 : recovery === 'mark-missed' ? 0 : 1
        expect(tally.completed).toBe(run + 2)
        expect((tally.missed ?? 0) + (tally.skipped ?? 0)).toBe(20 - run)
        void starting
      }
    },
  )

  it('each missed instant belongs to the version in force at it', async () => {
    const { slowNode, clock, client } = scene('2026-01-01T00:30:00Z')
    const payloads: unknown[] = []
    const tick = defineJob('tick').task('only', ({ payload }) => void payloads.push(payload))
    const first = await slowNode({ jobs: [tick] })
    await first.punctual.schedule(tick, hourly, { payload: 'old' })
    await clock.advance('1m')
    await first.punctual.stop()
    await clock.advance('5h')
    // Changed by a client while no node is there.
    await client({ jobs: [tick] }).punctual.update('tick', {
      payload: 'new',
      schedule: cron('0,30 * * * *', { timezone: 'UTC' }),
    })
    await clock.advance('5h')
    const { punctual } = await slowNode({ jobs: [tick] })
    await clock.advance('2s')
    await punctual.idle()
    expect(payloads).toEqual([...Array(5).fill('old'), ...Array(10).fill('new')])
    const lines = await historyOf(punctual, 'tick')
    expect(await Promise.all(lines.map(async ({ id }) => (await punctual.get(id))?.payload))).toEqual(payloads)
  })

  it.each(['cut', 'sleep'] as const)('F43 an hour without the store, or asleep, is a gap like any other (%s)', async (how) => {
    const { node, clock } = scene('2026-01-01T00:30:00Z')
    const seen: { at: number; isRecovery: boolean }[] = []
    const job = defineJob('tick', { schedule: cron('*/10 * * * *', { timezone: 'UTC' }), recovery: 'last' }).task(
      'only',
      (ctx) => void seen.push({ at: ctx.scheduledAt.getTime(), isRecovery: ctx.isRecovery }),
    )
    const one = await node({ jobs: [job] })
    await clock.advance('25m')
    seen.length = 0
    if (how === 'cut') {
      one.store.cut()
      await clock.advance('60m')
      one.store.heal()
    } else clock.jump(hour)
    await clock.advance('6s')
    await one.punctual.idle()
    expect(seen).toEqual([{ at: Date.parse('2026-01-01T01:50:00Z'), isRecovery: true }])
    await clock.advance('30m')
    expect(await accountOf(one.punctual, 'tick', steps(Date.parse('2026-01-01T00:30:00Z'), clock.wall(), 600_000))).toEqual({
      completed: 6,
      missed: 5,
    })
  })

  it.each(['cut', 'sleep'] as const)('rows that were planned before the gap go through the strategy too (%s)', async (how) => {
    const { node, clock } = scene('2026-01-01T00:30:00Z')
    const seen: { at: string; isRecovery: boolean }[] = []
    const job = defineJob('tick', { schedule: cron('*/10 * * * *', { timezone: 'UTC' }), recovery: 'mark-missed' }).task(
      'only',
      (ctx) => void seen.push({ at: ctx.scheduledAt.toISOString(), isRecovery: ctx.isRecovery }),
    )
    const one = await node({ jobs: [job] })
    await clock.advance('9m')
    await clock.advance('55s')
    expect(await one.punctual.counts({ job })).toMatchObject({ pending: 1 })
    if (how === 'cut') {
      one.store.cut()
      await clock.advance('55m')
      one.store.heal()
    } else clock.jump(55 * 60_000)
    await clock.advance('6s')
    await one.punctual.idle()
    expect(seen).toEqual([])
    await clock.advance('10m')
    expect(seen.map(({ isRecovery }) => isRecovery)).toEqual([false])
    expect(await accountOf(one.punctual, 'tick', steps(Date.parse('2026-01-01T00:30:00Z'), clock.wall(), 600_000))).toEqual({
      completed: 1,
      missed: 6,
    })
  })

  it('F44 late while nodes were up is late, never missed', async () => {
    const { node, clock } = scene('2026-01-01T00:30:00Z')
    const gate = Promise.withResolvers<void>()
    const blocker = defineJob('blocker').task('only', () => gate.promise)
    const job = defineJob('tick', {
      schedule: cron('*/10 * * * *', { timezone: 'UTC' }),
      recovery: 'mark-missed',
      overlap: 'queue',
    }).task('only', () => 1)
    const one = await node({ jobs: [blocker, job], concurrency: 1, executionTimeout: '10h', timeout: '10h' })
    await one.punctual.enqueue(blocker, undefined)
    await clock.advance('1h')
    gate.resolve()
    await clock.advance('2s')
    await one.punctual.idle()
    expect(await accountOf(one.punctual, 'tick', steps(Date.parse('2026-01-01T00:30:00Z'), clock.wall(), 600_000))).toEqual({
      completed: 6,
    })
  })

  it.each(['stop', 'crash'] as const)('what was late when the only node went by a %s runs late when it is back', async (how) => {
    const { node, clock, crash } = scene('2026-01-01T00:30:00Z')
    const blocker = defineJob('blocker').task('only', () => new Promise(() => {}))
    const tick = cron('*/10 * * * *', { timezone: 'UTC' })
    const job = defineJob('tick', { schedule: tick, recovery: 'mark-missed', overlap: 'queue' }).task('only', () => 1)
    const first = await node({ jobs: [blocker, job], concurrency: 1, executionTimeout: '10h', timeout: '10h' })
    await first.punctual.enqueue(blocker, undefined)
    await clock.advance('1h')
    if (how === 'crash') crash(first)
    else {
      const stopped = first.punctual.stop({ grace: '1s' })
      await clock.advance('2s')
      await stopped
    }
    await clock.advance('5s')
    const { punctual } = await node({ jobs: [job] })
    await clock.advance('1m')
    expect(await accountOf(punctual, 'tick', steps(Date.parse('2026-01-01T00:30:00Z'), clock.wall(), 600_000))).toEqual({
      completed: 6,
    })
  })

  it('F45 a clock that is set back runs no instant twice', async () => {
    const { node, clock } = scene('2026-01-01T00:30:00Z')
    const ran: string[] = []
    const job = defineJob('tick', { schedule: cron('*/10 * * * *', { timezone: 'UTC' }) }).task(
      'only',
      (ctx) => void ran.push(ctx.scheduledAt.toISOString()),
    )
    await node({ jobs: [job] })
    await clock.advance('1h')
    clock.jump(-hour)
    await clock.advance('2h')
    expect(new Set(ran).size).toBe(ran.length)
    expect(ran).toHaveLength(12)
  })

  it('F39 a daily job whose nodes restart every hour, and are often down at its instant, misses nothing', async () => {
    const { slowNode, clock } = scene()
    const ran: number[] = []
    const job = () =>
      defineJob('daily', { schedule: cron('0 3 * * *', { timezone: 'UTC' }) }).task(
        'only',
        (ctx) => void ran.push(ctx.scheduledAt.getTime()),
      )
    for (let restart = 0; restart < (store === 'memory' ? 100 : 12); restart++) {
      const { punctual } = await slowNode({ jobs: [job()] })
      await clock.advance('50m')
      await punctual.stop()
      await clock.advance(restart % 5 === 0 ? '11h' : '10m')
    }
    expect(ran).toEqual(
      steps(Date.parse('2026-01-01T03:00:00Z') - day, clock.wall(), day)
        .map((at) => at + 3 * hour)
        .filter((at) => at <= ran.at(-1)!),
    )
    expect(clock.wall() - (ran.at(-1) as number)).toBeLessThan(day + 12 * hour)
  })
})
