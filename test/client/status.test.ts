import { expect, it } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import { cron } from '../../src/schedule/cron.ts'
import { once } from '../../src/schedule/once.ts'
import { newCluster } from '../support/cluster.ts'
import { onEachStore } from '../support/each-store.ts'

onEachStore('JS-4 status and settings', (newDatabase) => {
  it('active is now within the window, enabled is active and not paused', async () => {
    const { node, clock } = newCluster({ connect: newDatabase(), start: '2026-01-01T00:30:00Z' })
    const window = { timezone: 'UTC', start: '2026-01-01T02:00:00Z', end: '2026-01-01T05:00:00Z' }
    const job = defineJob('tick', { schedule: cron('0 * * * *', window) }, () => 'done')
    const { punctual } = await node({ jobs: [job] })
    await clock.settle()
    expect(await punctual.status(job)).toMatchObject({ active: false, enabled: false, lastRun: null, lastResult: null })
    await clock.advance('150m')
    expect(await punctual.status(job)).toMatchObject({
      active: true,
      enabled: true,
      running: false,
      lastResult: { state: 'completed', result: 'done', error: null },
    })
    await punctual.pause(job)
    expect(await punctual.status(job)).toMatchObject({ active: true, enabled: false, paused: true })
    await punctual.resume(job)
    await punctual.update(job, { enabled: false })
    expect(await punctual.status(job)).toMatchObject({ active: false, enabled: false, paused: false })
    await punctual.update(job, { enabled: true })
    await clock.advance('3h')
    expect(await punctual.status(job)).toMatchObject({ active: false, nextRun: null })
  })

  it('a job without a schedule, or whose schedule is over, is not active; running is what some node runs', async () => {
    const { node, clock } = newCluster({ connect: newDatabase(), start: '2026-01-01T00:00:00Z' })
    const work = Promise.withResolvers<void>()
    const job = defineJob('work', () => work.promise)
    const past = defineJob('past', { schedule: once('2026-01-01T00:01:00Z') }, () => 1)
    const { punctual } = await node({ jobs: [job, past] })
    await punctual.enqueue(job)
    await clock.advance('2m')
    expect(await punctual.status(job)).toMatchObject({ active: false, running: true, lastResult: null })
    expect(await punctual.status(past)).toMatchObject({ active: false, running: false, lastResult: { result: 1 } })
    work.resolve()
    await clock.settle()
    expect(await punctual.status(job)).toMatchObject({ running: false, lastResult: { state: 'completed' } })
  })

  it('settings are those of the next run: of the job, or of one of its tasks', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const job = defineJob('steps', { timeout: '1m', retry: { max: 1 } })
      .task('a', () => 1)
      .task('b', { timeout: '2m', onFailure: 'continue' }, () => 2)
    const { punctual } = await node({ jobs: [job], retry: { max: 7, interval: '9s' } })
    await clock.settle()
    expect(await punctual.settings(job)).toMatchObject({
      timeoutMs: 60_000,
      retry: { max: 1, intervalMs: 9000 },
      onFailure: 'fail-fast',
    })
    expect(await punctual.settings(job, 'b')).toMatchObject({ timeoutMs: 120_000, onFailure: 'continue', retry: { max: 1 } })
    await punctual.update(job, { priority: 2 })
    expect(await punctual.settings('steps', 'a')).toMatchObject({ priority: 2, timeoutMs: 60_000 })
    await expect(punctual.settings(job, 'c')).rejects.toMatchObject({ code: 'task.unknown' })
    await expect(punctual.settings('stranger')).rejects.toMatchObject({ code: 'job.unknown' })
  })
})
