// Compiled by the checks and never run: each line under an expectation must not compile, and all others must.
import { z } from 'zod'
import type { Punctual } from '../../src/client/punctual.ts'
import { defineJob } from '../../src/model/definition.ts'
import { cron } from '../../src/schedule/cron.ts'

declare const punctual: Punctual

const invoice = defineJob('invoice', { payload: z.object({ customer: z.string(), net: z.coerce.number().default(0) }) }).task(
  'send',
  () => 1,
)
const sweep = defineJob('sweep').task('run', () => 1)

// The payload of enqueue is the input of the schema, not its output.
punctual.enqueue(invoice, { customer: 'acme' })
punctual.enqueue(invoice, { customer: 'acme', net: '12' }, { key: 'k', delay: '15m' })
// @ts-expect-error a field is missing
punctual.enqueue(invoice, { net: 1 })
// @ts-expect-error a field has another type
punctual.enqueue(invoice, { customer: 5 })
// @ts-expect-error there is no such option
punctual.enqueue(invoice, { customer: 'acme' }, { dedupe: 'k' })
// @ts-expect-error a key is a text
punctual.enqueue(invoice, { customer: 'acme' }, { key: 5 })

// A payload that the schema asks for cannot be left out.
// @ts-expect-error the payload is missing
punctual.enqueue(invoice)

// Without a schema, and by name, any payload will do, and none.
punctual.enqueue(sweep)
punctual.enqueue(sweep, undefined, { key: 'k' })
punctual.enqueue(sweep, { anything: true })
// @ts-expect-error there is no such option
punctual.enqueue(sweep, undefined, { dedupe: 'k' })
punctual.enqueue('invoice', { anything: true })
punctual.enqueueMany([{ job: 'invoice', payload: 1 }, { job: invoice, payload: { customer: 'acme' } }, { job: sweep }])
punctual.enqueueMany([1, 2].map((net) => ({ job: invoice, payload: { customer: 'acme', net } })))
punctual.enqueueMany([
  { job: sweep },
  // @ts-expect-error the payload is missing
  { job: invoice },
])
// @ts-expect-error a field has another type
punctual.enqueueMany([1, 2].map((customer) => ({ job: invoice, payload: { customer } })))

punctual.schedule(invoice, cron('0 6 * * *'), { name: 'invoice/acme', payload: { customer: 'acme' } })
// @ts-expect-error a schedule is a value, not a text
punctual.schedule(invoice, '0 6 * * *', { payload: { customer: 'acme' } })
// @ts-expect-error the payload is missing
punctual.schedule(invoice, cron('0 6 * * *'), { name: 'invoice/acme' })
punctual.schedule(sweep, cron('0 6 * * *'))
punctual.schedule('invoice', cron('0 6 * * *'), { payload: 5 })

punctual.trigger(invoice)
punctual.trigger(invoice, { payload: { customer: 'acme' } })
// @ts-expect-error a field has another type
punctual.trigger(invoice, { payload: { customer: 5 } })
punctual.update(invoice, { payload: { customer: 'acme' }, priority: 1 })
// @ts-expect-error a field has another type
punctual.update(invoice, { payload: { customer: 5 } })

// A payload must survive JSON.
const dated = defineJob<{ at: Date }>('dated')
// @ts-expect-error a date would come back as a text
punctual.enqueue(dated, { at: new Date() })
interface Order {
  id: number
  lines: readonly { sku: string; count?: number }[]
  meta: Record<string, unknown>
}
punctual.enqueue(defineJob<Order>('order'), { id: 1, lines: [{ sku: 'a' }], meta: {} })

// A handler apart has the types of its definition.
punctual.handle(defineJob<{ order: number }>('apart').task('read').task('send'), 'send', ({ payload, results }) => {
  const order: number = payload.order
  return [order, results.read]
})
// @ts-expect-error there is no such task
punctual.handle(invoice, 'sned', () => 1)
punctual.handle('elsewhere', 'any', ({ payload }) => payload)

// An occurrence has the types of its job.
const found = await punctual.get(invoice, 'id')
const result: number | undefined = found?.result
const customer: string | undefined = found?.payload.customer
const byKey: number | undefined = (await punctual.get({ job: invoice, key: 'k' }))?.result
// @ts-expect-error nothing is known of the result
const unknown: number | undefined = (await punctual.get('id'))?.result

export { byKey, customer, result, unknown }

// A handle has the result type of its job, each item of a list its own.
const handle = await punctual.enqueue(invoice, { customer: 'acme' })
const total: number = await handle.result({ timeout: '1m', signal: AbortSignal.timeout(1) })
const list = await punctual.enqueueMany([{ job: invoice, payload: { customer: 'acme' } }, { job: defineJob('text', () => 'x') }])
const both: [number, string] = [await list[0].result(), await list[1].result()]
const totals: number[] = await Promise.all(
  (await punctual.enqueueMany([1, 2].map((net) => ({ job: invoice, payload: { customer: 'acme', net } })))).map((one) =>
    one.result(),
  ),
)
const keyed: number = await punctual.result({ job: invoice, idempotencyKey: 'k' })
const replayed: number = await (await punctual.replay({ job: invoice, key: 'k' }, { reason: 'x' })).result()
// @ts-expect-error nothing is known of the result
const byId: number = await punctual.result('id')
const known: number = await punctual.result<typeof invoice>('id')
// @ts-expect-error one of the two keys
punctual.get({ job: invoice, key: 'k', idempotencyKey: 'k' })

const forked = defineJob('forked', { mode: 'graph' })
  .task('read', () => 1)
  .task('left', { after: ['read'] }, () => 'l')
  .task('right', { after: ['read'] }, () => true)
const ends: { readonly read: number; readonly left: string; readonly right: boolean } = await (
  await punctual.enqueue(forked)
).result()
const joined: boolean = await (await punctual.enqueue(forked.task('end', { after: ['left', 'right'] }, () => false))).result()
const side: { readonly a: number; readonly b: string } = await (
  await punctual.enqueue(
    defineJob('side', { mode: 'parallel' })
      .task('a', () => 1)
      .task('b', () => 'b'),
  )
).result()
const alone: number = await (await punctual.enqueue(defineJob('alone', { mode: 'parallel' }).task('a', () => 1))).result()

export { alone, both, byId, ends, joined, keyed, known, replayed, side, total, totals }
