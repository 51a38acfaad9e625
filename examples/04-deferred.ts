// Work for one entity at a later time: a payment that must arrive within a while. Run it with: node examples/04-deferred.ts
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPunctual, defineJob } from 'punctual'
import { sqlite } from 'punctual/sqlite'

const folder = await mkdtemp(join(tmpdir(), 'punctual-'))
const file = join(folder, 'orders.db')

// The shop only creates and cancels work. It knows the job by its name: neither the definition nor a handler is here.
// An order expires once: its key is remembered after the end.
const shop = createPunctual({ store: sqlite(file) })
await shop.enqueue('payment-timeout', { order: 1 }, { idempotencyKey: 'order-1', entity: 'ada', delay: '50ms' })
await shop.enqueue('payment-timeout', { order: 2 }, { idempotencyKey: 'order-2', entity: 'ada', delay: '15m' })
await shop.enqueue('payment-timeout', { order: 3 }, { idempotencyKey: 'order-3', entity: 'bob', delay: '15m' })
await shop.enqueue('payment-timeout', { order: 4 }, { idempotencyKey: 'order-4', entity: 'bob', delay: '15m' })

// Another process on the same file, here simply another object, has the handler.
const paymentTimeout = defineJob<{ order: number }>('payment-timeout').task(
  'expire',
  ({ payload }) => `order ${payload.order} expired`,
)
const worker = createPunctual({ store: sqlite(file), jobs: [paymentTimeout] })
const expired = new Promise((resolve) => worker.on('occurrence.completed', resolve))
await worker.start()

// Order 2 is paid: its timeout is canceled by key. Bob leaves: all that is pending about him is canceled by entity.
console.log(`order 2 is paid: ${await shop.cancel({ job: 'payment-timeout', idempotencyKey: 'order-2' }, { reason: 'paid' })}`)
console.log(`bob leaves: ${await shop.cancel({ job: 'payment-timeout', entity: 'bob' })}`)

// Order 1 is not paid.
await expired
for (const idempotencyKey of ['order-1', 'order-2', 'order-3', 'order-4']) {
  const occurrence = await shop.get({ job: 'payment-timeout', idempotencyKey })
  console.log(`${idempotencyKey}: ${occurrence?.state} ${occurrence?.result ?? occurrence?.reason ?? ''}`.trimEnd())
}
console.log(`order 1 is paid too late: ${await shop.cancel({ job: 'payment-timeout', idempotencyKey: 'order-1' })}`)
console.log(`order 9 does not exist: ${await shop.cancel({ job: 'payment-timeout', idempotencyKey: 'order-9' })}`)

await worker.close()
await shop.close()
await rm(folder, { recursive: true })
