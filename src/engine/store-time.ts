import type { Clock } from '../time/clock.ts'

/** The store's clock is believed to have been set when it is this far from what was expected. */
const jumpMs = 1000

/** The store's clock as this node can tell it between two answers: the last told time plus what the monotonic clock has passed. */
export class StoreTime {
  readonly #clock: Clock
  /** Called when the store's clock was set: what was to be done by then may be due already. */
  onJump: () => void = () => {}
  #told: number
  #at: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#told = clock.wall()
    this.#at = clock.mono()
  }

  /** Takes note of a time the store has told just now. */
  observe(now: number): void {
    const offMs = now - this.now()
    this.#told = now
    this.#at = this.#clock.mono()
    if (Math.abs(offMs) > jumpMs) this.onJump()
  }

  now(): number {
    return this.at(this.#clock.mono())
  }

  /** The store's time at a moment of the monotonic clock. */
  at(mono: number): number {
    return Math.floor(this.#told + mono - this.#at)
  }
}
