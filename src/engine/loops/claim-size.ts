import type { Env } from '../env.ts'

/** A claim is meant to start within this time: work that waits longer could have been another node's. */
const quickStartMs = 50

/** How much a claim takes beyond the free slots: it doubles while claims start quickly, and shrinks to what would have. */
export class ClaimSize {
  readonly #env: Env
  #ahead = 0

  constructor(env: Env) {
    this.#env = env
  }

  /** The most that one claim takes. */
  get most(): number {
    const { options, store } = this.#env
    return Math.min(options.claimLimit, store.batchLimit)
  }

  /** The number that a claim takes beyond the free slots. */
  get ahead(): number {
    return this.#ahead
  }

  /** Whole claims start quickly: the next is sent before the last is started, so the store and the node work at the same time. */
  get isFull(): boolean {
    return this.#ahead > this.#env.options.concurrency && this.#ahead === this.most
  }

  /** Work that is claimed counts as running, so where the cluster counts, or another order is wished for, no slot is kept waiting. */
  get mayBeAhead(): boolean {
    const { clusterLimit, pick } = this.#env.options
    return clusterLimit === null && pick === 'priority'
  }

  /** The last work of a claim has started, so long after the claim. */
  noteStart(afterMs: number): void {
    const isQuick = afterMs <= quickStartMs
    this.#ahead = isQuick
      ? Math.min(Math.max(this.#ahead, this.#env.options.concurrency) * 2, this.most)
      : Math.floor((this.#ahead * quickStartMs) / afterMs)
  }

  /** Work was given back, since it found no slot. */
  reset(): void {
    this.#ahead = 0
  }
}
