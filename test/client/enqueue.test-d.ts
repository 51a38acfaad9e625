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

// What is enqueued is what the schema takes in, not what it makes of it.
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
punctual.enqueue([
  { job: 'invoice', payload: 1 },
  { job: invoice, payload: { customer: 'acme' } },
])

punctual.schedule(invoice, cron('0 6 * * *'), { name: 'invoice/acme', payload: { customer: 'acme' } })
// @ts-expect-error a schedule is a value, not a text
punctual.schedule(invoice, '0 6 * * *', { payload: { customer: 'acme' } })
