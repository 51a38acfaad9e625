import { execFile, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { databasePath } from '../support/database-path.ts'

const run = promisify(execFile)
const program = 'test/examples/shop.process.ts'

interface Books {
  readonly orders: readonly { id: string; state: string }[]
  readonly events: readonly { order_id: string; state: string; count: number }[]
  readonly live: Record<string, number>
}

/** Where the shop ends, and the states of its orders four days later. */
const steps: readonly [step: string, orders: Readonly<Record<string, string>>][] = [
  ['order', { a: 'expired' }],
  ['payment-timeout', { a: 'expired' }],
  ['order-expiry', { a: 'expired' }],
  ['paid', { a: 'paid' }],
  ['cancel payment-timeout', { a: 'paid' }],
  ['cancel order-expiry', { a: 'paid' }],
  ['payment-timeout written', { a: 'paid', b: 'expired' }],
  ['expire-payments written', { a: 'paid', b: 'expired' }],
]

describe('TM-18 the shop', () => {
  test('runs three days on SQLite and prints what happens', async () => {
    const { stdout } = await run(process.execPath, ['examples/shop/main.ts'], { timeout: 60_000 })
    expect(stdout).toContain('order-1 is paid: true')
    expect(stdout).toContain('order-2 is paid: false')
    expect(stdout).toContain('sync-rates: The rates could not be fetched: 503; tried again')
    expect(stdout).toMatch(/order-1: paid\norder-2: expired\nrates: 4\n$/)
  })

  test.each(steps)('killed after %s, its books are right once it is back', async (step, orders) => {
    const file = databasePath()
    const { signal, status } = spawnSync(process.execPath, [program, file, step], { timeout: 60_000 })
    expect([signal, status]).toEqual(['SIGKILL', null])
    const { stdout } = await run(process.execPath, [program, file], { timeout: 60_000 })
    const books = JSON.parse(stdout) as Books
    expect(Object.fromEntries(books.orders.map(({ id, state }) => [id, state]))).toEqual(orders)
    for (const { count } of books.events) expect(count).toBe(1)
    const last = (order: string) => books.events.filter(({ order_id }) => order_id === order).at(-1)?.state
    for (const [order, state] of Object.entries(orders)) expect(last(order)).toBe(state)
    expect(books.live).toMatchObject({ pending: expect.any(Number), running: 0, retrying: 0, waiting: 0, dead: 0 })
  })
})
