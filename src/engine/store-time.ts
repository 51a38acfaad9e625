import type { Clock } from '../time/clock.ts'

/** The store's clock as this node can tell it between two answers: the last told time plus what the monotonic clock has passed. */
export class StoreTime {
  readonly #clock: Clock
  #told: number
  #at: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#told = clock.wall()
    this.#at = clock.mono()
  }

  /** Takes note of a time the store has told just now. */
  observe(now: number): void {
    this.#told = now
    this.#at = this.#clock.mono()
  }

  now(): number {
    return Math.floor(this.#told + this.#clock.mono() - this.#at)
  }
}
