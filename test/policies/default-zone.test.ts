import { expect, it } from 'vitest'
import { createPunctual } from '../../src/client/punctual.ts'
import { defineJob } from '../../src/model/definition.ts'
import { cron } from '../../src/schedule/cron.ts'
import { interval } from '../../src/schedule/interval.ts'
import { union } from '../../src/schedule/union.ts'
import { memory } from '../../src/store/memory/index.ts'
import { onStores } from './stores.ts'

onStores('JB-3 the zone of schedules that name none', (scene) => {
  it('is that of the job, else of the definition, else of the scheduler', async () => {
    const { slowNode, clock } = scene('2026-07-01T00:00:00Z')
    const six = cron('0 6 * * *')
    const inline = defineJob('inline', { schedule: six }, () => 1)
    const own = defineJob('own', { schedule: six, timezone: 'America/New_York' }, () => 1)
    const plain = defineJob('plain', () => 1)
    const { punctual } = await slowNode({ jobs: [inline, own, plain], timezone: 'Europe/Oslo' })
    await clock.advance('1m')
    const nextOf = async (name: string) => (await punctual.status(name)).nextRun?.toISOString().slice(11, 16)
    expect(await nextOf('inline')).toBe('04:00')
    expect(await nextOf('own')).toBe('10:00')
    const { nextRun } = await punctual.schedule(own, six, { name: 'tokyo', timezone: 'Asia/Tokyo' })
    expect(nextRun?.toISOString()).toBe('2026-07-01T21:00:00.000Z')
    await punctual.schedule(own, six, { name: 'york' })
    expect(await nextOf('york')).toBe('10:00')
    await punctual.schedule(plain, cron('0 6 * * *', { timezone: 'UTC' }))
    expect(await nextOf('plain')).toBe('06:00')
    await punctual.update('plain', { schedule: union([six, cron('0 5 * * *', { timezone: 'UTC' })]) })
    expect(await nextOf('plain')).toBe('04:00')
    await punctual.update('plain', { schedule: interval('R/2026-07-01T06:00:00/P1D') })
    expect(await nextOf('plain')).toBe('04:00')
    expect((await punctual.jobs({ name: 'inline' })).items).toMatchObject([{ schedule: { timezone: 'Europe/Oslo' } }])
  })
})

it('must be one that is known', () => {
  const unknown = expect.objectContaining({ code: 'zone.invalid' })
  expect(() => createPunctual({ store: memory(), timezone: 'Mars/Olympus' })).toThrow(unknown)
  expect(() => defineJob('x', { timezone: 'Mars/Olympus' })).toThrow(unknown)
})
