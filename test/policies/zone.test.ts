import { expect, it } from 'vitest'
import type { Punctual } from '../../src/client/punctual.ts'
import { defineJob } from '../../src/model/definition.ts'
import type { JobRecord } from '../../src/model/job.ts'
import { cron } from '../../src/schedule/cron.ts'
import type { Store } from '../../src/store/store.ts'
import { historyOf, onStores } from './stores.ts'

const noon = cron('0 12 * * *', { timezone: 'Europe/Oslo' })

/** Makes the job's plan look as if it had been made with other zone data, an hour off. */
async function plannedOtherwise(store: Store, data: { version: string; rules?: string }): Promise<JobRecord> {
  const [job] = await store.readJobs({ tenant: 'default', name: 'lunch', limit: 1 })
  const { version, cursor, nextAt, tz: own } = job as JobRecord
  const [, year, rules] = own.split(' ')
  const tz = [data.version, year, data.rules ?? rules].join(' ')
  const { pauseRevision } = await store.jobsToPlan({ horizonMs: 0, limit: 1 })
  const plan = {
    tenant: 'default',
    job: 'lunch',
    version,
    cursor,
    pauseRevision,
    through: cursor,
    rows: [],
    ranges: [],
    revive: [],
    drop: [],
  }
  const [answer] = await store.plan([{ ...plan, nextAt: (nextAt as number) + 3_600_000, tz }])
  expect(answer).toMatchObject({ outcome: 'planned' })
  return job as JobRecord
}

onStores('JB-4 zones', (scene) => {
  const job = () => defineJob('lunch', { schedule: noon }).task('only', () => 1)
  const known = async (store: Store) => (await store.readJobs({ tenant: 'default', name: 'lunch', limit: 1 }))[0] as JobRecord

  it('the next instant of a plan made with older data that differ is found anew', async () => {
    const { slowNode, clock } = scene('2026-03-01T06:00:00Z')
    const one = await slowNode({ jobs: [job()] })
    await clock.advance('1s')
    await one.punctual.stop()
    const before = await plannedOtherwise(one.store, { version: '2019a', rules: 'ffffffff' })
    const two = await slowNode({ jobs: [job()] })
    await clock.advance('1s')
    expect((await known(two.store)).nextAt).toBe(before.nextAt)
    expect(two.log).toContainEqual(expect.objectContaining({ message: expect.stringContaining('newer time zone data') }))
    await clock.advance('6h')
    expect((await historyOf(two.punctual, 'lunch')).map(({ scheduledAt }) => scheduledAt.toISOString())).toEqual([
      '2026-03-01T11:00:00.000Z',
    ])
  })

  it('data that say the same of the zone change nothing', async () => {
    const { slowNode, clock } = scene('2026-03-01T06:00:00Z')
    const one = await slowNode({ jobs: [job()] })
    await clock.advance('1s')
    await one.punctual.stop()
    const before = await plannedOtherwise(one.store, { version: '2019a' })
    const two = await slowNode({ jobs: [job()] })
    await clock.advance('1s')
    expect((await known(two.store)).nextAt).toBe((before.nextAt as number) + 3_600_000)
  })

  it('a plan made with newer data is left as it is', async () => {
    const { slowNode, clock } = scene('2026-03-01T06:00:00Z')
    const one = await slowNode({ jobs: [job()] })
    await clock.advance('1s')
    await one.punctual.stop()
    const before = await plannedOtherwise(one.store, { version: '2999a', rules: 'ffffffff' })
    const two = await slowNode({ jobs: [job()] })
    await clock.advance('1s')
    expect((await known(two.store)).nextAt).toBe((before.nextAt as number) + 3_600_000)
  })

  it('TM-13 a spread moves when a run is due, the same on every node, and never its instant', async () => {
    const { slowNode, clock } = scene('2026-03-01T06:00:00Z')
    const spread = () =>
      defineJob('lunch', { schedule: cron('0 * * * *', { timezone: 'UTC', spread: '10m' }) }).task('only', () => 1)
    const starts = async (punctual: Punctual) =>
      (await historyOf(punctual, 'lunch')).map(({ dueAt, scheduledAt }) => dueAt.getTime() - scheduledAt.getTime())
    const one = await slowNode({ jobs: [spread()] })
    await clock.advance('70m')
    await one.punctual.stop()
    const two = await slowNode({ jobs: [spread()] })
    await clock.advance('60m')
    const delays = await starts(two.punctual)
    expect(delays).toHaveLength(2)
    expect(delays[0]).toBe(delays[1])
    expect(delays[0]).toBeGreaterThan(0)
    expect(delays[0]).toBeLessThan(600_000)
    for (const line of await historyOf(two.punctual, 'lunch')) {
      expect(line.state).toBe('completed')
      expect(line.scheduledAt.getTime() % 3_600_000).toBe(0)
      expect(line.startedAt?.getTime()).toBeGreaterThanOrEqual(line.dueAt.getTime())
    }
  })

  it.each(['all', 'mark-missed'] as const)(
    'over the change to summer time every local noon is there once, also over a gap (%s)',
    async (recovery) => {
      const { slowNode, clock } = scene('2026-03-27T06:00:00Z')
      const lunch = () => defineJob('lunch', { schedule: noon, recovery }).task('only', () => 1)
      const one = await slowNode({ jobs: [lunch()] })
      await one.punctual.stop()
      await clock.advance('4d')
      const { punctual } = await slowNode({ jobs: [lunch()] })
      await clock.advance('1m')
      await punctual.idle()
      expect((await historyOf(punctual, 'lunch')).map(({ scheduledAt }) => scheduledAt.toISOString().slice(5, 13))).toEqual([
        '03-27T11',
        '03-28T11',
        '03-29T10',
        '03-30T10',
      ])
    },
  )
})
