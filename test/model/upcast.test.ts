import { expect, it } from 'vitest'
import { z } from 'zod'
import { createPunctual, defineJob } from '../../src/index.ts'
import { defaultRetry, retryDelay } from '../../src/model/retry.ts'
import { memory } from '../../src/store/memory/index.ts'

const log = { debug() {}, info() {}, warn() {}, error() {} }

it('JS-11 payloads of older forms are brought up to date before the handler gets them', async () => {
  const store = memory()
  const client = createPunctual({ store, log })
  const ids = await Promise.all(
    [7, { order: 7 }, { orderId: 7, currency: 'PLN' }, 'odd'].map(async (old) => (await client.enqueue('pay', old)).id),
  )
  const seen: unknown[] = []
  const pay = defineJob(
    'pay',
    {
      payload: z.strictObject({ orderId: z.number(), currency: z.string() }),
      upcast: [(order: number) => ({ order }), ({ order }: { order: number }) => ({ orderId: order, currency: 'EUR' })],
      retry: { max: 0 },
    },
    ({ payload }) => {
      seen.push(payload)
    },
  )
  const node = createPunctual({ store, jobs: [pay], log })
  await node.runDue()
  const euro = { orderId: 7, currency: 'EUR' }
  expect(seen).toHaveLength(3)
  expect(seen).toEqual(expect.arrayContaining([euro, euro, { orderId: 7, currency: 'PLN' }]))
  expect(await node.get(ids[3] as string)).toMatchObject({ state: 'dead', error: { code: 'payload.rejected' } })
})

it('TM-3 progress may be a text alone, which keeps the share', async () => {
  const job = defineJob('load', ({ progress }) => {
    progress(0.5, 'half')
    progress('nearly')
  })
  const punctual = createPunctual({ store: memory(), jobs: [job], log })
  const reported: unknown[] = []
  punctual.on('task.progress', ({ done, message }) => reported.push([done, message]))
  const { id } = await punctual.enqueue(job)
  await punctual.runDue()
  expect(reported).toEqual([
    [0.5, 'half'],
    [0.5, 'nearly'],
  ])
  expect((await punctual.get(id))?.progress).toMatchObject({ done: 0.5, message: 'nearly' })
})

it('JS-5 a strategy of your own gets the job, the payload and the error', async () => {
  const asked: unknown[] = []
  const job = defineJob('flaky', {
    retry: {
      max: 5,
      strategy: ({ job, tenant, task, payload, error, retry }) => {
        asked.push([job, tenant, task, payload, (error as Error).message, retry])
        return false
      },
    },
  }).task('call', () => {
    throw new Error('busy')
  })
  const punctual = createPunctual({ store: memory(), jobs: [job], log })
  await punctual.enqueue(job, { n: 1 }, { tenant: 'acme' })
  await punctual.runDue()
  expect(asked).toEqual([['flaky', 'acme', 'call', { n: 1 }, 'busy', 1]])
})

it('TM-11 share and cap of the proportional strategy are parameters', () => {
  const wait = (policy: object, failures: number, delayMs: number) =>
    retryDelay({ ...defaultRetry, strategy: 'proportional', ...policy }, { failures, error: null, delayMs, random: 0 })
  const minutes = 60_000
  expect([wait({}, 1, 15 * minutes), wait({}, 2, 15 * minutes), wait({}, 1, 48 * 60 * minutes)]).toEqual([
    90_000, 180_000, 3_600_000,
  ])
  expect(wait({ share: 0.5 }, 1, 10 * minutes)).toBe(5 * minutes)
  expect(wait({ maxIntervalMs: 120 * minutes }, 1, 48 * 60 * minutes)).toBe(120 * minutes)
})
