import type { Clock } from '../../time/clock.ts'

/** Work with a timeout that sets its own timer. */
export interface Timed {
  setTimer(): void
}

/** Timers for what mostly ends in the burst of work that began it: only what goes on after the burst costs a timer of the clock. */
export class Timeouts {
  readonly #clock: Clock
  #young: Timed[] = []

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Asks for a timer once the burst is over. Work that has ended by then need not set one. */
  watch(timed: Timed): void {
    if (this.#young.push(timed) === 1) this.#clock.soon(() => this.#endBurst())
  }

  #endBurst(): void {
    const young = this.#young
    this.#young = []
    for (const timed of young) timed.setTimer()
  }
}
