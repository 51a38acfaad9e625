import { expect, it } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import { cron } from '../../src/schedule/cron.ts'
import { newCluster } from '../support/cluster.ts'
import { onEachStore } from '../support/each-store.ts'

onEachStore('MT-1 tenant(name)', (newDatabase) => {
  const job = defineJob<{ n: number }>('work', {}, ({ tenant, payload }) => `${tenant} ${payload.n}`)

  it('works in its tenant alone, and does not know the ids of others', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const { punctual } = await node({ jobs: [job] })
    const acme = punctual.tenant('acme')
    const globex = punctual.tenant('globex')
    const { id } = await acme.enqueue(job, { n: 1 }, { key: 'k', delay: '1h' })
    await globex.enqueueMany([{ job, payload: { n: 2 } }])
    expect(await acme.get(id)).toMatchObject({ tenant: 'acme', state: 'pending' })
    expect(await acme.get(job, id)).toMatchObject({ payload: { n: 1 } })
    expect(await acme.get({ job, key: 'k' })).toMatchObject({ id })
    expect(await globex.get(id)).toBeNull()
    expect(await globex.get(job, id)).toBeNull()
    expect(await globex.get({ job, key: 'k' })).toBeNull()
    expect(await globex.cancel(id)).toBe('unknown')
    for (const act of [
      () => globex.reschedule(id, { delay: '1m' }),
      () => globex.retry(id),
      () => globex.discard(id),
      () => globex.replay(id, { reason: 'x' }),
    ])
      await expect(act()).rejects.toMatchObject({ code: 'occurrence.unknown' })
    await acme.reschedule({ job, key: 'k' }, { delay: '1m' })
    await clock.advance('2m')
    expect(await acme.get(id)).toMatchObject({ state: 'completed', result: 'acme 1' })
    expect((await acme.list()).items.map((line) => line.id)).toEqual([id])
    expect(await globex.counts()).toMatchObject({ completed: 1 })
    expect(acme.recent(job)).toHaveLength(1)
  })

  it('schedules, pauses, triggers and explains jobs of its own', async () => {
    const { node, clock } = newCluster({ connect: newDatabase(), start: '2026-01-01T00:00:30Z' })
    const { punctual } = await node({ jobs: [job] })
    const acme = punctual.tenant('acme')
    await acme.schedule(job, cron('0 * * * *', { timezone: 'UTC' }), { payload: { n: 5 } })
    expect((await acme.jobs()).items).toMatchObject([{ tenant: 'acme', name: 'work' }])
    expect(await acme.status(job)).toMatchObject({ active: true, paused: false })
    expect(await acme.pause()).toBe('paused')
    expect(await acme.status(job)).toMatchObject({ active: true, enabled: false, paused: true })
    expect(await acme.explain(job.name)).toMatchObject({ subject: 'job', reasons: [{ code: 'paused' }, { code: 'next-run' }] })
    expect(await acme.resume()).toBe('resumed')
    const { id } = await acme.trigger(job)
    await clock.advance('1s')
    expect(await acme.get(id)).toMatchObject({ tenant: 'acme', result: 'acme 5' })
    const { id: operation } = await acme.backfill(job, { from: '2025-12-31T22:00:00Z', to: '2026-01-01T00:00:00Z' })
    await clock.advance('5s')
    expect(await acme.get(operation)).toMatchObject({ state: 'completed', result: { created: 2 } })
    await acme.update(job, { priority: 1 })
    expect(await acme.settings(job)).toMatchObject({ priority: 1 })
    expect(await acme.versions(job)).toHaveLength(2)
    await acme.retire(job)
    expect(await acme.status(job)).toMatchObject({ active: false, nextRun: null })
  })

  it('has its tenant: another is refused', async () => {
    const { client } = newCluster({ connect: newDatabase() })
    const { punctual } = client({ jobs: [job] })
    await expect(punctual.tenant('acme').list({ tenant: 'globex' } as never)).rejects.toMatchObject({ code: 'option.unknown' })
    expect(() => punctual.tenant('')).toThrow(expect.objectContaining({ code: 'name.invalid' }))
  })
})
