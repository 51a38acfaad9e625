// All work of the shop that time starts. Each handler may run twice: its writes are of a kind that the second time changes nothing.
import type { DatabaseSync } from 'node:sqlite'
import { cron, defineJob } from 'punctual'
import { z } from 'zod'
import { fetchRates } from './rates.ts'
import { moveOrder } from './tables.ts'

const minute = 60_000
const day = 24 * 60 * minute

export interface ShopSettings {
  /** Where the currency rates come from. */
  readonly rateSource: string
  readonly now: () => number
  /** Called between two steps: tests end the process there. */
  readonly after?: (step: string) => void
}

export function shopJobs({ rateSource, now, after = () => {} }: ShopSettings) {
  const order = z.object({ order: z.string() })

  /** Daily at 12:15, when the bank has published. A failed fetch is tried three more times. */
  const syncRates = defineJob('sync-rates', {
    schedule: cron('15 12 * * *', { timezone: 'Europe/Warsaw' }),
    retry: { max: 3, interval: '1m' },
  })
    .task('fetch', ({ signal }) => fetchRates(rateSource, signal))
    .task('store', ({ results, transaction }) =>
      transaction((db: DatabaseSync) => {
        const insert = db.prepare('INSERT OR REPLACE INTO currency_rate (day, code, rate) VALUES (?, ?, ?)')
        for (const { code, mid } of results.fetch.rates) insert.run(results.fetch.day, code, mid)
        return results.fetch.rates.length
      }),
    )

  /** 15 minutes after its checkout an unpaid order is released. Payment cancels it: see `Shop.pay`. */
  const paymentTimeout = defineJob(
    'payment-timeout',
    { payload: order, retry: { max: 2, strategy: 'proportional' } },
    ({ payload, transaction }) =>
      transaction((db: DatabaseSync) => {
        const isMoved = moveOrder(db, payload.order, 'unpaid', 'payment-expired', now())
        after('payment-timeout written')
        return isMoved
      }),
  )

  /** 48 hours after its checkout an unpaid order is closed. */
  const orderExpiry = defineJob(
    'order-expiry',
    { payload: order, retry: { max: 2, strategy: 'proportional' } },
    ({ payload, transaction }) =>
      transaction((db: DatabaseSync) => moveOrder(db, payload.order, 'payment-expired', 'expired', now())),
  )

  /** Every 5 minutes: orders without a timeout, since the shop crashed in the middle of their checkout. */
  const expirePayments = defineJob('expire-payments', { schedule: cron('*/5 * * * *'), retry: { max: 3 } }, ({ transaction }) =>
    transaction((db: DatabaseSync) => {
      const placedBefore = db.prepare('SELECT id FROM orders WHERE state = ? AND placed_at < ?')
      const late = placedBefore.all('unpaid', now() - 20 * minute)
      for (const { id } of late) moveOrder(db, String(id), 'unpaid', 'payment-expired', now())
      const old = placedBefore.all('payment-expired', now() - 2 * day - 20 * minute)
      for (const { id } of old) moveOrder(db, String(id), 'payment-expired', 'expired', now())
      after('expire-payments written')
      return late.length + old.length
    }),
  )

  const dropCarts = defineJob('drop-carts', { schedule: cron('0 4 * * *') }, ({ transaction }) =>
    transaction((db: DatabaseSync) => Number(db.prepare('DELETE FROM cart WHERE touched_at < ?').run(now() - 7 * day).changes)),
  )

  const dropTokens = defineJob('drop-tokens', { schedule: cron('30 4 * * *') }, ({ transaction }) =>
    transaction((db: DatabaseSync) => Number(db.prepare('DELETE FROM login_token WHERE expires_at < ?').run(now()).changes)),
  )

  return { syncRates, paymentTimeout, orderExpiry, expirePayments, dropCarts, dropTokens }
}
