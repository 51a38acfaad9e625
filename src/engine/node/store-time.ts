import type { Clock } from '../../time/clock.ts'

/** The store's clock is believed to have been set when it is this far from what was expected. */
const jumpMs = 1000
/** The time follows the surest of the last so many answers. */
const samplesKept = 8
/** Clocks drift: an old answer is no longer sure, however quick it was. */
const longestKeptMs = 60_000

/** An answer that took longer than twice this does not make instants come early. */
const mostUnsureMs = 10

/** The store's time at a moment of this node's monotonic clock, exact to half of the round trip. */
interface Sample {
  readonly time: number
  readonly at: number
  readonly roundTripMs: number
}

/** An estimate of the store's clock between two answers: the last answer plus the time that has passed on the monotonic clock. */
export class StoreTime {
  readonly #clock: Clock
  readonly #onJump: () => void
  #samples: Sample[] = []
  #best: Sample

  /** @param onJump Called when the store's clock was set. */
  constructor(clock: Clock, onJump: () => void = () => {}) {
    this.#clock = clock
    this.#onJump = onJump
    this.#best = { time: clock.wall(), at: clock.mono(), roundTripMs: Number.POSITIVE_INFINITY }
  }

  /** Takes note of a time that the store has returned in answer to a call that was sent at `sentAt` by the monotonic clock. */
  observe(now: number, sentAt: number): void {
    const receivedAt = this.#clock.mono()
    const roundTripMs = Math.max(0, receivedAt - sentAt)
    const sample = { time: now, at: receivedAt - roundTripMs / 2, roundTripMs }
    const offMs = now - (this.#best.time + sample.at - this.#best.at)
    const isJump = Math.abs(offMs) > jumpMs + roundTripMs / 2
    const kept = isJump ? [] : this.#samples.filter(({ at }) => receivedAt - at <= longestKeptMs)
    this.#samples = [...kept.slice(1 - samplesKept), sample]
    this.#best = this.#samples.reduce((best, one) => (one.roundTripMs <= best.roundTripMs ? one : best))
    if (isJump) this.#onJump()
  }

  /** How long until the store's clock shows an instant; 0 when it may do so already, as far as this node can know. */
  until(instant: number): number {
    const ms = instant - (this.#best.time + this.#clock.mono() - this.#best.at)
    return ms <= Math.min(this.#best.roundTripMs / 2, mostUnsureMs) + 1 ? 0 : ms
  }

  now(): number {
    return this.at(this.#clock.mono())
  }

  /** The store's time at a moment of the monotonic clock. */
  at(mono: number): number {
    return Math.floor(this.#best.time + mono - this.#best.at)
  }
}
