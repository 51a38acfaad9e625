import { createPunctual, cron, defineJob, type Punctual } from 'punctual'
import { memory } from 'punctual/memory'
import { manualClock } from 'punctual/testing'
import { afterEach, expect, test } from 'vitest'
import { asker, silent } from './asker.ts'

const start = '2026-03-01T00:30:00.000Z'
const charge = defineJob<{ order: number }>('charge', { retry: { max: 0 } }).task('take', () => {
  throw new Error('connect ECONNREFUSED')
})
const steps = defineJob('steps')
  .task('one', () => 1)
  .task('two', ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))))
const close = defineJob('close', { schedule: cron('15 2 * * *'), recovery: 'mark-missed' }, () => {})
const tick = defineJob('tick', { schedule: cron('* * * * *') }, () => {})

const stores = () => memory()
let store = stores()
let clock = manualClock(Date.parse(start))
let punctual: Punctual
const open = async (...jobs: (typeof charge | typeof steps | typeof close)[]) => {
  punctual = createPunctual({
    ...{ store, clock, jobs: jobs as never[], log: silent, name: 'node-a' },
    node: { heartbeat: '15m', timeout: '40m' },
  })
  await punctual.start()
}
const fresh = async (...jobs: Parameters<typeof open>) => {
  store = stores()
  clock = manualClock(Date.parse(start))
  await open(...jobs)
}
afterEach(async () => {
  const closing = punctual.close()
  await clock.advance('1m')
  await closing
})
const ask = asker(() => punctual)
const read = async (path: string) => (await ask(`/api/v1/${path}`)).body

test('the overview, the dead letters and an occurrence count a cause alike, over all tenants', async () => {
  await fresh(charge)
  const ids: string[] = []
  for (let order = 0; order < 30; order++)
    ids.push((await punctual.enqueue(charge, { order }, { tenant: order % 3 === 0 ? 'globex' : 'acme', entity: 'e' })).id)
  await clock.advance('5s')
  const tenants = [
    { tenant: 'acme', count: 20 },
    { tenant: 'globex', count: 10 },
  ]
  const overview = await read('overview')
  expect(overview.attention).toMatchObject([{ kind: 'dead', count: 30, capped: false, tenants, code: null }])
  expect(overview.failed).toMatchObject({ dead: 30, causes: 1 })
  const [cause] = (await read('dead-letters')).items
  expect(cause).toMatchObject({
    count: 30,
    seen: 30,
    tenants,
    entities: [{ entity: 'e', count: 30 }],
    nodes: ['node-a'],
    versions: [],
    lastSuccessAt: null,
  })
  expect(cause.sample.error.stack).toContain('board.test.ts')
  expect(cause.spark.counts).toHaveLength(24)
  expect(cause.spark.counts.at(-1)).toBe(30)
  expect(await read(`occurrences/${ids[0]}`)).toMatchObject({ sameCause: 29 })
  const viewer = await ask('/api/v1/dead-letters', { authenticate: () => ({ name: 'eve', role: 'viewer', tenants: ['acme'] }) })
  expect(viewer.body.items).toMatchObject([{ count: 20, tenants: [{ tenant: 'acme', count: 20 }] }])
  expect(viewer.text).not.toContain('board.test.ts')
})

test('a running occurrence of several tasks tells how many of them are done', async () => {
  await fresh(steps)
  await punctual.enqueue(steps)
  await clock.advance('30s')
  expect((await read('overview')).running.items).toMatchObject([{ tasks: 2, tasksDone: 1 }])
})

test('a missed instant has its reason, and its downtime is on the timeline', async () => {
  await fresh(close)
  const stopping = punctual.close()
  await clock.advance('1m')
  await stopping
  await clock.advanceTo(Date.parse('2026-03-01T02:34:00Z'))
  await open(close)
  await clock.advance('1m')
  const { attention } = await read('overview')
  expect(attention).toMatchObject([
    { kind: 'missed', why: expect.stringMatching(/^no node ran from 2026-03-01T02:15:00.000Z to 2026-03-01T02:34/) },
  ])
  const { outages, lanes } = await read('timeline?from=2026-03-01T00:00:00Z&to=2026-03-01T06:00:00Z')
  expect(outages).toEqual([{ from: '2026-03-01T02:15:00.000Z', to: expect.stringMatching(/^2026-03-01T02:34/) }])
  expect(lanes[0].past).toMatchObject([{ state: 'missed', note: 'downtime' }])
  const later = await read('timeline?from=2026-03-01T02:20:00Z&to=2026-03-01T06:00:00Z')
  expect(later.lanes).toMatchObject([{ missedAt: '2026-03-01T02:15:00.000Z', past: [] }])
  expect((await read('occurrences?state=missed')).items).toMatchObject([{ reason: 'downtime' }])
})

test('the next run of a paused job is the first one after its pause', async () => {
  await fresh(tick, close)
  await punctual.pause(tick.name, { until: '2026-03-01T01:00:00Z' })
  await punctual.pause(close.name)
  const next = (items: { name?: string; job?: string; nextRun: string | null }[]) =>
    Object.fromEntries(items.map((one) => [one.name ?? one.job, one.nextRun]))
  const expected = { tick: '2026-03-01T01:00:00.000Z', close: null }
  expect(next((await read('jobs')).items)).toEqual(expected)
  expect(next((await read('timeline?from=2026-03-01T00:00:00Z&to=2026-03-02T00:00:00Z')).lanes)).toEqual(expected)
  expect((await read('overview')).next).toEqual([])
})

test('the calendar counts a job of every minute to its last day', async () => {
  await fresh(tick, close)
  const { cells, busiestHour, capped } = await read('calendar?from=2026-02-20T00:00:00Z&to=2026-03-15T00:00:00Z&timezone=UTC')
  expect(capped).toBe(false)
  const on = (date: string) =>
    cells
      .filter((cell: { date: string }) => cell.date === date)
      .reduce((sum: number, { coming }: { coming: number }) => sum + coming, 0)
  expect(on('2026-03-02')).toBe(1441)
  expect(on('2026-03-14')).toBe(1441)
  // The days before the first job do not make the busiest hour look calm.
  expect(busiestHour).toEqual({ hour: 2, runs: 61 })
})

test('the calendar counts enqueued work that is to come', async () => {
  await fresh(charge, close)
  for (const minutes of [20, 40, 100]) await punctual.enqueue(charge, { order: minutes }, { delay: `${minutes}m` })
  const { jobs } = await read('calendar/cell?from=2026-03-01T00:30:00Z&to=2026-03-01T01:30:00Z')
  expect(jobs).toEqual([{ tenant: 'default', job: 'charge', count: 2 }])
  const { cells } = await read('calendar?from=2026-03-01T00:00:00Z&to=2026-03-02T00:00:00Z&timezone=UTC')
  const coming = (hour: number) => cells.find((cell: { hour: number }) => cell.hour === hour).coming
  expect([0, 1, 2].map(coming)).toEqual([1, 1, 2])
})

test('a job that has failed since its last success is failing, whenever that was', async () => {
  await fresh(charge)
  await punctual.enqueue(charge, { order: 1 })
  await clock.advance('3h')
  const { items, marks } = await read('jobs?mark=failing')
  expect(items).toMatchObject([{ name: 'charge', marks: expect.arrayContaining(['failing']) }])
  expect(marks).toMatchObject({ failing: 1 })
  expect((await read('jobs?mark=late')).items).toEqual([])
  expect((await read('jobs?mark=failing&search=HARG')).items).toHaveLength(1)
  expect((await read('jobs?mark=failing&search=close')).items).toEqual([])
})

test('a scheduled job that fails is in attention with its newest error, before dead letters of jobs that work again', async () => {
  let isBroken = true
  const nightly = defineJob('nightly', { schedule: cron('0 * * * *'), retry: { max: 0 } }).task('collect', () => {
    throw Object.assign(new Error('rates are missing'), { code: 'ENORATES' })
  })
  const mail = defineJob('mail', { retry: { max: 0 } }).task('send', () => {
    if (isBroken) throw new Error('mailbox full')
  })
  await fresh(nightly as never, mail as never)
  await punctual.enqueue(mail, undefined)
  await clock.advance('5s')
  isBroken = false
  await punctual.enqueue(mail, undefined)
  await clock.advance('2h')
  const { attention, jobs } = await read('overview')
  expect(jobs).toMatchObject({ failing: 1, onTime: 1 })
  expect(attention).toMatchObject([
    {
      kind: 'failing',
      failing: true,
      job: 'nightly',
      label: 'rates are missing',
      code: 'ENORATES',
      count: 2,
      sample: expect.any(String),
    },
    { kind: 'dead', failing: false, job: 'mail', label: 'mailbox full' },
  ])
})

test('the steps of a timeline are as wide as the figures of its past', async () => {
  await fresh(tick)
  const stepOf = async (from: string) => (await read(`timeline?from=${from}&to=2026-03-01T06:00:00Z`)).stepMs
  expect(await stepOf('2026-03-01T00:00:00Z')).toBe(120_000)
  expect(await stepOf('2026-02-28T06:00:00Z')).toBe(900_000)
})

test('a lane says that its job runs', async () => {
  await fresh(steps, close)
  await punctual.enqueue(steps)
  await clock.advance('30s')
  const { lanes } = await read('timeline?from=2026-03-01T00:00:00Z&to=2026-03-01T06:00:00Z')
  expect(lanes).toMatchObject([
    { job: 'steps', marks: ['running'] },
    { job: 'close', marks: ['on-time'] },
  ])
})

test('pages of jobs go on after names of any length', async () => {
  await fresh(close)
  const tenant = '漢'.repeat(100)
  for (const first of ['a', 'b'])
    await punctual.schedule(close, cron('0 3 * * *'), { name: `${first}${'漢'.repeat(99)}`, tenant })
  const of = `jobs?limit=1&tenant=${encodeURIComponent(tenant)}`
  const { items, cursor } = await read(of)
  expect(items).toMatchObject([{ name: expect.stringMatching(/^a/) }])
  expect((await read(`${of}&cursor=${cursor}`)).items).toMatchObject([{ name: expect.stringMatching(/^b/) }])
})

test.each([0, 3, 30])('the newest runs of a job are shown beside %i that are still to come', async (live) => {
  await fresh(charge)
  await punctual.enqueue(charge, { order: 1 })
  await clock.advance('5s')
  for (let order = 0; order < live; order++) await punctual.enqueue(charge, { order }, { delay: '1h' })
  expect((await read('jobs/charge')).recent).toMatchObject([{ state: 'dead' }])
})
