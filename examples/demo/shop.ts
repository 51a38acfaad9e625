// Customers: they order, most pay in time, some do not.
import type { Punctual } from 'punctual'
import { chance } from './world.ts'

const orderEveryMs = 20_000

const customers = ['acme', 'globex', 'initech', 'umbrella', 'hooli', 'stark', 'wayne', 'wonka']
const customerOf = (order: number): string => customers[Math.floor(chance(`customer${order}`) ** 2 * customers.length)] ?? 'acme'

/** The large customers are tenants of the scheduler: limits, pauses and lists can be kept to one of them. */
const tenantOf = (customer: string): string => (customer === 'acme' || customer === 'globex' ? customer : 'default')

/** Places an order, whose payment is due later. The key makes it one timeout for an order, however often it is called. */
export async function placeOrder(punctual: Punctual, order: number, delay: string): Promise<void> {
  const amount = (20 + chance(`amount${order}`) * 400).toFixed(2)
  const customer = customerOf(order)
  await punctual.enqueue(
    'payment-timeout',
    { order, amount, currency: 'PLN' },
    { tenant: tenantOf(customer), key: `order-${order}`, entity: customer, refs: { order: String(order), customer }, delay },
  )
}

/** A customer pays: the timeout is canceled by the order's key alone. */
export async function payOrder(punctual: Punctual, order: number): Promise<void> {
  const tenant = tenantOf(customerOf(order))
  await punctual.cancel({ tenant, job: 'payment-timeout', key: `order-${order}` }, { reason: 'paid' })
}

export const paysInTime = (order: number): boolean => chance(`pays${order}`) < 0.55

/** Orders for as long as the process runs, and some work under way at once, to show on the dashboard. */
export async function openShop(punctual: Punctual): Promise<void> {
  const { items } = await punctual.list({ job: 'stock-reconcile', state: ['running', 'waiting', 'retrying'], limit: 5 })
  // One runs and one waits for it: overlap is 'queue'.
  for (let live = items.length; live < 2; live++) await punctual.trigger('stock-reconcile')
  const month = new Date().toISOString().slice(0, 7)
  await punctual.enqueue(
    'invoice',
    { customer: 'acme', vatId: 'PL7010001234' },
    { idempotencyKey: `acme-${month}-${Date.now() % 1000}`, entity: 'acme' },
  )
  let order = 48_213 + Math.floor(Date.now() / orderEveryMs)
  const timer = setInterval(() => {
    order += 1
    const next = order
    void placeOrder(punctual, next, next % 4 === 0 ? '20s' : '15m').catch(() => {})
    if (paysInTime(next)) setTimeout(() => void payOrder(punctual, next).catch(() => {}), 9 * 60_000).unref()
  }, orderEveryMs)
  timer.unref()
}
