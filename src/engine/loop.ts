import { errorText } from '../model/error-record.ts'
import type { Clock } from '../time/clock.ts'

/** How long to wait for the next pass: ms for an appointed time, `poll` for a look in case a hint was missed, null for a wake only. */
export type Wait = number | { readonly poll: number } | null

export interface LoopOptions {
  readonly name: string
  readonly clock: Clock
  readonly random: () => number
  /** One pass. Returns the wait until the next. `isLook`: only the poll asks for it, and nobody has told of anything. */
  readonly runOnce: (isLook: boolean) => Promise<Wait>
  readonly onError: (error: Error, retryInMs: number) => void
  /** Called after a pass that went well. */
  readonly onOk: () => void
}

const firstBackoffMs = 50
const longestBackoffMs = 2000

/** Runs a pass again and again. A pass that throws is announced, waited for a little longer each time, and tried again: a loop never dies. */
export class Loop {
  readonly #options: LoopOptions
  #state: 'stopped' | 'running' | 'resting' = 'stopped'
  #stopping = false
  #wakeAgain = false
  #wakeBy = Number.POSITIVE_INFINITY
  #failures = 0
  #cancelTimer: (() => void) | null = null
  #restUntil = Number.POSITIVE_INFINITY
  #onStopped: (() => void) | null = null

  constructor(options: LoopOptions) {
    this.#options = options
  }

  /** The first pass comes at once, or after `wait`. */
  start(wait: Wait = 0): void {
    if (this.#state !== 'stopped') return
    this.#stopping = false
    this.#state = 'resting'
    if (wait === 0) this.#pass()
    else this.#rest(wait)
  }

  /** Resolves when the pass under way, if any, has ended. */
  stop(): Promise<void> {
    this.#stopping = true
    this.#clearTimer()
    if (this.#state !== 'running') {
      this.#state = 'stopped'
      return Promise.resolve()
    }
    return new Promise((resolve) => {
      const before = this.#onStopped
      this.#onStopped = () => {
        before?.()
        resolve()
      }
    })
  }

  /** Asks for a pass at once, or right after the one under way. While backing off, errors keep their wait. */
  wake(): void {
    if (this.#state === 'running') this.#wakeAgain = true
    else if (this.#state === 'resting' && this.#failures === 0) this.#pass()
  }

  /** Asks for a pass in `ms`, unless one comes sooner anyway. */
  wakeIn(ms: number): void {
    const at = this.#options.clock.mono() + ms
    if (ms <= 0) this.wake()
    else if (this.#state === 'running') this.#wakeBy = Math.min(this.#wakeBy, at)
    else if (this.#state === 'resting' && this.#failures === 0 && at < this.#restUntil) this.#rest(ms)
  }

  #pass(isLook = false): void {
    this.#clearTimer()
    this.#state = 'running'
    this.#wakeAgain = false
    this.#wakeBy = Number.POSITIVE_INFINITY
    this.#options.runOnce(isLook).then(
      (wait) => {
        this.#failures = 0
        this.#options.onOk()
        this.#after(this.#noLaterThanAsked(wait))
      },
      (error: unknown) => {
        const retryInMs = this.#backoff()
        this.#options.onError(error instanceof Error ? error : new Error(errorText(error)), retryInMs)
        this.#wakeAgain = false
        this.#after(retryInMs)
      },
    )
  }

  #after(wait: Wait): void {
    if (this.#stopping) {
      this.#state = 'stopped'
      this.#onStopped?.()
      this.#onStopped = null
    } else if (this.#wakeAgain || wait === 0) {
      // A fresh burst, so that a busy loop leaves room for everything else.
      this.#options.clock.soon(() => (this.#stopping ? this.#after(null) : this.#pass()))
    } else {
      this.#state = 'resting'
      this.#rest(wait)
    }
  }

  /** What was asked for during the pass may be sooner than what the pass, which knew nothing of it, returned. */
  #noLaterThanAsked(wait: Wait): Wait {
    const askedMs = this.#wakeBy - this.#options.clock.mono()
    const waitMs = wait === null ? Number.POSITIVE_INFINITY : typeof wait === 'number' ? wait : wait.poll
    return askedMs < waitMs ? Math.max(0, askedMs) : wait
  }

  #rest(wait: Wait): void {
    this.#clearTimer()
    if (wait === null) return
    const { clock } = this.#options
    const ms = typeof wait === 'number' ? wait : untilNextLook(wait.poll, clock.mono())
    this.#restUntil = clock.mono() + ms
    this.#cancelTimer = typeof wait === 'number' ? clock.timer(ms, () => this.#pass()) : clock.poll(ms, () => this.#pass(true))
  }

  #clearTimer(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = null
    this.#restUntil = Number.POSITIVE_INFINITY
  }

  #backoff(): number {
    this.#failures += 1
    const full = Math.min(firstBackoffMs * 2 ** (this.#failures - 1), longestBackoffMs)
    return Math.round(full * (0.5 + this.#options.random() / 2))
  }
}

/** Timers may fire a little early: that look is not taken twice. */
const earlyMs = 5

/** Looks of all loops fall together: to wake up costs a process that has nothing to do more than what it then does. */
function untilNextLook(pollMs: number, mono: number): number {
  return Math.floor((mono + earlyMs) / pollMs + 1) * pollMs - mono
}
