import { expect, it } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import { cron } from '../../src/schedule/cron.ts'
import { historyOf, hour, onStores } from './stores.ts'

const hourly = cron('0 * * * *', { timezone: 'UTC' })

onStores('JB-16 replay and backfill', (scene) => {
  it('a replay needs a reason, is linked to what it repeats, and the same request creates one', async () => {
    const { slowNode, clock } = scene()
    const job = defineJob('work').task('only', ({ payload }) => payload)
    const { punctual } = await slowNode({ jobs: [job] })
    const { id } = await punctual.enqueue(job, { n: 1 }, { refs: { order: '42' }, tenant: 'acme' })
    await clock.advance('1s')
    await expect(punctual.replay(id, {} as never)).rejects.toMatchObject({ code: 'option.invalid' })
    await expect(punctual.replay('00000000-0000-0000-0000-000000000000', { reason: 'x' })).rejects.toMatchObject({
      code: 'occurrence.unknown',
    })
    const first = await punctual.replay(id, { reason: 'lost mail', request: 'r-1' })
    const again = await punctual.replay(id, { reason: 'lost mail', request: 'r-1' })
    expect(first.outcome).toBe('created')
    expect(again).toMatchObject({ id: first.id, outcome: 'existing' })
    expect((await punctual.replay(id, { reason: 'and another' })).id).not.toBe(first.id)
    await clock.advance('1s')
    expect(await punctual.get(first.id)).toMatchObject({
      state: 'completed',
      source: 'replay',
      tenant: 'acme',
      payload: { n: 1 },
      refs: { order: '42' },
      replay: { origin: id, reason: 'lost mail', tasks: null },
    })
  })

  it('what has not ended cannot be replayed', async () => {
    const { slowNode } = scene()
    const job = defineJob('work').task('only', () => 1)
    const { punctual } = await slowNode({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined, { delay: '1h' })
    await expect(punctual.replay(id, { reason: 'too early' })).rejects.toMatchObject({ code: 'occurrence.conflict' })
  })

  it('single tasks run again with the results of the original for the others', async () => {
    const { slowNode, clock } = scene()
    const ran: string[] = []
    const job = defineJob('steps')
      .task('a', () => {
        ran.push('a')
        return `a${ran.length}`
      })
      .task('b', ({ results }) => {
        ran.push('b')
        return `b of ${results.a}`
      })
      .task('c', ({ results }) => {
        ran.push('c')
        return `c of ${results.b}`
      })
    const { punctual } = await slowNode({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    await clock.advance('1s')
    ran.length = 0
    const { id: replay } = await punctual.replay(id, { reason: 'b was wrong', tasks: ['b'] })
    await clock.advance('1s')
    expect(ran).toEqual(['b'])
    expect(await punctual.get(replay)).toMatchObject({
      state: 'completed',
      tasks: [{ name: 'a', state: 'succeeded' }, { name: 'b', result: 'b of a1' }, { name: 'c' }],
    })
    ran.length = 0
    const { id: third } = await punctual.replay(replay, { reason: 'and what follows', tasks: ['b', 'c'] })
    await clock.advance('1s')
    expect(ran).toEqual(['b', 'c'])
    expect(await punctual.get(third)).toMatchObject({ result: 'c of b of a1' })
    await expect(punctual.replay(id, { reason: 'x', tasks: ['nope'] })).rejects.toMatchObject({ code: 'task.unknown' })
  })

  it('replayAll repeats whatever a filter finds, once each, and shows how far it is', async () => {
    const { slowNode, clock } = scene()
    let isWell = false
    const job = defineJob('work', { retry: { max: 0 } }).task('only', () => {
      if (!isWell) throw new Error('down')
    })
    const { punctual } = await slowNode({ jobs: [job] })
    await punctual.enqueueMany([1, 2, 3, 4, 5].map((payload) => ({ job, payload })))
    await clock.advance('2s')
    isWell = true
    const { id } = await punctual.replayAll({ job, state: 'dead' }, { reason: 'vendor is back' })
    await clock.advance('5s')
    await punctual.idle()
    expect(await punctual.get(id)).toMatchObject({ state: 'completed', result: { created: 5 }, progress: { done: 1 } })
    const replays = (await historyOf(punctual, 'work')).filter(({ source }) => source === 'replay')
    expect(replays.map(({ state }) => state)).toEqual(Array(5).fill('completed'))
  })

  it('a preview tells the exact instants and what exists, and writes nothing', async () => {
    const { slowNode, clock } = scene('2026-01-01T00:30:00Z')
    const job = defineJob('tick', { schedule: hourly, recovery: 'mark-missed' }).task('only', () => 1)
    const first = await slowNode({ jobs: [job] })
    await clock.advance('3h')
    await first.punctual.stop()
    await clock.advance('4h')
    const { punctual } = await slowNode({ jobs: [job] })
    await clock.advance('1m')
    const range = { from: '2025-12-31T22:00:00Z', to: '2026-01-01T08:00:00Z' }
    const before = (await historyOf(punctual, 'tick')).length
    const preview = await punctual.previewBackfill(job, range)
    expect(preview).toMatchObject({ instants: 10, count: 7, existing: { completed: 3, missed: 4 } })
    expect(preview.first.map((at) => at.toISOString().slice(11, 13))).toEqual(['22', '23', '00', '04', '05', '06', '07'])
    expect(await punctual.previewBackfill(job, { ...range, mode: 'failed' })).toMatchObject({ instants: 10, count: 4 })
    expect(await punctual.previewBackfill(job, { ...range, mode: 'all' })).toMatchObject({ instants: 10, count: 10 })
    expect((await historyOf(punctual, 'tick')).length).toBe(before)
    const { id, count } = await punctual.backfill(job, range)
    expect(count).toBe(7)
    await clock.advance('30s')
    await punctual.idle()
    expect(await punctual.get(id)).toMatchObject({ state: 'completed', result: { created: 7 } })
    const fills = (await historyOf(punctual, 'tick')).filter(({ source }) => source === 'backfill')
    expect(fills.map(({ state, scheduledAt }) => `${scheduledAt.toISOString().slice(11, 13)} ${state}`)).toEqual(
      preview.first.map((at) => `${at.toISOString().slice(11, 13)} completed`),
    )
    expect(await punctual.previewBackfill(job, range)).toMatchObject({ count: 0 })
  })

  it('a backfill runs under a concurrency of its own, oldest first, and live work goes on', async () => {
    const { slowNode, clock } = scene('2026-01-02T00:30:00Z')
    let atOnce = 0
    let most = 0
    const order: number[] = []
    const gates: (() => void)[] = []
    const job = defineJob('tick', { schedule: hourly }).task('only', async (ctx) => {
      if (ctx.source !== 'backfill') return
      most = Math.max(most, ++atOnce)
      order.push(ctx.scheduledAt.getTime())
      const { promise, resolve } = Promise.withResolvers<void>()
      gates.push(resolve)
      await promise
      atOnce--
    })
    const { punctual } = await slowNode({ jobs: [job] })
    await punctual.backfill(job, { from: '2026-01-01T00:00:00Z', to: '2026-01-01T08:00:00Z', concurrency: 2 })
    for (let step = 0; step < 6; step++) {
      await clock.advance('5s')
      gates.splice(0).forEach((end) => void end())
    }
    await clock.advance('5s')
    expect(order).toHaveLength(8)
    expect(order).toEqual(order.toSorted((a, b) => a - b))
    expect(most).toBe(2)
    await clock.advance(hour)
    expect(
      (await historyOf(punctual, 'tick')).filter(({ source, state }) => source === 'schedule' && state === 'completed'),
    ).toHaveLength(1)
  })

  it('each run of a backfill has the payload of the version in force at its instant', async () => {
    const { slowNode, clock } = scene()
    const payloads: unknown[] = []
    const job = defineJob('tick').task('only', ({ payload, source }) => void (source === 'backfill' && payloads.push(payload)))
    const { punctual } = await slowNode({ jobs: [job] })
    await punctual.schedule(job, hourly, { payload: 'v1', overlap: 'allow' })
    await clock.advance('150m')
    await punctual.schedule(job, hourly, { payload: 'v2', overlap: 'allow' })
    await clock.advance('2h')
    await punctual.backfill(job, { from: '2026-01-01T01:00:00Z', to: '2026-01-01T05:00:00Z', mode: 'all' })
    await clock.advance('1m')
    await punctual.idle()
    expect(payloads).toEqual(['v1', 'v1', 'v2', 'v2'])
  })

  it('startWithin does not make runs of a backfill too late', async () => {
    const { slowNode, clock } = scene()
    const job = defineJob('tick', { schedule: hourly, startWithin: '5m' }).task('only', () => {})
    const { punctual } = await slowNode({ jobs: [job] })
    await punctual.backfill(job, { from: '2025-12-31T00:00:00Z', to: '2025-12-31T03:00:00Z' })
    await clock.advance('1m')
    await punctual.idle()
    expect((await historyOf(punctual, 'tick')).filter(({ source }) => source === 'backfill').map(({ state }) => state)).toEqual(
      Array(3).fill('completed'),
    )
  })

  it('a backfill can be canceled, and what it created can be, too', async () => {
    const { slowNode, clock } = scene('2026-01-02T00:30:00Z')
    const job = defineJob('tick', { schedule: hourly }).task('only', ({ source }) =>
      source === 'backfill' ? new Promise(() => {}) : null,
    )
    const { punctual } = await slowNode({ jobs: [job] })
    const { id } = await punctual.backfill(job, { from: '2026-01-01T00:00:00Z', to: '2026-01-01T08:00:00Z' })
    await clock.advance('2s')
    expect(await punctual.cancel({ job, entity: id })).toBe('canceling')
    await clock.advance('30s')
    const states = (await historyOf(punctual, 'tick')).filter(({ source }) => source === 'backfill').map(({ state }) => state)
    expect(states).toEqual(Array(8).fill('canceled'))
  })

  it.each(['missing', 'all'] as const)(
    'after a crash of the node that runs it another continues a backfill, and nothing is created twice (%s)',
    async (mode) => {
      const { node, client, clock, crash } = scene('2026-02-20T00:30:00Z')
      const job = () => defineJob('tick', { schedule: hourly }).task('only', ({ source }) => (source === 'backfill' ? 1 : 0))
      const dying = await node({ jobs: [job()], retention: '400d' })
      // It dies while its second page is on its way, and before it could say that the first was created.
      const releases = [dying.store.hold('checkpoint')]
      dying.punctual.on('task.progress', () => void releases.push(dying.store.hold('create')))
      const range = { from: '2026-01-01T00:00:00Z', to: '2026-02-12T00:00:00Z' }
      const { id, count } = await client({ jobs: [job()] }).punctual.backfill('tick', { ...range, mode, concurrency: 100 })
      expect(count).toBe(42 * 24)
      await clock.advance('1s')
      crash(dying)
      for (const release of releases) release()
      const { punctual } = await node({ jobs: [job()], retention: '400d', concurrency: 200 })
      await clock.advance('40s')
      await punctual.idle()
      expect(await punctual.get(id)).toMatchObject({ state: 'completed' })
      expect((await historyOf(punctual, 'tick')).filter(({ source }) => source === 'backfill')).toHaveLength(42 * 24)
      expect(await punctual.previewBackfill('tick', range)).toMatchObject({ count: 0 })
    },
  )

  it('a replay stands for the instant of its origin, and names the origin', async () => {
    const { slowNode, clock } = scene('2026-01-01T00:30:00Z')
    const runs: string[] = []
    const job = defineJob('tick', { schedule: hourly, startWithin: '5m', retry: { max: 0 } }).task('only', (ctx) => {
      runs.push(`${ctx.source} ${ctx.scheduledAt.toISOString().slice(11, 16)} ${ctx.replayOf}`)
    })
    const { punctual } = await slowNode({ jobs: [job] })
    await clock.advance('3h')
    const [first] = await historyOf(punctual, 'tick')
    const { id } = await punctual.replay(first?.id as string, { reason: 'wrong rate' })
    await clock.advance('1s')
    const { id: second } = await punctual.replay(id, { reason: 'and again' })
    await clock.advance('1s')
    expect(runs).toEqual([
      'schedule 01:00 null',
      'schedule 02:00 null',
      'schedule 03:00 null',
      `replay 01:00 ${first?.id}`,
      `replay 01:00 ${id}`,
    ])
    expect((await punctual.get(second))?.scheduledAt).toEqual(first?.scheduledAt)
  })

  it('neither replayAll nor a backfill of what failed repeats an instant that has succeeded since', async () => {
    const { slowNode, clock } = scene('2026-01-01T00:30:00Z')
    let isWell = false
    const job = defineJob('tick', { schedule: hourly, retry: { max: 0 } }).task('only', () => {
      if (!isWell) throw new Error('down')
    })
    const { punctual } = await slowNode({ jobs: [job] })
    await punctual.enqueue(job, undefined, { deadLetter: false })
    await clock.advance('3h')
    isWell = true
    const failed = await historyOf(punctual, 'tick')
    expect(failed.map(({ state }) => state)).toEqual(Array(4).fill('failed'))
    const [enqueued, first, second] = failed
    await punctual.replay(enqueued?.id as string, { reason: 'well again' })
    const { id: replay } = await punctual.replay(first?.id as string, { reason: 'well again' })
    await clock.advance('1s')
    await punctual.replay(replay, { reason: 'once more' })
    await clock.advance('1s')
    const range = { from: '2026-01-01T00:00:00Z', to: '2026-01-01T04:00:00Z', mode: 'failed' as const }
    const preview = await punctual.previewBackfill(job, range)
    expect(preview.first).toEqual(failed.slice(2).map(({ scheduledAt }) => scheduledAt))
    const { id } = await punctual.backfill(job, { ...range, to: '2026-01-01T03:00:00Z' })
    await clock.advance('5s')
    expect(await punctual.get(id)).toMatchObject({ result: { created: 1 } })
    const again = await punctual.replayAll({ job, state: 'failed' }, { reason: 'the rest' })
    await clock.advance('5s')
    expect(await punctual.get(again.id)).toMatchObject({ result: { created: 1 } })
    const runsOf = async (at: Date | undefined) =>
      (await historyOf(punctual, 'tick')).filter(({ scheduledAt }) => scheduledAt.getTime() === at?.getTime())
    expect((await runsOf(second?.scheduledAt)).map(({ source }) => source).sort()).toEqual(['backfill', 'schedule'])
    expect((await runsOf(failed[3]?.scheduledAt)).map(({ source }) => source).sort()).toEqual(['replay', 'schedule'])
  })

  it('a replay of other work that was due at an instant of the schedule says nothing about that instant', async () => {
    const { slowNode, clock } = scene('2026-01-01T00:30:00Z')
    let isWell = false
    const job = defineJob('tick', { schedule: hourly, retry: { max: 0 }, deadLetter: false }).task('only', () => {
      if (!isWell) throw new Error('down')
    })
    const { punctual } = await slowNode({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined, { runAt: '2026-01-01T01:00:00Z' })
    await clock.advance('1h')
    isWell = true
    await punctual.replay(id, { reason: 'well again' })
    await clock.advance('1s')
    const range = { from: '2026-01-01T00:00:00Z', to: '2026-01-01T02:00:00Z', mode: 'failed' as const }
    expect(await punctual.previewBackfill(job, range)).toMatchObject({ count: 1, existing: { failed: 1 } })
  })

  it('a backfill from before the first schedule goes by that schedule', async () => {
    const { slowNode, clock } = scene('2026-01-01T00:30:00Z')
    const payloads: unknown[] = []
    const job = defineJob('tick').task('only', ({ payload }) => void payloads.push(payload))
    const { punctual } = await slowNode({ jobs: [job] })
    await clock.advance('1m')
    await punctual.schedule(job, hourly, { payload: 'first' })
    await punctual.schedule(job, cron('30 * * * *', { timezone: 'UTC' }), { payload: 'second' })
    const range = { from: '2025-12-31T21:00:00Z', to: '2026-01-01T00:00:00Z' }
    expect(await punctual.previewBackfill(job, range)).toMatchObject({ instants: 3, count: 3 })
    await punctual.backfill(job, range)
    await clock.advance('10s')
    await punctual.idle()
    expect(payloads).toEqual(['first', 'first', 'first'])
  })

  it('a backfill of what failed covers instants of which only the range is on record', async () => {
    const { slowNode, clock } = scene('2026-01-01T00:30:00Z')
    const minutely = cron('* * * * *', { timezone: 'UTC' })
    const job = () => defineJob('tick', { schedule: minutely, recovery: 'mark-missed' }).task('only', () => 1)
    const first = await slowNode({ jobs: [job()] })
    await clock.advance('5m')
    await first.punctual.stop()
    await clock.advance('30h')
    const { punctual } = await slowNode({ jobs: [job()] })
    await clock.advance('1s')
    expect(await punctual.ranges({ job: 'tick' })).toHaveLength(1)
    const range = { from: '2026-01-01T02:00:00Z', to: '2026-01-01T02:10:00Z', mode: 'failed' as const }
    expect(await punctual.previewBackfill('tick', range)).toMatchObject({ instants: 10, count: 10, existing: { missed: 10 } })
    const { id } = await punctual.backfill('tick', range)
    await clock.advance('10s')
    expect(await punctual.get(id)).toMatchObject({ result: { created: 10 } })
    expect(await punctual.previewBackfill('tick', range)).toMatchObject({ count: 0, existing: { completed: 10 } })
  })

  it('what lies ahead is left to the schedule', async () => {
    const { slowNode, clock } = scene('2026-01-01T00:30:00Z')
    const job = defineJob('tick', { schedule: hourly }).task('only', () => 1)
    const { punctual } = await slowNode({ jobs: [job] })
    const range = { from: '2025-12-31T22:00:00Z', to: '2026-01-01T04:00:00Z' }
    expect(await punctual.previewBackfill(job, range)).toMatchObject({ instants: 3, count: 3 })
    await punctual.backfill(job, range)
    await clock.advance('4h')
    const sources = (await historyOf(punctual, 'tick')).map(({ source, state }) => `${source} ${state}`)
    expect(sources).toEqual([...Array(3).fill('backfill completed'), ...Array(4).fill('schedule completed')])
  })

  it('a range that can only be a mistake is refused with its count', async () => {
    const { slowNode } = scene()
    const job = defineJob('second', { schedule: cron('* * * * * *', { timezone: 'UTC' }) }).task('only', () => 1)
    const { punctual } = await slowNode({ jobs: [job] })
    const tenYears = { from: '2015-01-01T00:00:00Z', to: '2025-01-01T00:00:00Z' }
    await expect(punctual.backfill(job, tenYears)).rejects.toMatchObject({ code: 'option.invalid', details: { max: 100_000 } })
    await expect(punctual.previewBackfill(job, tenYears)).rejects.toThrow(/about 3\d\d,\d{3},\d{3} instants/)
    await expect(punctual.backfill(job, { from: '2030-01-02T00:00:00Z', to: '2030-01-01T00:00:00Z' })).rejects.toMatchObject({
      code: 'option.invalid',
    })
  })
})
