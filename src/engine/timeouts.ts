import type { Clock } from '../time/clock.ts'

/** Timers for what mostly ends in the burst of work that began it: only what goes on after the burst costs a timer of the clock. */
export class Timeouts {
  readonly #clock: Clock
  #young: Timeout[] = []

  constructor(clock: Clock) {
    this.#clock = clock
  }

  start(ms: number, fn: () => void): Timeout {
    const timeout = new Timeout(this.#clock.mono() + ms, fn)
    if (this.#young.push(timeout) === 1) this.#clock.soon(() => this.#arm())
    return timeout
  }

  #arm(): void {
    const young = this.#young
    this.#young = []
    for (const timeout of young) timeout.arm(this.#clock)
  }
}

export class Timeout {
  readonly #at: number
  #fn: (() => void) | null
  #cancelTimer: (() => void) | null = null

  constructor(at: number, fn: () => void) {
    this.#at = at
    this.#fn = fn
  }

  arm(clock: Clock): void {
    if (this.#fn) this.#cancelTimer = clock.timer(Math.max(0, this.#at - clock.mono()), this.#fn)
  }

  cancel(): void {
    this.#fn = null
    this.#cancelTimer?.()
  }
}
