import { createPunctual } from 'punctual'
import { memory } from 'punctual/memory'
import { manualClock } from 'punctual/testing'
import { expect, test } from 'vitest'
import * as demo from '../../examples/demo/jobs.ts'
import { payOrder, placeOrder } from '../../examples/demo/shop.ts'
import { world } from '../../examples/demo/world.ts'

test('the demo does what its comments say', async () => {
  const { setup: _, ...definitions } = demo
  const clock = manualClock('2026-10-21T12:00:00Z')
  await using punctual = createPunctual({ store: memory(), jobs: Object.values(definitions), clock })
  let isDown = true
  world.current = {
    work: (ms) => new Promise((resolve) => void clock.timer(ms, resolve)),
    now: () => clock.wall(),
    isGatewayDown: () => isDown,
    isGatewayHanging: () => false,
  }
  await punctual.start()

  // While the gateway is down the unpaid order dies after four attempts; the paid one is canceled by its key.
  await placeOrder(punctual, 1, '15m')
  await placeOrder(punctual, 2, '15m')
  await payOrder(punctual, 2)
  await clock.advance('25m')
  const orders = await punctual.list({ job: 'payment-timeout', limit: 10 })
  const byKey = Object.fromEntries(orders.items.map((line) => [line.key, line]))
  expect(byKey['order-1']).toMatchObject({ state: 'dead', error: { message: 'connect ECONNREFUSED 10.4.0.17:443' } })
  expect(byKey['order-2']).toMatchObject({ state: 'canceled' })

  // Once it is up again, another chance succeeds.
  isDown = false
  await punctual.retry(byKey['order-1']!.id)
  await clock.advance('1m')
  expect(await punctual.get(byKey['order-1']!.id)).toMatchObject({ state: 'completed' })

  const { id } = await punctual.enqueue('invoice', { customer: 'globex' })
  await clock.advance('10m')
  expect(await punctual.get(id)).toMatchObject({ state: 'dead', error: { message: 'customer.vatId is required' } })

  await clock.advanceTo('2026-10-21T15:10:00Z')
  const mails = await punctual.list({ job: 'digest-mail', limit: 20 })
  expect(mails.items.map(({ state }) => state)).toEqual(Array.from({ length: 8 }, () => 'completed'))
  const exports = await punctual.list({ job: 'order-export', state: ['pending', 'waiting'], limit: 1 })
  expect((await punctual.explain(exports.items[0]!.id)).reasons.map(({ code }) => code)).toContain('no-handler')
})
