import type { Env } from '../env.ts'

/** Reports work that has been due for a ttl without a node that can run it: a node that only restarts is back by then. */
export class UnservedReport {
  readonly #env: Env
  /** Since when due work of a definition has no node that can run it; null once that was logged. */
  readonly #unserved = new Map<string, number | null>()

  constructor(env: Env) {
    this.#env = env
  }

  get isEmpty(): boolean {
    return this.#unserved.size === 0
  }

  note(unserved: readonly string[]): void {
    const { log, events, clock, options } = this.#env
    const now = clock.mono()
    for (const job of this.#unserved.keys()) if (!unserved.includes(job)) this.#unserved.delete(job)
    for (const job of unserved) {
      const since = this.#unserved.get(job)
      if (typeof since === 'number' && now - since >= options.ttlMs) {
        const message = `Work of ${JSON.stringify(job)} is due, and no node has all its handlers`
        log.error(message, { job })
        events.emit('handler.missing', { job, task: null, message })
        this.#unserved.set(job, null)
      } else if (!this.#unserved.has(job)) this.#unserved.set(job, now)
    }
  }
}
