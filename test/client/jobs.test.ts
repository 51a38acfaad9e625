import { createPunctual, cron, defineJob, interval, type Punctual } from 'punctual'
import { memory } from 'punctual/memory'
import { manualClock } from 'punctual/testing'
import { beforeEach, describe, expect, test } from 'vitest'

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
const clock = () => manualClock('2026-03-01T12:00:00Z')
const report = defineJob('report', { schedule: cron('0 6 * * *') }).task('build', () => 1)
const sync = defineJob('sync', { schedule: interval('PT30S') }).task('run', () => 1)

let punctual: Punctual
beforeEach(async () => {
  punctual = createPunctual({ store: memory(), clock: clock(), jobs: [report, sync], log: silent })
  await punctual.runDue()
})

const viewOf = async (name: string) => (await punctual.jobs({ name })).items[0]
const iso = (at: Date | null | undefined) => at?.toISOString()

describe('jobs as they are shown', () => {
  test('the schedule is described as it was written', async () => {
    expect(await viewOf('sync')).toMatchObject({ scheduleText: 'Every 30 seconds (UTC)' })
    expect(await viewOf('report')).toMatchObject({ scheduleText: 'At 06:00 (UTC)' })
  })

  test('TM-8 the fields that a person has changed are named, until they are reset', async () => {
    await punctual.update('report', { schedule: cron('0 8 * * *'), enabled: true, retry: { max: 7 } }, { by: 'ada' })
    expect((await viewOf('report'))?.overridden.toSorted()).toEqual(['enabled', 'schedule', 'settings'])
    await punctual.reset('report', { fields: ['settings', 'enabled'] })
    expect((await viewOf('report'))?.overridden).toEqual(['schedule'])
    await punctual.reset('report')
    expect(await viewOf('report')).toMatchObject({ overridden: [], override: null, scheduleText: 'At 06:00 (UTC)' })
  })

  test('JB-20 until a graceful update limits, the next run is that of the version before', async () => {
    await punctual.update('report', { schedule: cron('0 20 * * *') }, { update: 'graceful' })
    const next = '2026-03-02T06:00:00.000Z'
    expect(iso((await viewOf('report'))?.nextRun)).toBe(next)
    expect(iso((await punctual.status('report')).nextRun)).toBe(next)
    expect((await punctual.explain('report')).reasons.at(-1)).toMatchObject({ code: 'next-run', details: { nextRun: next } })
  })

  test('a job that is disabled has no next run', async () => {
    await punctual.update('report', { enabled: false })
    expect(await viewOf('report')).toMatchObject({ enabled: false, nextRun: null })
  })

  test('are found by name, and page by name and tenant', async () => {
    await punctual.schedule(report, cron('0 7 * * *'), { tenant: 'acme' })
    expect((await punctual.jobs({ name: 'report' })).items.map(({ tenant }) => tenant)).toEqual(['acme', 'default'])
    const { items, cursor } = await punctual.jobs({ limit: 1 })
    expect(items).toMatchObject([{ name: 'report', tenant: 'acme' }])
    const rest = await punctual.jobs({ cursor: cursor as string })
    expect(rest.cursor).toBeNull()
    expect(rest.items.map(({ tenant, name }) => `${tenant}/${name}`)).toEqual(['default/report', 'default/sync'])
  })
})

test('the versions of a job that does not exist are refused, not empty', async () => {
  await expect(punctual.versions('reprot')).rejects.toMatchObject({ code: 'job.unknown' })
  await expect(punctual.diff('reprot', 1, 2)).rejects.toMatchObject({ code: 'job.unknown' })
})
