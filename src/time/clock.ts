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
   * A timer for work that recurs whether or not anything has changed: a beat, a look for missed hints. A manual clock does not stop
   * at each of these: it runs those that have come due just before it stops anyway.
   */
  poll(ms: number, fn: () => void): () => void
  /** Calls `fn` once the current burst of work is done. This takes no time, so a manual clock need not advance for it. */
  soon(fn: () => void): void
  /**
   * As `soon`, ahead of other callbacks of the event loop, which it keeps waiting for a millisecond at most. Default: `soon`.
   */
  tick?(fn: () => void): void
  /** A clock that is moved by hand does not move in the middle of this work, which is done outside of the process. */
  waitFor?(work: Promise<unknown>): void
  /** Calls user code. A clock that is moved by hand does not move while that code waits for real timers or real I/O. */
  run?<Value>(name: string, work: () => Value): Value
  /** Resolves when a manual clock does not move and no user code makes progress: a wait for this clock would never end. */
  stalled?(signal: AbortSignal): Promise<void>
}

const longestTimerMs = 2 ** 31 - 1

/** The machine's own clock. */
export const systemClock: Clock = {
  wall: () => Date.now(),
  mono: () => performance.now(),
  timer(ms, fn) {
    // setTimeout fires at once beyond 2^31 - 1 ms, so longer waits go in stages. It warns of a time that has passed.
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
  tick(fn) {
    const now = performance.now()
    if (burstSince === null) {
      burstSince = now
      setImmediate(() => {
        burstSince = null
      })
    }
    if (now - burstSince < longestBurstMs) process.nextTick(fn)
    else setImmediate(fn)
  },
}

/** So long `tick` may keep the event loop from its other callbacks. */
const longestBurstMs = 1
/** The first `tick` since the event loop has gone round. */
let burstSince: number | null = null

/** Calls `fn` once the current burst of work is done. */
export function tick(clock: Clock, fn: () => void): void {
  if (clock.tick) clock.tick(fn)
  else clock.soon(fn)
}

/** Milliseconds on a monotonic clock that all threads of the process share. */
export function processMono(): number {
  return Number(process.hrtime.bigint() / 1_000_000n)
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
