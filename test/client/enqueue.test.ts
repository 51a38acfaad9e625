import { describe, expect, it } from 'vitest'
import type { When } from '../../src/client/due-time.ts'
import type { EnqueueRequest } from '../../src/index.ts'
import { defineJob } from '../../src/model/definition.ts'
import { keyedId } from '../../src/model/ids.ts'
import { newCluster, occurrence } from '../support/cluster.ts'
import { onEachStore } from '../support/each-store.ts'

const job = defineJob('remind').task('only', ({ payload }) => payload)

onEachStore('BL-1 enqueue', (newDatabase) => {
  it('under an idempotency key creates once: the second call is told of the first, and whether it differs', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const { punctual, probe } = await node({ jobs: [job] })
    const first = await punctual.enqueue(job, { n: 1 }, { idempotencyKey: 'order-1', delay: '1h' })
    expect(first).toEqual({
      id: keyedId('default', 'remind', 'order-1'),
      outcome: 'created',
      state: 'pending',
      payloadDiffers: false,
    })
    expect(await punctual.enqueue(job, { n: 1 }, { idempotencyKey: 'order-1', delay: '2h' })).toEqual({
      id: first.id,
      outcome: 'existing',
      state: 'pending',
      payloadDiffers: false,
    })
    expect(await punctual.enqueue(job, { n: 2 }, { idempotencyKey: 'order-1' })).toEqual({
      id: first.id,
      outcome: 'existing',
      state: 'pending',
      payloadDiffers: true,
    })
    expect(await punctual.enqueue(job, { n: 1 }, { idempotencyKey: 'order-1', tenant: 'acme' })).toMatchObject({
      outcome: 'created',
    })
    await probe.next('occurrence.completed')
    expect(await occurrence(punctual, first.id)).toMatchObject({ state: 'pending', payload: { n: 1 } })
  })

  it('of calls at the same time creates once', async () => {
    const { client } = newCluster({ connect: newDatabase() })
    const one = client({ jobs: [job] })
    const two = client({ jobs: [job] })
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        (at % 2 ? one : two).punctual.enqueue(job, at, { idempotencyKey: 'same', delay: '1h' }),
      ),
    )
    expect(answers.filter(({ outcome }) => outcome === 'created')).toHaveLength(1)
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1)
    expect((await one.punctual.counts()).pending).toBe(1)
  })

  it('TS-2 reschedule moves what is pending, replace also its payload, and what has run is left alone', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const { punctual, probe } = await node({ jobs: [job] })
    const { id, outcome } = await punctual.enqueue(job, 1, { idempotencyKey: 'k', delay: '1h' })
    expect(outcome).toBe('created')
    expect(await punctual.enqueue(job, 2, { idempotencyKey: 'k', delay: '2h', onConflict: 'reschedule' })).toMatchObject({
      id,
      outcome: 'moved',
    })
    expect(await occurrence(punctual, id)).toMatchObject({ payload: 1, dueAt: new Date(clock.wall() + 7_200_000) })
    expect(await punctual.enqueue(job, 3, { idempotencyKey: 'k', delay: '1m', onConflict: 'replace' })).toMatchObject({
      id,
      outcome: 'replaced',
    })
    await clock.advance('1m')
    await probe.next('occurrence.completed')
    expect(await punctual.enqueue(job, 4, { idempotencyKey: 'k', onConflict: 'replace' })).toMatchObject({
      id,
      outcome: 'existing',
      state: 'completed',
      payloadDiffers: true,
    })
    expect(await occurrence(punctual, id)).toMatchObject({ state: 'completed', result: 3 })
  })

  it('a key is free when the work has ended', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const { punctual, probe } = await node({ jobs: [job] })
    const first = await punctual.enqueue(job, 1, { key: 'k', delay: '1h' })
    expect(await punctual.enqueue(job, 1, { key: 'k' })).toMatchObject({ id: first.id, outcome: 'existing' })
    await punctual.reschedule({ job, key: 'k' }, { delay: 0 })
    await probe.next('occurrence.completed')
    const second = await punctual.enqueue(job, 2, { key: 'k' })
    expect(second).toMatchObject({ outcome: 'created' })
    expect(second.id).not.toBe(first.id)
    await probe.next('occurrence.completed')
    expect((await occurrence(punctual, { job, key: 'k' })).id).toBe(second.id)
  })

  it('the two kinds of keys do not meet, and lists and targets tell them apart', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const { punctual } = await node({ jobs: [job] })
    const live = await punctual.enqueue(job, 1, { key: 'k', delay: '1h' })
    const ever = await punctual.enqueue(job, 2, { idempotencyKey: 'k', delay: '1h' })
    expect(ever).toMatchObject({ outcome: 'created' })
    expect(await occurrence(punctual, { job, key: 'k' })).toMatchObject({ id: live.id, key: 'k', idempotencyKey: null })
    expect(await occurrence(punctual, { job, idempotencyKey: 'k' })).toMatchObject({
      id: ever.id,
      key: null,
      idempotencyKey: 'k',
    })
    const ids = async (filter: object) => (await punctual.list(filter)).items.map(({ id }) => id)
    expect(await ids({ key: 'k' })).toEqual([live.id])
    expect(await ids({ idempotencyKey: 'k' })).toEqual([ever.id])
    expect((await punctual.list()).items).toMatchObject([
      { id: ever.id, key: null, idempotencyKey: 'k' },
      { id: live.id, key: 'k', idempotencyKey: null },
    ])
    expect((await punctual.explain({ job, idempotencyKey: 'k' })).id).toBe(ever.id)
    await punctual.reschedule({ job, idempotencyKey: 'k' }, { delay: '2h' })
    expect(await punctual.cancel({ job, key: 'k' })).toBe('canceled')
    expect((await occurrence(punctual, ever.id)).state).toBe('pending')
    expect(await punctual.cancel({ job, idempotencyKey: 'k' })).toBe('canceled')
  })

  it('in bulk each request has a key of its own kind', async () => {
    const { client } = newCluster({ connect: newDatabase() })
    const { punctual } = client({ jobs: [job] })
    const requests = [
      { job, delay: '1h', key: 'k', idempotencyKey: undefined },
      { job, delay: '1h', key: undefined, idempotencyKey: 'k' },
    ] as never[]
    await punctual.enqueueMany(requests)
    expect((await punctual.list()).items.map(({ key, idempotencyKey }) => [key, idempotencyKey])).toEqual([
      [null, 'k'],
      ['k', null],
    ])
  })

  it.each(['key', 'idempotencyKey'])('canceled before it began, %s is free again', async (kind) => {
    const { client } = newCluster({ connect: newDatabase() })
    const { punctual } = client({ jobs: [job] })
    const order = { [kind]: 'order-1' }
    const first = await punctual.enqueue(job, 1, { ...order, delay: '1h' })
    expect(await punctual.cancel(first.id)).toBe('canceled')
    const second = await punctual.enqueue(job, 1, { ...order, delay: '1h' })
    expect(second).toMatchObject({ outcome: 'created', state: 'pending' })
    expect(second.id).not.toBe(first.id)
    expect(await punctual.enqueue(job, 1, { ...order, delay: '1h' })).toMatchObject({ id: second.id, outcome: 'existing' })
  })

  it('an idempotency key outlives its record: after retention it is still taken, for keyRetention', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const { punctual, probe } = await node({ jobs: [job], retention: '10s', keyRetention: '10m' })
    const { id } = await punctual.enqueue(job, 1, { idempotencyKey: 'k' })
    await probe.next('occurrence.completed')
    await clock.advance('2m')
    expect(await punctual.get(id)).toBeNull()
    expect(await punctual.enqueue(job, 1, { idempotencyKey: 'k' })).toEqual({
      id,
      outcome: 'tombstoned',
      state: null,
      payloadDiffers: false,
    })
    await clock.advance('12m')
    expect(await punctual.enqueue(job, 1, { idempotencyKey: 'k' })).toMatchObject({ id, outcome: 'created' })
  })

  it('takes a duration as delay and an instant as runAt, and a past one is due now', async () => {
    const { client } = newCluster({ connect: newDatabase(), start: '2026-03-01T12:00:00Z' })
    const { punctual } = client({ jobs: [job] })
    const dueOf = async (when: When) =>
      (await occurrence(punctual, (await punctual.enqueue(job, 1, when)).id)).dueAt.toISOString()
    expect(await dueOf({ delay: '15m' })).toBe('2026-03-01T12:15:00.000Z')
    expect(await dueOf({ delay: 'PT1H30M' })).toBe('2026-03-01T13:30:00.000Z')
    expect(await dueOf({ delay: 1500 })).toBe('2026-03-01T12:00:01.500Z')
    expect(await dueOf({ runAt: new Date('2026-04-01T00:00:00Z') })).toBe('2026-04-01T00:00:00.000Z')
    expect(await dueOf({ runAt: '2026-04-01T02:00:00+02:00' })).toBe('2026-04-01T00:00:00.000Z')
    await dueOf({ runAt: '2020-01-01T00:00:00Z' })
    expect((await punctual.runDue()).claimed).toBe(1)
  })

  it('in bulk answers in order, over several calls to the store', async () => {
    const { client } = newCluster({ connect: newDatabase() })
    const { punctual, store } = client({ jobs: [job] })
    const answers = await punctual.enqueueMany(
      Array.from({ length: 2500 }, (_, at) => ({ job, payload: at, idempotencyKey: `k${at % 2000}`, delay: '1h' })),
    )
    expect(answers.filter(({ outcome }) => outcome === 'created')).toHaveLength(2000)
    expect(answers[7]?.id).toBe(keyedId('default', 'remind', 'k7'))
    expect(answers[2007]).toMatchObject({ id: answers[7]?.id, outcome: 'existing', payloadDiffers: true })
    expect(store.calls('create')).toBe(Math.ceil(2500 / store.batchLimit))
    expect(await punctual.enqueueMany([])).toEqual([])
  })

  it('in bulk without keys answers in order too', async () => {
    const { client } = newCluster({ connect: newDatabase() })
    const { punctual, store } = client({ jobs: [job] })
    const count = 2 * store.batchLimit + 1
    const answers = await punctual.enqueueMany(Array.from({ length: count }, (_, at) => ({ job, payload: at, delay: '1h' })))
    for (const at of [0, store.batchLimit, count - 1])
      expect((await punctual.get((answers[at] as { id: string }).id))?.payload).toBe(at)
  })

  it('in bulk is divided evenly, and only where it is more than the store takes at once', async () => {
    const { client } = newCluster({ connect: newDatabase() })
    const { punctual, store } = client({ jobs: [job] })
    const { batchLimit } = store
    const sizes: number[] = []
    store.refuse('create', (rows: readonly unknown[]) => sizes.push(rows.length) === 0)
    const requests = (count: number) => Array.from({ length: count }, () => ({ job, delay: '1h' }))
    await punctual.enqueueMany(requests(batchLimit))
    await punctual.enqueueMany(requests(2 * batchLimit + 4))
    const quarter = batchLimit / 2 + 1
    expect(sizes).toEqual([batchLimit, quarter, quarter, quarter, quarter])
  })

  it('in bulk takes nothing of one request for another', async () => {
    const { client } = newCluster({ connect: newDatabase() })
    const { punctual } = client({ jobs: [job] })
    const requests: EnqueueRequest[] = [
      { job, payload: 1 },
      { job, payload: 2 },
      { job, payload: 3, priority: 1 },
      { job, payload: 4, priority: 2 },
      { job, payload: 5, entity: 'order-1' },
      { job: 'other', payload: 6, entity: 'order-1' },
      { job: 'other', payload: 7, entity: 'order-1', tenant: 'acme' },
      { job: 'other', payload: 8, refs: { order: '1' } },
      { job: 'other', payload: 9, refs: { order: '2' } },
      { job: 'other', payload: 10, retry: { max: 1 } },
      { job: 'other', payload: 11 },
      { job: 'other' },
    ]
    const answers = await punctual.enqueueMany(requests.map((request) => ({ delay: '1h', ...request })))
    for (const [at, { job: asked, payload, priority = 5, entity = null, tenant = 'default', refs = {} }] of requests.entries())
      expect(await occurrence(punctual, answers[at]?.id as string)).toMatchObject({
        job: typeof asked === 'string' ? asked : asked.name,
        payload,
        priority,
        entity,
        tenant,
        refs,
      })
  })

  it('in bulk asks the schema about each payload, and creates nothing when it refuses one', async () => {
    const { client } = newCluster({ connect: newDatabase() })
    const validate = (value: unknown) => (value === 'bad' ? { issues: [{ message: 'is bad' }] } : { value })
    const strict = defineJob('strict', { payload: { '~standard': { version: 1, vendor: 'test', validate } } }).task(
      'run',
      () => {},
    )
    const { punctual } = client({ jobs: [strict, job] })
    const requests = [{ job, payload: 'bad' }, ...['good', 'bad'].map((payload) => ({ job: strict, payload }))]
    await expect(punctual.enqueueMany(requests)).rejects.toMatchObject({ code: 'payload.rejected' })
    expect((await punctual.counts()).pending).toBe(0)
    expect(await punctual.enqueueMany(requests.slice(0, 2))).toHaveLength(2)
  })

  it('in bulk creates nothing more once it has failed', async () => {
    const { client } = newCluster({ connect: newDatabase() })
    const { punctual, store } = client({ jobs: [job] })
    const outcomes = ['refused']
    store.refuse('create', () => outcomes.pop() !== undefined)
    const all = Array.from({ length: 4 * store.batchLimit }, () => ({ job, delay: '1h' }))
    await expect(punctual.enqueueMany(all)).rejects.toThrow('refused')
    const calls = store.calls('create')
    expect(calls).toBeLessThanOrEqual(2)
    expect((await punctual.counts({ job })).pending).toBe((calls - 1) * store.batchLimit)
  })

  it('one call that the store refuses does not fail the others of the same moment', async () => {
    const { client } = newCluster({ connect: newDatabase() })
    const { punctual } = client({ jobs: [job] })
    const answers = await Promise.allSettled([punctual.enqueue(job, 1), punctual.enqueue(job, () => 1), punctual.enqueue(job, 3)])
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  })

  it('F10 the settings of one occurrence hold for it alone', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const bad = defineJob('bad', { retry: { max: 5 } }).task('only', ({ fail }) => fail('no luck'))
    const { punctual, probe } = await node({ jobs: [bad] })
    const { id } = await punctual.enqueue(bad, 1, { retry: { max: 0 }, deadLetter: false, timeout: '1m', executionTimeout: '2m' })
    await probe.next('occurrence.failed')
    expect((await occurrence(punctual, id)).settings).toMatchObject({
      retry: { max: 0, intervalMs: 2000 },
      timeoutMs: 60_000,
      executionTimeoutMs: 120_000,
      deadLetter: false,
    })
    await punctual.enqueue(bad, 1)
    await probe.next('occurrence.retrying')
  })
})

describe('JB-13 the cascade', () => {
  it('scheduler ← definition ← job ← task ← occurrence, field by field', async () => {
    const { node } = newCluster()
    const waits: unknown[] = []
    const cascaded = defineJob('cascade', { retry: { interval: '3s' }, mode: 'parallel' })
      .task('plain', ({ fail }) => fail('x'))
      .task('own', { retry: { factor: 10 }, onFailure: 'continue' }, ({ fail }) => fail('x'))
    const { punctual } = await node({ jobs: [cascaded], retry: { max: 7, interval: '9s' } })
    punctual.on('task.failed', ({ task, retryInMs }) => waits.push([task, retryInMs]))
    const { id } = await punctual.enqueue(cascaded, undefined, { retry: { jitter: 1 } })
    await punctual.idle()
    expect(waits).toEqual([
      ['plain', 1500],
      ['own', 1500],
    ])
    expect((await occurrence(punctual, id)).settings?.retry).toMatchObject({ max: 7, intervalMs: 3000, jitter: 1, factor: 2 })
  })
})
