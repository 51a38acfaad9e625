// A payment provider with its own file. It knows the truth about payments; its webhooks are lost or come twice.
import { DatabaseSync } from 'node:sqlite'

export interface PaymentEvent {
  readonly id: string
  readonly invoice: string
}

export interface Webhooks {
  readonly send: (event: PaymentEvent) => Promise<void>
  /** How often the webhook of an invoice arrives: 0 where it is lost, 2 where it is doubled. */
  readonly arrivals: (invoice: string) => number
}

export class Provider {
  readonly #db: DatabaseSync
  readonly #webhooks: Webhooks

  constructor(file: string, webhooks: Webhooks) {
    this.#db = new DatabaseSync(file)
    this.#db.exec('PRAGMA journal_mode = WAL; CREATE TABLE IF NOT EXISTS payment (invoice TEXT PRIMARY KEY)')
    this.#webhooks = webhooks
  }

  /** A customer pays. */
  async pay(invoice: string): Promise<void> {
    this.#db.prepare('INSERT INTO payment VALUES (?) ON CONFLICT DO NOTHING').run(invoice)
    const { send, arrivals } = this.#webhooks
    for (let left = arrivals(invoice); left > 0; left--) await send({ id: `payment-of-${invoice}`, invoice })
  }

  async isPaid(invoice: string): Promise<boolean> {
    return this.#db.prepare('SELECT 1 FROM payment WHERE invoice = ?').get(invoice) !== undefined
  }

  close(): void {
    this.#db.close()
  }
}
