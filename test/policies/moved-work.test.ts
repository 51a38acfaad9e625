import { expect, it } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import { cron } from '../../src/schedule/cron.ts'
import { onStores } from './stores.ts'

onStores('work that was moved', (scene) => {
  it('TS-2 is late by the time since it was moved to, under the id it had', async () => {
    const { slowNode, clock } = scene()
    const seen: unknown[] = []
    const remind = defineJob<string>('remind', { retry: { max: 1, interval: '1m' } }, (ctx) => {
      seen.push([ctx.payload, ctx.scheduledAt.toISOString(), ctx.lateness])
      if (ctx.attempt === 1) throw new Error('once')
    })
    const { punctual } = await slowNode({ jobs: [remind] })
    const later = await punctual.enqueue(remind, 'later', { key: 'later', delay: '10m' })
    const sooner = await punctual.enqueue(remind, 'sooner', { delay: '3h' })
    await punctual.reschedule({ job: remind, key: 'later' }, { delay: '1h' })
    await punctual.reschedule(sooner.id, { delay: '5m' })
    await clock.advance('2h')
    await punctual.idle()
    expect(seen).toEqual([
      ['sooner', '2026-01-01T00:05:00.000Z', 0],
      ['sooner', '2026-01-01T00:05:00.000Z', 0],
      ['later', '2026-01-01T01:00:00.000Z', 0],
      ['later', '2026-01-01T01:00:00.000Z', 0],
    ])
    const { scheduledAt, dueAt, id } = (await punctual.get({ job: remind, key: 'later' })) ?? {}
    expect([id, scheduledAt?.toISOString()]).toEqual([later.id, '2026-01-01T01:00:00.000Z'])
    expect(dueAt?.toISOString()).toBe('2026-01-01T01:01:00.000Z')
  })

  it('stands for its instant of the schedule, which is not planned again', async () => {
    const { slowNode, clock } = scene('2026-01-01T00:59:55Z')
    const seen: unknown[] = []
    const tick = defineJob('tick', { schedule: cron('0 * * * *', { timezone: 'UTC' }) }, (ctx) => {
      seen.push([ctx.scheduledAt.toISOString(), ctx.startedAt.toISOString(), ctx.lateness])
    })
    const { punctual } = await slowNode({ jobs: [tick] })
    await clock.advance('1s')
    const [planned] = (await punctual.list({ job: tick })).items
    await punctual.reschedule(planned?.id as string, { runAt: '2026-01-01T01:30:00Z' })
    await clock.advance('90m')
    await punctual.idle()
    expect(seen).toEqual([
      ['2026-01-01T01:00:00.000Z', '2026-01-01T01:30:00.000Z', 0],
      ['2026-01-01T02:00:00.000Z', '2026-01-01T02:00:00.000Z', 0],
    ])
  })
})
