// The jobs that `npm start` runs: a small shop. A jobs file exports what defineJob returns and, where there is something to prepare,
// setup. Open the printed address to see them. At the first start, seed.ts has filled the store with some days of history.
import { cron, defineJob, interval, type Punctual } from 'punctual'
import { z } from 'zod'
import { openShop } from './shop.ts'
import { chance, world } from './world.ts'

const timezone = 'Europe/Warsaw'
const seconds = 1000
const minutes = 60 * seconds
const work = (ms: number, signal: AbortSignal) => world.current.work(ms, signal)
const about = (ms: number, seed: string) => Math.round(ms * (0.75 + 0.5 * chance(seed)))

// Work for one order at its own time: fifteen minutes after checkout the payment is taken, unless the customer paid before and
// the shop canceled it by its key. Retries wait in the store, so they outlive a restart; finished tasks are not run again.
export const paymentTimeout = defineJob('payment-timeout', {
  payload: z.object({
    order: z.number().int().positive(),
    amount: z.string().regex(/^\d+\.\d{2}$/, 'must have two decimals, such as 19.90'),
    currency: z.enum(['PLN', 'EUR', 'CHF']),
  }),
  retry: { max: 3, interval: '30s', factor: 2 },
  rate: { key: 'payment-gateway', limit: 50, per: '1s' },
})
  .task('check-order', async ({ payload, signal }) => {
    await work(about(400, `check${payload.order}`), signal)
    return { paid: false }
  })
  .task('capture', async ({ payload, signal, log, once, attempt }) => {
    log.info('Charging', { amount: payload.amount, currency: payload.currency, attempt })
    // The gateway now and then takes the money and does not answer: then a person decides under Gate whether it was charged.
    const charge = async () => {
      if (world.current.isGatewayHanging()) {
        await work(2 * minutes, signal)
        throw new Error('socket hang up')
      }
      await work(about(1200, `capture${payload.order}`), signal)
      if (!world.current.isGatewayDown()) return `ch_${payload.order}`
      log.warn('The gateway refused the connection', { host: '10.4.0.17:443' })
      throw Object.assign(new Error('connect ECONNREFUSED 10.4.0.17:443'), { code: 'ECONNREFUSED' })
    }
    return { captured: payload.amount, charge: await once('charge', charge, { timeout: '30s' }) }
  })
  .task('notify', { onFailure: 'continue' }, ({ signal }) => work(300, signal))

// Five tasks as a graph: usage and rates run at the same time, render waits for both.
// A payload that the schema refuses is refused where it is enqueued, and where a person edits it.
export const invoice = defineJob('invoice', {
  payload: z.object({
    customer: z.string().min(1),
    vatId: z
      .string()
      .regex(/^[A-Z]{2}\w{2,12}$/, 'must start with a country, such as PL7010001234')
      .optional(),
  }),
  mode: 'graph',
  retry: { max: 1, interval: '20s' },
})
  .task('usage', async ({ payload, signal, progress, log }) => {
    for (const part of [1, 2, 3, 4]) {
      await work(about(30 * seconds, `usage${payload.customer}${part}`), signal)
      log.info('Meter read', { meter: part, hours: 30 + Math.round(chance(`${payload.customer}${part}`) * 20) })
      progress(part / 4, `${part} of 4 meters read`)
    }
    return { hours: 120 + Math.round(chance(payload.customer) * 80) }
  })
  .task('rates', async ({ payload, signal }) => {
    await work(about(45 * seconds, `rates${payload.customer}`), signal)
    return { EUR: 1, PLN: 4.25 }
  })
  .task('render', { after: ['usage', 'rates'] }, async ({ payload, results, signal, log }) => {
    await work(about(70 * seconds, `render${payload.customer}`), signal)
    if (!payload.vatId) log.error('The customer has no VAT id', { customer: payload.customer })
    if (!payload.vatId) throw Object.assign(new Error('customer.vatId is required'), { name: 'ValidationError' })
    return { pages: 3, hours: results.usage?.hours }
  })
  .task('archive', { after: ['render'] }, ({ signal }) => work(20 * seconds, signal))
  .task('send', { after: ['render'], retry: { max: 5 } }, ({ signal }) => work(15 * seconds, signal))

// The handler of its task is in another program that is not running: due work waits, is shown as late, and says why.
export const orderExport = defineJob('order-export', { schedule: cron('30 */2 * * *', { timezone }), overlap: 'queue-one' }).task(
  'upload',
  { timeout: '1h' },
)

// Instants that came due while no node ran are only recorded: a ledger is not closed twice, nor late.
export const ledgerClose = defineJob('ledger-close', {
  schedule: cron('15 3 * * *', { timezone }),
  recovery: 'mark-missed',
}).task('close', async ({ signal, scheduledAt }) => {
  await work(about(2 * minutes, scheduledAt.toISOString()), signal)
  return { balanced: true }
})

// Longer than the time between two of its instants now and then: the next waits in line.
export const stockReconcile = defineJob('stock-reconcile', { schedule: cron('0 * * * *', { timezone }), overlap: 'queue' }).task(
  'count',
  { timeout: '2h' },
  async ({ signal, progress, log, scheduledAt, source }) => {
    const parts = 40
    const total = about(source === 'manual' ? 9 * minutes : 21 * minutes, scheduledAt.toISOString())
    for (let part = 1; part <= parts; part++) {
      await work(total / parts, signal)
      progress(part / parts, `${part * 450} of ${parts * 450} items`)
      log.info(`Shelf ${part} counted`, { items: 450, off: Math.round(chance(`${scheduledAt.toISOString()}${part}`) * 2) })
    }
    return { items: parts * 450, corrected: Math.round(chance(scheduledAt.toISOString()) * 30) }
  },
)

export const currencyRateSync = defineJob('currency-rate-sync', { schedule: interval('PT15M'), retry: { max: 0 } }).task(
  'fetch',
  async ({ signal, scheduledAt }) => {
    await work(about(1400, scheduledAt.toISOString()), signal)
    if (chance(`rates${Math.floor(scheduledAt.getTime() / 3_600_000)}`) > 0.985) throw new Error('HTTP 503 from rates-api')
    return { EUR: 1, PLN: 4.25, CHF: 0.94 }
  },
)

export const renewalTick = defineJob('subscription.renewal_tick', {
  schedule: cron('* * * * *'),
  retry: { max: 2, interval: '2s' },
}).task('renew', async ({ signal, scheduledAt }) => {
  await work(about(300, scheduledAt.toISOString()), signal)
  return { renewed: Math.floor(chance(scheduledAt.toISOString()) * 4) }
})

// A person has moved it to 02:30 in the dashboard; the code still says 02:00, and a deploy does not undo the change.
export const nightlyReport = defineJob('nightly-report', {
  schedule: cron('0 2 * * *', { timezone }),
  recovery: 'last',
  retry: { max: 2, interval: '1m' },
  executionTimeout: '2h',
})
  .task('collect', { timeout: '1h' }, async ({ signal, scheduledAt }) => {
    await work(about(24 * minutes, scheduledAt.toISOString()), signal)
    return { rows: 17_000 + Math.round(chance(scheduledAt.toISOString()) * 2000) }
  })
  .task('render', { timeout: '1h' }, async ({ signal, results }) => {
    await work(12 * minutes, signal)
    return `${results.collect.rows} rows`
  })
  .task('publish', async ({ signal, results, enqueue }) => {
    await work(90 * seconds, signal)
    for (const customer of ['acme', 'globex', 'initech']) await enqueue('digest-mail', { customer })
    return results.render
  })

export const tokenCleanup = defineJob('token-cleanup', { schedule: cron('10 * * * *') }).task(
  'delete',
  ({ signal, scheduledAt }) => work(about(2800, scheduledAt.toISOString()), signal),
)

export const fraudScoreRefresh = defineJob('fraud-score-refresh', { schedule: cron('5/20 * * * *') }).task(
  'score',
  ({ signal, scheduledAt }) => work(about(2100, scheduledAt.toISOString()), signal),
)

// A batch with children: one mail for each customer, each a separate occurrence under a key. A repeated attempt finds them.
export const emailDigest = defineJob('email-digest', { schedule: cron('0 9,17 * * *', { timezone }) }).task(
  'fan-out',
  async ({ scheduledAt, signal, enqueue, log }) => {
    const day = scheduledAt.toISOString().slice(0, 13)
    const customers = ['acme', 'globex', 'initech', 'umbrella', 'hooli', 'stark', 'wayne', 'wonka']
    for (const customer of customers) await enqueue('digest-mail', { customer }, { idempotencyKey: `${customer}-${day}` })
    log.info('Mails are on their way', { mails: customers.length })
    await work(about(40 * seconds, day), signal)
    return { mails: customers.length }
  },
)

export const digestMail = defineJob<{ customer: string }>('digest-mail', { concurrency: 3 }).task('send', ({ payload, signal }) =>
  work(about(4 * seconds, payload.customer), signal),
)

export const dunningReminders = defineJob('dunning-reminders', { schedule: cron('0 1/4 * * *', { timezone }) }).task(
  'remind',
  { timeout: '1h' },
  async ({ signal, scheduledAt }) => {
    await work(about(16 * minutes, scheduledAt.toISOString()), signal)
    return { reminded: Math.round(chance(scheduledAt.toISOString()) * 90) }
  },
)

export const searchReindex = defineJob('search-reindex', {
  schedule: cron('0 4 * * *', { timezone }),
  executionTimeout: '3h',
}).task('index', { timeout: '3h' }, ({ signal, scheduledAt }) => work(about(75 * minutes, scheduledAt.toISOString()), signal))

// Called once the scheduler has started: orders come in from here on.
export async function setup(punctual: Punctual): Promise<void> {
  await openShop(punctual)
}
