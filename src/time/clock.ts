/**
 * Time as the engine sees it. `wall` may jump and only the store's wall clock decides what is due;
 * `mono` never goes back and measures how long something took; timers run on the monotonic clock.
 */
export interface Clock {
  /** Milliseconds since the epoch, by the wall. */
  wall(): number
  /** Milliseconds since some fixed moment; never goes back. */
  mono(): number
  /** Calls `fn` once after `ms`; the returned function takes the timer back. Any length is allowed. */
  timer(ms: number, fn: () => void): () => void
  /**
   * A timer for having a look in case something happened that nobody told of. A manual clock does not stop at each of these
   * when it is advanced: it runs them when it stops anyway.
   */
  poll(ms: number, fn: () => void): () => void
  /** Calls `fn` once the current burst of work is done. This takes no time, so that no clock has to be advanced for it. */
  soon(fn: () => void): void
  /** Tells a clock that is moved by hand of work outside of this process: it does not move in the middle of it. */
  waitFor?(work: Promise<unknown>): void
}

const longestTimerMs = 2 ** 31 - 1

/** The machine's own clock. */
export const systemClock: Clock = {
  wall: () => Date.now(),
  mono: () => performance.now(),
  timer(ms, fn) {
    // setTimeout fires at once beyond 2^31 - 1 ms, so that longer waits go in stages. It warns of a time that has passed.
    let left = Math.max(0, ms)
    let handle: NodeJS.Timeout
    const stage = () => {
      const now = Math.min(left, longestTimerMs)
      left -= now
      handle = setTimeout(left > 0 ? stage : fn, now)
    }
    stage()
    return () => clearTimeout(handle)
  },
  poll: (ms, fn) => systemClock.timer(ms, fn),
  soon: (fn) => void setImmediate(fn),
}

/** Waits `ms` on the clock, or less when `signal` aborts; never rejects. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve()
    const done = () => {
      cancel()
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const cancel = clock.timer(ms, done)
    signal?.addEventListener('abort', done, { once: true })
  })
}
