import type { Emitter, Health } from '../model/events.ts'

/** Which loops are in trouble, and so how the node is. */
export class HealthBook {
  readonly #events: Emitter
  readonly #troubles = new Map<string, string>()

  constructor(events: Emitter) {
    this.#events = events
  }

  get health(): Health {
    const reasons = [...this.#troubles].map(([loop, message]) => `${loop}: ${message}`)
    return { state: reasons.length > 0 ? 'degraded' : 'ok', reasons }
  }

  trouble(loop: string, message: string): void {
    const wasWell = this.#troubles.size === 0
    this.#troubles.set(loop, message)
    if (wasWell) this.#events.emit('health.changed', this.health)
  }

  recovered(loop: string): void {
    if (this.#troubles.delete(loop) && this.#troubles.size === 0) this.#events.emit('health.changed', this.health)
  }

  forget(): void {
    this.#troubles.clear()
  }
}
