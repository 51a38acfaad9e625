// The shop: what its customers do. Each step may be repeated after a crash, and `expire-payments` finds what a crash left behind.
import type { DatabaseSync } from 'node:sqlite'
import type { Punctual } from 'punctual'
import type { shopJobs } from './jobs.ts'
import { moveOrder } from './tables.ts'

export class Shop {
  readonly #db: DatabaseSync
  readonly #punctual: Punctual
  readonly #jobs: ReturnType<typeof shopJobs>
  readonly #now: () => number
  /** Called between two steps: tests end the process there. */
  readonly #after: (step: string) => void

  constructor(
    db: DatabaseSync,
    punctual: Punctual,
    jobs: ReturnType<typeof shopJobs>,
    options: { now: () => number; after?: (step: string) => void },
  ) {
    this.#db = db
    this.#punctual = punctual
    this.#jobs = jobs
    this.#now = options.now
    this.#after = options.after ?? (() => {})
  }

  async checkout(order: string, total: number): Promise<void> {
    const { paymentTimeout, orderExpiry } = this.#jobs
    this.#db
      .prepare("INSERT INTO orders (id, state, total, placed_at) VALUES (?, 'unpaid', ?, ?) ON CONFLICT DO NOTHING")
      .run(order, total, this.#now())
    this.#after('order')
    await this.#punctual.enqueue(paymentTimeout, { order }, { idempotencyKey: order, delay: '15m' })
    this.#after('payment-timeout')
    await this.#punctual.enqueue(orderExpiry, { order }, { idempotencyKey: order, delay: '48h' })
    this.#after('order-expiry')
  }

  /** False for an order that is not waiting for its payment any more: the money goes back. */
  async pay(order: string): Promise<boolean> {
    const isPaid = moveOrder(this.#db, order, 'unpaid', 'paid', this.#now()) || this.#stateOf(order) === 'paid'
    this.#after('paid')
    if (!isPaid) return false
    for (const job of [this.#jobs.paymentTimeout, this.#jobs.orderExpiry]) {
      await this.#punctual.cancel({ job, idempotencyKey: order }, { reason: 'paid' })
      this.#after(`cancel ${job.name}`)
    }
    return true
  }

  #stateOf(order: string): unknown {
    return this.#db.prepare('SELECT state FROM orders WHERE id = ?').get(order)?.state
  }
}
