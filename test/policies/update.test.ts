import { expect, it } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import type { UpdatePolicy } from '../../src/model/update.ts'
import { cron } from '../../src/schedule/cron.ts'
import { interval } from '../../src/schedule/interval.ts'
import { accountOf, historyOf, onStores } from './stores.ts'

const at = (hours: string) => cron(`0 ${hours} * * *`, { timezone: 'UTC' })
const stamp = (ms: number) => new Date(ms).toISOString().slice(8, 13)

onStores('JB-20 updates', (scene, store) => {
  // Daily at six in the evening, changed at noon of the first to nine in the morning.
  const policies: readonly [UpdatePolicy, readonly string[]][] = [
    ['immediate', ['02T09', '03T09', '04T09', '05T09']],
    ['graceful', ['01T18', '02T09', '03T09', '04T09', '05T09']],
    [{ graceful: { count: 2 } }, ['01T18', '02T18', '03T09', '04T09', '05T09']],
    [{ graceful: { span: '60h' } }, ['01T18', '02T18', '03T18', '04T09', '05T09']],
    [{ graceful: { at: '2026-01-03T12:00:00Z' } }, ['01T18', '02T18', '04T09', '05T09']],
    [{ windowed: { count: 3 } }, ['02T09', '03T09', '04T09', '05T09']],
  ]
  it('a windowed change tells which instants differ within its window', async () => {
    const { slowNode, clock } = scene('2026-01-01T10:00:00Z')
    const job = defineJob('daily').task('only', () => 1)
    const { punctual } = await slowNode({ jobs: [job] })
    await punctual.schedule(job, at('18'))
    await clock.advance('2h')
    const stamps = (dates: readonly Date[] | undefined) => dates?.map((date) => stamp(date.getTime()))
    const { difference } = await punctual.schedule(job, cron('0 9,18 * * *', { timezone: 'UTC' }), {
      update: { windowed: { span: '2d' } },
    })
    expect(stamps(difference?.added)).toEqual(['02T09', '03T09'])
    expect(difference?.removed).toEqual([])
    const changed = await punctual.update(job, { schedule: at('9') }, { update: { windowed: { count: 2 } } })
    expect(stamps(changed.difference?.removed)).toEqual(['01T18', '02T18'])
    expect(changed.difference).toMatchObject({ added: [], to: new Date('2026-01-03T09:00:00Z') })
    expect((await punctual.update(job, { priority: 1 })).difference).toBeNull()
  })

  it('the scheduler has a default, also for what code declares', async () => {
    const { slowNode, clock } = scene('2026-01-01T10:00:00Z')
    const ran: string[] = []
    const code = (hour: string) =>
      defineJob('daily', { schedule: at(hour) }, (ctx) => void ran.push(stamp(ctx.scheduledAt.getTime())))
    const first = await slowNode({ jobs: [code('18')] })
    await clock.advance('2h')
    await first.punctual.close()
    await slowNode({ jobs: [code('15')], update: 'graceful' })
    await clock.advance('2d')
    expect(ran).toEqual(['01T18', '02T15'])
  })

  // Days with a node up take minutes of a real file, and the store sees the same as in the test after this.
  if (store === 'memory')
    it.each(policies)('a daily job updated at noon under %j', async (update, expected) => {
      const { slowNode, clock } = scene('2026-01-01T10:00:00Z')
      const ran: { at: number; payload: unknown }[] = []
      const job = defineJob('daily').task('only', (ctx) => void ran.push({ at: ctx.scheduledAt.getTime(), payload: ctx.payload }))
      const { punctual } = await slowNode({ jobs: [job] })
      await punctual.schedule(job, at('18'), { payload: 'old' })
      await clock.advance('2h')
      const changed = await punctual.schedule(job, at('9'), { payload: 'new', update })
      expect(changed).toMatchObject({ outcome: 'updated' })
      await clock.advance('4d')
      expect(ran.map(({ at: when }) => stamp(when))).toEqual(expected)
      for (const { at: when, payload } of ran) expect(payload).toBe(stamp(when).endsWith('18') ? 'old' : 'new')
      expect(
        await accountOf(
          punctual,
          'daily',
          ran.map(({ at: when }) => when),
        ),
      ).toEqual({ completed: ran.length })
      const versions = await punctual.versions(job)
      expect(versions.at(-1)?.version).toBe(changed.version)
    })

  it.each(policies)('the same while no node is there (%j)', async (update, expected) => {
    const { slowNode, client, clock } = scene('2026-01-01T10:00:00Z')
    const ran: number[] = []
    const job = defineJob('daily').task('only', (ctx) => void ran.push(ctx.scheduledAt.getTime()))
    const first = await slowNode({ jobs: [job] })
    await first.punctual.schedule(job, at('18'))
    await first.punctual.stop()
    await clock.advance('2h')
    await client({ jobs: [job] }).punctual.schedule(job, at('9'), { update })
    await clock.advance('4d')
    const { punctual } = await slowNode({ jobs: [job] })
    await clock.advance('1m')
    await punctual.idle()
    expect(ran.map(stamp)).toEqual(expected)
  })

  it('A → B → A loses no instant, also of those that were planned', async () => {
    const { slowNode, clock } = scene('2026-01-01T00:59:55Z')
    const ran: number[] = []
    const job = defineJob('tick').task('only', (ctx) => void ran.push(ctx.scheduledAt.getTime()))
    const { punctual } = await slowNode({ jobs: [job] })
    await punctual.schedule(job, at('*'))
    await clock.settle()
    expect(await punctual.counts({ job })).toMatchObject({ pending: 1 })
    await punctual.schedule(job, cron('30 * * * *', { timezone: 'UTC' }))
    expect(await punctual.counts({ job })).toMatchObject({ pending: 0 })
    await clock.settle()
    await punctual.schedule(job, at('*'))
    await clock.advance('2h')
    expect(ran.map((ms) => stamp(ms).slice(3))).toEqual(['01', '02'])
  })

  it('a change that is not yet in force gives way to a newer one', async () => {
    const { slowNode, clock } = scene('2026-01-01T10:00:00Z')
    const ran: number[] = []
    const job = defineJob('daily').task('only', (ctx) => void ran.push(ctx.scheduledAt.getTime()))
    const { punctual } = await slowNode({ jobs: [job] })
    await punctual.schedule(job, at('18'))
    await punctual.schedule(job, at('9'), { update: { graceful: { span: '60h' } } })
    await punctual.stop()
    await clock.advance('1d')
    await punctual.schedule(job, at('12'))
    await clock.advance('4d')
    const later = await slowNode({ jobs: [job] })
    await clock.advance('1m')
    await later.punctual.idle()
    expect(ran.map(stamp)).toEqual(['01T18', '02T12', '03T12', '04T12', '05T12'])
  })

  it('expectedVersion: the loser is told both versions', async () => {
    const { slowNode, client } = scene()
    const job = defineJob('daily', { schedule: at('18') }).task('only', () => 1)
    const { punctual } = await slowNode({ jobs: [job] })
    const { version } = await punctual.update(job, { priority: 3 }, { expectedVersion: 1 })
    expect(version).toBe(2)
    const lost = client().punctual.update('daily', { priority: 4 }, { expectedVersion: 1 })
    await expect(lost).rejects.toMatchObject({ code: 'job.outdated', details: { expectedVersion: 1, version: 2 } })
    // Without an expectation the later change is made on top of the earlier.
    const [a, b] = await Promise.all([
      punctual.update(job, { priority: 5 }),
      client().punctual.update('daily', { timeout: '9s' }),
    ])
    expect([a.version, b.version].toSorted()).toEqual([3, 4])
    expect((await punctual.jobs()).items[0]?.override).toMatchObject({ settings: { priority: 5, timeoutMs: 9000 } })
  })

  it('declaring the same again writes nothing, however often nodes start', async () => {
    const { slowNode, client, clock } = scene()
    const job = () => defineJob('daily', { schedule: at('18'), retry: { max: 2 } }).task('only', () => 1)
    for (let restart = 0; restart < 5; restart++) {
      const nodes = await Promise.all([slowNode({ jobs: [job()] }), slowNode({ jobs: [job()] })])
      await clock.advance('1m')
      await Promise.all(nodes.map(({ punctual }) => punctual.stop()))
    }
    expect(await client().punctual.versions('daily')).toHaveLength(1)
    const again = await client().punctual.schedule(job(), at('18'))
    expect(again).toMatchObject({ outcome: 'unchanged', version: 1 })
  })

  it('F35 what is no part of the identity changes the version, never the job', async () => {
    const { slowNode, clock } = scene('2026-01-01T17:30:00Z')
    const job = defineJob('daily').task('only', () => 1)
    const { punctual } = await slowNode({ jobs: [job] })
    const { id } = await punctual.schedule(job, at('18'), { payload: 1 })
    expect(await punctual.schedule(job, at('18'), { payload: 2 })).toMatchObject({ id, outcome: 'updated' })
    await clock.advance('1h')
    expect(await historyOf(punctual, 'daily')).toHaveLength(1)
  })

  it('history of versions, the difference of two, and the way back', async () => {
    const { slowNode, clock } = scene('2026-01-01T10:00:00Z')
    const job = defineJob('daily').task('only', () => 1)
    const { punctual } = await slowNode({ jobs: [job] })
    const { version: first } = await punctual.schedule(job, at('18'), { payload: { n: 1 }, priority: 2 })
    await clock.advance('1h')
    const { version: second } = await punctual.schedule(job, at('9'), { payload: { n: 2 }, timeout: '7s' })
    const changes = await punctual.diff(job, first, second)
    expect(changes.map(({ field }) => field)).toEqual(['payload', 'schedule.text', 'settings.priority', 'settings.timeoutMs'])
    const { version: third } = await punctual.rollback(job, first, { by: 'ann' })
    expect(third).toBe(second + 1)
    const {
      items: [now],
    } = await punctual.jobs()
    expect(now).toMatchObject({
      payload: { n: 1 },
      settings: { priority: 2, timeoutMs: 300_000 },
      nextRun: new Date('2026-01-01T18:00:00Z'),
    })
    expect((await punctual.versions(job)).at(-1)).toMatchObject({ by: 'ann' })
    await expect(punctual.rollback(job, 99)).rejects.toMatchObject({ code: 'job.unknown' })
  })
})

onStores('TM-8 a person overrides what code declares', (scene) => {
  const declared = (schedule: string, priority = 5) =>
    defineJob('daily', { schedule: at(schedule), priority }).task('only', () => 1)

  it('an edit acts at once, wins over redeploys, is visible, and can be reset', async () => {
    const { slowNode, clock } = scene('2026-01-01T10:00:00Z')
    const first = await slowNode({ jobs: [declared('18')] })
    await first.punctual.update('daily', { schedule: at('12'), retry: { max: 9 } }, { by: 'ann' })
    await first.punctual.stop()
    // A redeploy with other code in two fields, one of them overridden.
    const { punctual } = await slowNode({ jobs: [declared('15', 1)] })
    await clock.advance('1m')
    const {
      items: [job],
    } = await punctual.jobs()
    expect(job).toMatchObject({
      settings: { priority: 1, retry: { max: 9 } },
      override: { schedule: { kind: 'cron' }, settings: { retry: { max: 9 } } },
    })
    expect(job?.nextRun).toEqual(new Date('2026-01-01T12:00:00Z'))
    await punctual.reset('daily', { fields: ['schedule'] })
    expect((await punctual.jobs()).items[0]?.nextRun).toEqual(new Date('2026-01-01T15:00:00Z'))
    expect((await punctual.jobs()).items[0]?.override).toMatchObject({ settings: { retry: { max: 9 } } })
    await punctual.reset('daily')
    expect((await punctual.jobs()).items[0]).toMatchObject({ override: null, settings: { retry: { max: 3 } } })
  })

  it('the changed settings hold for the next run', async () => {
    const { slowNode, clock } = scene('2026-01-01T10:30:00Z')
    let tries = 0
    const job = defineJob('shaky', { schedule: at('*'), retry: { max: 0 } }).task('only', () => {
      tries++
      throw new Error('down')
    })
    const { punctual } = await slowNode({ jobs: [job] })
    await clock.advance('1h')
    expect(tries).toBe(1)
    await punctual.update(job, { retry: { max: 2, interval: '1s', factor: 1 } })
    await clock.advance('1h')
    expect(tries).toBe(4)
  })

  it('enabled, schedule and payload can each be taken away and given back', async () => {
    const { slowNode, clock } = scene('2026-01-01T10:30:00Z')
    const { punctual } = await slowNode({ jobs: [declared('*')] })
    await punctual.update('daily', { schedule: null })
    expect(await punctual.status('daily')).toMatchObject({ active: false, nextRun: null })
    await clock.advance('3h')
    expect(await historyOf(punctual, 'daily')).toEqual([])
    await punctual.reset('daily', { fields: ['schedule'] })
    await clock.advance('1h')
    expect(await historyOf(punctual, 'daily')).toHaveLength(1)
  })

  it('a job that code no longer declares is told of, retired by prune, and continues its versions when it comes back', async () => {
    const { slowNode, clock } = scene('2026-01-01T10:00:00Z')
    const other = defineJob('other').task('only', () => 1)
    const first = await slowNode({ jobs: [declared('*'), other] })
    await clock.advance('1h')
    await first.punctual.stop()
    const telling = await slowNode({ jobs: [other] })
    await clock.advance('61m')
    expect(telling.log.map(({ message }) => message)).toContainEqual(expect.stringContaining('no longer declared'))
    expect((await telling.punctual.jobs()).items.find(({ name }) => name === 'daily')).toMatchObject({
      orphaned: true,
      retired: false,
    })
    await telling.punctual.stop()
    const pruning = await slowNode({ jobs: [other], retireOrphans: true })
    await clock.advance('1m')
    expect((await pruning.punctual.jobs()).items.find(({ name }) => name === 'daily')).toMatchObject({
      retired: true,
      nextRun: null,
      version: 2,
    })
    await clock.advance('3h')
    const before = await historyOf(pruning.punctual, 'daily')
    expect(before).toHaveLength(2)
    const back = await slowNode({ jobs: [declared('*'), other] })
    await clock.advance('1h')
    expect((await back.punctual.jobs()).items.find(({ name }) => name === 'daily')).toMatchObject({ retired: false, version: 3 })
    expect(await historyOf(back.punctual, 'daily')).toHaveLength(3)
  })

  it('prune waits for old nodes that still declare the job, and retires it when they have gone', async () => {
    const { node, clock } = scene('2026-01-01T10:00:00Z')
    const other = defineJob('other').task('only', () => 1)
    const old = await node({ jobs: [declared('*'), other] })
    const pruning = await node({ jobs: [other], retireOrphans: true })
    await clock.advance('1m')
    const retired = async () => (await pruning.punctual.jobs()).items.find(({ name }) => name === 'daily')?.retired
    expect(await retired()).toBe(false)
    await old.punctual.stop()
    await clock.advance('1m')
    expect(await retired()).toBe(true)
  })

  it('a change of a retired job does not bring it back', async () => {
    const { slowNode } = scene()
    const { punctual } = await slowNode()
    const job = defineJob('daily').task('only', () => 1)
    await punctual.schedule(job, cron('0 0 * * *'))
    await punctual.retire('daily')
    await punctual.update('daily', { priority: 1 })
    const retired = async () => (await punctual.jobs({ name: 'daily' })).items[0]
    expect(await retired()).toMatchObject({ retired: true, nextRun: null, settings: { priority: 1 } })
    await punctual.rollback('daily', 1)
    await punctual.reset('daily')
    expect(await retired()).toMatchObject({ retired: true, nextRun: null, settings: { priority: 5 } })
  })

  it('what was planned of a retired job is taken back, and enqueued work of it still runs', async () => {
    const { slowNode, clock } = scene('2026-01-01T10:59:55Z')
    const { punctual } = await slowNode({ jobs: [declared('*')] })
    const { id } = await punctual.enqueue('daily', undefined, { delay: '1h' })
    expect(await punctual.counts({ job: 'daily' })).toMatchObject({ pending: 2 })
    await punctual.retire('daily', { by: 'ann' })
    await clock.advance('2h')
    expect(await historyOf(punctual, 'daily')).toMatchObject([{ id, state: 'completed' }])
  })
})

onStores('TM-13 the place of a schedule', (scene) => {
  it('an interval keeps its rhythm through updates of other fields and restarts', async () => {
    const { slowNode, clock } = scene('2026-01-01T10:00:00Z')
    const ran: number[] = []
    const job = defineJob('beat').task('only', (ctx) => void ran.push(ctx.scheduledAt.getTime()))
    const first = await slowNode({ jobs: [job] })
    await first.punctual.schedule(job, interval('PT7M'))
    const anchor = clock.wall()
    await clock.advance('10m')
    await first.punctual.schedule(job, interval('PT7M'), { priority: 1 })
    await clock.advance('10m')
    await first.punctual.stop()
    await clock.advance('5m')
    await slowNode({ jobs: [job] })
    await clock.advance('10m')
    expect(ran.map((when) => (when - anchor) / 60_000)).toEqual([7, 14, 21, 28, 35])
  })
})
