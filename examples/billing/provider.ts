// A payment provider with its own file. It knows the truth about payments; its webhooks are lost or come twice.
import { DatabaseSync } from 'node:sqlite'

export class Provider {
  readonly #db: DatabaseSync

  constructor(file: string) {
    this.#db = new DatabaseSync(file)
    this.#db.exec('PRAGMA journal_mode = WAL; CREATE TABLE IF NOT EXISTS payment (invoice TEXT PRIMARY KEY)')
  }

  /** A customer pays. */
  pay(invoice: string): void {
    this.#db.prepare('INSERT INTO payment VALUES (?) ON CONFLICT DO NOTHING').run(invoice)
  }

  async isPaid(invoice: string): Promise<boolean> {
    return this.#db.prepare('SELECT 1 FROM payment WHERE invoice = ?').get(invoice) !== undefined
  }

  close(): void {
    this.#db.close()
  }
}
