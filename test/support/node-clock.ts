import type { ManualClock } from '../../src/testing/manual-clock.ts'
import type { Clock } from '../../src/time/clock.ts'

/**
 * The clock of one node of a cluster: its wall may be wrong, and while its event loop is blocked no timer runs. It has no `run`: handlers
 * that wait for nothing but the clock need no tracking, which takes as long as all the rest.
 */
export class NodeClock implements Clock {
  readonly #base: Required<Omit<ManualClock, 'tick'>>
  #skewMs = 0
  #held: (() => void)[] | null = null

  constructor(base: ManualClock) {
    this.#base = base as Required<ManualClock>
  }

  wall(): number {
    return this.#base.wall() + this.#skewMs
  }

  mono(): number {
    return this.#base.mono()
  }

  timer(ms: number, fn: () => void): () => void {
    return this.#whenFree(fn, (run) => this.#base.timer(ms, run))
  }

  poll(ms: number, fn: () => void): () => void {
    return this.#whenFree(fn, (run) => this.#base.poll(ms, run))
  }

  soon(fn: () => void): void {
    this.#whenFree(fn, (run) => {
      this.#base.soon(run)
      return undefined
    })
  }

  waitFor(work: Promise<unknown>): void {
    this.#base.waitFor(work)
  }

  stalled(signal: AbortSignal): Promise<void> {
    return this.#base.stalled(signal)
  }

  /** Sets the wall of this node, as its administrator would. */
  skew(ms: number): void {
    this.#skewMs = ms
  }

  block(): void {
    this.#held ??= []
  }

  unblock(): void {
    const held = this.#held ?? []
    this.#held = null
    for (const run of held) run()
  }

  #whenFree(fn: () => void, set: (run: () => void) => (() => void) | undefined): () => void {
    let isCanceled = false
    const run = () => void (isCanceled || fn())
    const cancel = set(() => (this.#held ? this.#held.push(run) : run()))
    return () => {
      isCanceled = true
      cancel?.()
    }
  }
}
