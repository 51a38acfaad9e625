import { errorText } from '../../model/error-record.ts'
import type { Clock } from '../../time/clock.ts'

/**
 * The wait until the next pass: ms until an appointed time, `poll` for a pass that comes at the latest after so long but need not be
 * exact, both, or null for a wake only.
 */
export type Wait = number | { readonly in?: number; readonly poll: number } | null

export interface LoopOptions {
  readonly name: string
  readonly clock: Clock
  readonly random: () => number
  /** One pass. Returns the wait until the next. `isLook`: only a poll caused the pass, and no hint arrived. */
  readonly runOnce: (isLook: boolean) => Promise<Wait>
  readonly onError: (error: Error, retryInMs: number) => void
  /** Called after a pass that went well. */
  readonly onOk: () => void
}

const firstBackoffMs = 50
const longestBackoffMs = 2000

/** Repeats a pass. When a pass throws, the loop reports the error, backs off and tries again: a loop never dies. */
export class Loop {
  readonly #options: LoopOptions
  #state: 'stopped' | 'running' | 'resting' = 'stopped'
  #stopping = false
  #wakeAgain = false
  #wakeBy = Number.POSITIVE_INFINITY
  #failures = 0
  #cancelTimer: (() => void) | null = null
  #cancelPoll: (() => void) | null = null
  /** When the appointed pass comes, by the monotonic clock. */
  #appointedAt = Number.POSITIVE_INFINITY
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
    this.#clearTimers()
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

  /** Asks for a pass in `ms`, unless one is appointed sooner. */
  wakeIn(ms: number): void {
    const at = this.#options.clock.mono() + ms
    if (ms <= 0) this.wake()
    else if (this.#state === 'running') this.#wakeBy = Math.min(this.#wakeBy, at)
    else if (this.#state === 'resting' && this.#failures === 0 && at < this.#appointedAt) this.#appoint(ms)
  }

  #pass(isLook = false): void {
    this.#clearTimers()
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
      // In a fresh burst: a busy loop leaves room for everything else.
      this.#options.clock.soon(() => (this.#stopping ? this.#after(null) : this.#pass()))
    } else {
      this.#state = 'resting'
      this.#rest(wait)
    }
  }

  /** A wake asked for during the pass may come sooner than the wait that the pass returned. */
  #noLaterThanAsked(wait: Wait): Wait {
    if (this.#wakeBy === Number.POSITIVE_INFINITY) return wait
    const askedMs = Math.max(0, this.#wakeBy - this.#options.clock.mono())
    return askedMs === 0 ? 0 : noLaterThan(wait, askedMs)
  }

  #rest(wait: Wait): void {
    this.#clearTimers()
    if (wait === null) return
    const { clock } = this.#options
    const inMs = typeof wait === 'number' ? wait : (wait.in ?? Number.POSITIVE_INFINITY)
    if (inMs < Number.POSITIVE_INFINITY) this.#appoint(inMs)
    if (typeof wait === 'number') return
    this.#cancelPoll = clock.poll(untilNextLook(wait.poll, clock.mono()), () => this.#pass(true))
  }

  #appoint(ms: number): void {
    const { clock } = this.#options
    this.#cancelTimer?.()
    this.#appointedAt = clock.mono() + ms
    this.#cancelTimer = clock.timer(ms, () => this.#pass())
  }

  #clearTimers(): void {
    this.#cancelTimer?.()
    this.#cancelPoll?.()
    this.#cancelTimer = null
    this.#cancelPoll = null
    this.#appointedAt = Number.POSITIVE_INFINITY
  }

  #backoff(): number {
    this.#failures += 1
    const full = Math.min(firstBackoffMs * 2 ** (this.#failures - 1), longestBackoffMs)
    return Math.round(full * (0.5 + this.#options.random() / 2))
  }
}

/** The wait, with an appointment in at most `ms`. */
export function noLaterThan(wait: Wait, ms: number): Wait {
  if (wait === null) return ms
  return typeof wait === 'number' ? Math.min(wait, ms) : { ...wait, in: Math.min(wait.in ?? ms, ms) }
}

/** Timers may fire a little early: that look is not taken twice. */
const earlyMs = 5

/** Looks of all loops fall together: waking an idle process costs more than the looks themselves. */
function untilNextLook(pollMs: number, mono: number): number {
  return Math.floor((mono + earlyMs) / pollMs + 1) * pollMs - mono
}
