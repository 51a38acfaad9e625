import { expect, it } from 'vitest'
import { z } from 'zod'
import { defineJob } from '../../src/model/definition.ts'
import { newCluster, occurrence } from '../support/cluster.ts'
import { onEachStore } from '../support/each-store.ts'

const outage = { on: true }
const order = z.object({ order: z.number() })
const charge = defineJob('charge', { payload: order, retry: { max: 0 } }, ({ payload }) => {
  if (outage.on) throw Object.assign(new Error(`card of order ${payload.order} refused`), { code: 'CARD' })
  return payload.order
})
const mail = defineJob('mail', { retry: { max: 0 } }, () => {
  throw new Error('no route')
})

onEachStore('TM-10 dead letters', (newDatabase) => {
  const started = async () => {
    outage.on = true
    const { node } = newCluster({ connect: newDatabase() })
    const { punctual, probe } = await node({ jobs: [charge, mail] })
    const died = async (count: number) => {
      for (let i = 0; i < count; i++) await probe.next('occurrence.failed')
    }
    return { punctual, died }
  }

  it('are grouped by their cause, with what a person needs to decide', async () => {
    const { punctual, died } = await started()
    await punctual.enqueue(mail)
    await died(1)
    for (const tenant of ['acme', 'globex']) await punctual.enqueue(charge, { order: 42 }, { tenant })
    await died(2)
    const groups = await punctual.deadLetters({ groupBy: 'cause' })
    expect(groups).toMatchObject([
      { count: 2, label: 'card of order # refused', tenants: ['acme', 'globex'], sample: { job: 'charge' } },
      { count: 1, label: 'no route', tenants: ['default'], sample: { job: 'mail' } },
    ])
    const [cards] = groups
    expect(cards?.sample).toMatchObject({ job: 'charge', state: 'dead', cause: cards?.cause, error: { code: 'CARD' } })
    expect(cards?.lastAt).toBeInstanceOf(Date)
    const listed = await punctual.deadLetters({ cause: cards?.cause as string })
    expect(listed.items).toHaveLength(2)
    expect(await punctual.tenant('acme').deadLetters({ groupBy: 'cause' })).toMatchObject([{ count: 1 }])
    await expect(punctual.list({ cause: 'x', state: 'failed' })).rejects.toMatchObject({ code: 'option.invalid' })
  })

  it('of a cause are retried as one operation, and others stay', async () => {
    const { punctual, died } = await started()
    await punctual.enqueue(mail)
    await died(1)
    const charges = await punctual.enqueueMany([1, 2, 3].map((n) => ({ job: charge, payload: { order: n } })))
    await died(3)
    const cause = (await punctual.deadLetters({ groupBy: 'cause' }))[0]?.cause as string
    expect(await punctual.retryAll({ cause }, { dryRun: true })).toMatchObject({ matches: 3, acts: 3, capped: false })
    expect((await punctual.deadLetters()).items).toHaveLength(4)
    outage.on = false
    const operation = await punctual.retryAll({ cause })
    expect(await operation.result()).toEqual({ changed: 3, unchanged: 0 })
    await punctual.idle()
    for (const { id } of charges) expect((await occurrence(punctual, id)).state).toBe('completed')
    expect((await punctual.deadLetters()).items).toMatchObject([{ job: 'mail' }])
    expect(await occurrence(punctual, operation.id)).toMatchObject({ progress: { done: 1, message: '3 of 3' } })
  })

  it('are discarded as one operation with a reason', async () => {
    const { punctual, died } = await started()
    const { id } = await punctual.enqueue(mail)
    await died(1)
    const operation = await punctual.discardAll({ job: mail }, { reason: 'obsolete' })
    expect(await operation.result()).toEqual({ changed: 1, unchanged: 0 })
    expect(await occurrence(punctual, id)).toMatchObject({ state: 'canceled', reason: 'obsolete' })
  })

  it('are retried with an edited payload once the schema has accepted it', async () => {
    const { punctual, died } = await started()
    const { id } = await punctual.enqueue(charge, { order: 1 })
    await died(1)
    await expect(punctual.retry(id, { payload: { order: 'two' } })).rejects.toMatchObject({ code: 'payload.rejected' })
    expect((await occurrence(punctual, id)).state).toBe('dead')
    outage.on = false
    await punctual.retry(id, { payload: { order: 2 } })
    expect(await punctual.result(id)).toBe(2)
    expect((await occurrence(punctual, id)).payload).toEqual({ order: 2 })
  })

  it('refuse a filter without matches, another state and unknown options, and write nothing', async () => {
    const { punctual } = await started()
    await expect(punctual.retryAll({ job: charge })).rejects.toMatchObject({ code: 'occurrence.unknown' })
    expect(await punctual.retryAll({ job: charge }, { dryRun: true })).toMatchObject({ matches: 0, acts: 0 })
    await expect(punctual.discardAll({ state: 'failed' })).rejects.toMatchObject({ code: 'option.invalid' })
    await expect(punctual.retryAll({}, { reasons: 'x' } as never)).rejects.toMatchObject({ code: 'option.unknown' })
    await expect(punctual.deadLetters({ groupBy: 'job' as 'cause' })).rejects.toMatchObject({ code: 'option.invalid' })
    expect((await punctual.list()).items).toEqual([])
  })

  it('refuse a filter with a field that is undefined, in every operation', async () => {
    const { punctual, died } = await started()
    const { id } = await punctual.enqueue(mail)
    await died(1)
    const refused = { code: 'option.invalid', details: { field: 'cause' } }
    const filter = { job: mail, cause: undefined } as never
    await expect(punctual.discardAll(filter)).rejects.toMatchObject(refused)
    await expect(punctual.retryAll(filter, { dryRun: true })).rejects.toMatchObject(refused)
    await expect(punctual.cancelAll(filter)).rejects.toMatchObject(refused)
    await expect(punctual.replayAll(filter, { reason: 'again' })).rejects.toMatchObject(refused)
    await expect(punctual.tenant('acme').discardAll(filter)).rejects.toMatchObject(refused)
    expect((await occurrence(punctual, id)).state).toBe('dead')
  })

  it('live work is canceled as one operation, and a replay of many can be tried dry', async () => {
    const { punctual, died } = await started()
    const waiting = await punctual.enqueueMany([1, 2].map((n) => ({ job: charge, payload: { order: n }, delay: '1h' })))
    expect(await punctual.cancelAll({ job: charge }, { dryRun: true })).toMatchObject({ acts: 2 })
    const operation = await punctual.cancelAll({ job: charge }, { reason: 'shop closed' })
    expect(await operation.result()).toEqual({ changed: 2, unchanged: 0 })
    for (const { id } of waiting) expect((await occurrence(punctual, id)).state).toBe('canceled')
    await punctual.enqueue(mail)
    await died(1)
    const preview = await punctual.replayAll({ job: mail }, { reason: 'again', dryRun: true })
    expect(preview).toMatchObject({ matches: 1, acts: 1 })
    expect((await punctual.list({ job: mail })).items).toHaveLength(1)
  })
})
