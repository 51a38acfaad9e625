import type { Clock } from '../../time/clock.ts'
import type { Turn } from '../turn/turn.ts'
import type { TurnQueue } from './turn-queue.ts'

/** Turns that were taken ahead and found no slot for this long are given back: another node may have one. */
const longestQueuedMs = 1000

/** Hands over the turns that have been queued for too long. */
export class QueueWatch {
  readonly #clock: Clock
  readonly #queue: TurnQueue
  readonly #giveBack: (late: readonly Turn[]) => void
  #cancel: (() => void) | null = null

  constructor(clock: Clock, queue: TurnQueue, giveBack: (late: readonly Turn[]) => void) {
    this.#clock = clock
    this.#queue = queue
    this.#giveBack = giveBack
  }

  /** Looks again when the oldest of the turns taken ahead would be too late. */
  arm(): void {
    const since = this.#queue.aheadSince
    if (since === null || this.#cancel) return
    this.#cancel = this.#clock.timer(Math.max(0, since + longestQueuedMs - this.#clock.mono()), () => {
      this.#cancel = null
      const before = this.#clock.mono() - longestQueuedMs
      this.#giveBack(this.#queue.remove(({ batch }) => batch.isAhead && batch.queuedAt <= before))
      this.arm()
    })
  }

  rest(): void {
    this.#cancel?.()
    this.#cancel = null
  }
}
