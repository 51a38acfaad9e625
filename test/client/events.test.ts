import { expect, it } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import { cron } from '../../src/schedule/cron.ts'
import { newCluster } from '../support/cluster.ts'
import { onEachStore } from '../support/each-store.ts'

onEachStore('events of a client', (newDatabase) => {
  it('a final failure is one event, whether the work is kept for a person or not', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const job = defineJob('bad', { retry: { max: 0 } }, () => {
      throw new Error('no luck')
    })
    const { punctual, probe } = await node({ jobs: [job] })
    for (const [deadLetter, state] of [
      [true, 'dead'],
      [false, 'failed'],
    ] as const) {
      const { id } = await punctual.enqueue(job, undefined, { deadLetter })
      const event = await probe.next('occurrence.failed', (one) => one.id === id)
      expect(event).toMatchObject({ id, state, error: { message: 'no luck' }, report: { outcome: state } })
    }
  })

  it('work that is created, jobs that are updated, paused and resumed, and work that is canceled', async () => {
    const { node, client, clock } = newCluster({ connect: newDatabase() })
    const job = defineJob('mail').task('only', () => 1)
    const one = await node({ jobs: [job] })
    await clock.settle()
    expect(one.probe.seen('job.updated')).toEqual([{ tenant: 'default', job: 'mail', version: 1, by: null }])
    const { punctual, probe } = client()
    const { id } = await punctual.enqueue('mail', 1, { key: 'k', delay: '1h' })
    await punctual.enqueue('mail', 1, { key: 'k', delay: '1h' })
    expect(probe.seen('occurrence.created')).toEqual([{ id, tenant: 'default', job: 'mail', key: 'k', source: 'deferred' }])
    await punctual.update('mail', { schedule: cron('0 6 * * *') }, { by: 'ada' })
    expect(probe.seen('job.updated')).toEqual([{ tenant: 'default', job: 'mail', version: 2, by: 'ada' }])
    await punctual.resume('mail')
    await punctual.pause('mail')
    await punctual.resume('mail')
    expect(probe.seen('job.resumed')).toEqual([{ tenant: 'default', job: 'mail' }])
    await punctual.cancel(id, { reason: 'paid' })
    expect(probe.seen('occurrence.canceled')).toMatchObject([{ id, reason: 'paid' }])
  })
})
