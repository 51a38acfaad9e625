import { PunctualError } from '../errors.ts'
import { type Clock, sleep, systemClock } from '../time/clock.ts'
import { type DurationInput, parseDuration } from '../time/duration.ts'
import { type InstantInput, isoText, parseInstant } from '../time/instant.ts'
import { RealWork } from './real-work.ts'

/** A clock that moves only when a test moves it. */
export interface ManualClock extends Clock {
  /** Timers that have been set and have neither run nor been taken back. */
  readonly pending: number
  /** How long until the next timer runs, in ms, polls left out; null when none is set. */
  readonly nextTimerMs: number | null
  /**
   * Moves both clocks on and runs what comes due, in order. Time moves on only when promises have settled and started handlers wait for
   * no real timers or I/O; a handler that takes more than 4 s of real time makes this throw.
   */
  advance(by: DurationInput): Promise<void>
  /** Moves on until the wall shows this instant. */
  advanceTo(instant: InstantInput | number): Promise<void>
  /** Moves the wall only, forth or back, as when someone sets it. No timer runs, and `mono` does not notice. */
  jump(ms: number): void
  /** Lets promises settle without moving. */
  settle(): Promise<void>
}

/**
 * A clock for tests: hand it to `createPunctual` or to a store, and move it by `advance`.
 * @param start What the wall shows at first: epoch ms, a Date or an ISO text. Default 2026-01-01T00:00:00Z.
 * @example
 * const clock = manualClock('2026-03-01T12:00:00Z')
 * const punctual = createPunctual({ store: memory(), clock, jobs })
 * await punctual.start()
 * await clock.advance('15m')
 */
export function manualClock(start: InstantInput | number = '2026-01-01T00:00:00Z'): ManualClock {
  return new SteppedClock(instantMs(start))
}

interface Timer {
  readonly at: number
  readonly fn: () => void
  readonly isPoll: boolean
}

const mostTimersAtOnce = 10_000
/** After so much real time without a move the clock counts as abandoned. */
const stillMs = 1000

class SteppedClock implements ManualClock {
  readonly #timers = new Set<Timer>()
  #wall: number
  #mono = 0
  #moving: Promise<void> = Promise.resolve()
  #soon = 0
  readonly #outside = new Set<Promise<unknown>>()
  readonly #work = new RealWork()
  #movedAt = 0
  #moves = 0

  constructor(wall: number) {
    this.#wall = wall
  }

  wall(): number {
    return this.#wall
  }

  mono(): number {
    return this.#mono
  }

  timer(ms: number, fn: () => void): () => void {
    return this.#set({ at: this.#mono + Math.max(0, ms), fn, isPoll: false })
  }

  poll(ms: number, fn: () => void): () => void {
    return this.#set({ at: this.#mono + Math.max(0, ms), fn, isPoll: true })
  }

  soon(fn: () => void): void {
    this.#soon += 1
    setImmediate(() => {
      this.#soon -= 1
      fn()
    })
  }

  waitFor(work: Promise<unknown>): void {
    const over = () => void this.#outside.delete(work)
    this.#outside.add(work)
    work.then(over, over)
  }

  run<Value>(name: string, work: () => Value): Value {
    return this.#work.run(name, work)
  }

  async stalled(signal: AbortSignal): Promise<void> {
    const since = systemClock.mono()
    while (!signal.aborted) {
      await sleep(systemClock, stillMs / 20)
      const isStill = this.#moves === 0 && systemClock.mono() - Math.max(since, this.#movedAt) >= stillMs
      if (isStill && !this.#work.isBusy && this.#outside.size === 0) return
    }
  }

  get pending(): number {
    return this.#timers.size
  }

  get nextTimerMs(): number | null {
    const next = this.#next()
    return next ? next.at - this.#mono : null
  }

  advance(by: DurationInput): Promise<void> {
    const ms = parseDuration(by, 'by')
    return this.#move(() => this.#mono + ms)
  }

  advanceTo(instant: InstantInput | number): Promise<void> {
    const target = instantMs(instant)
    if (target < this.#wall) {
      const message = `A manual clock cannot advance back from ${isoText(this.#wall)} to ${isoText(target)}; use jump to set the wall back`
      throw new PunctualError('instant.invalid', message, { field: 'instant', given: isoText(target) })
    }
    return this.#move(() => this.#mono + target - this.#wall)
  }

  jump(ms: number): void {
    this.#wall += ms
  }

  // A turn of the event loop settles every chain of promises; work that `soon` has put off gets further turns, and one
  // more turn is for handlers that yield by themselves. Calls to other processes and handlers with real I/O are waited for.
  settle(): Promise<void> {
    return this.#work.outside(async (callers) => {
      await turn()
      do {
        if (this.#outside.size > 0) await Promise.allSettled(this.#outside)
        await turn()
      } while (this.#soon > 0 || this.#outside.size > 0 || (await this.#work.wait(callers)))
    })
  }

  #set({ at, fn, isPoll }: Timer): () => void {
    const over = this.#work.clockTimer()
    const run = () => {
      over()
      fn()
    }
    const timer = { at, fn: run, isPoll }
    this.#timers.add(timer)
    return () => {
      if (this.#timers.delete(timer)) over()
    }
  }

  /** Moves follow each other, also when they are asked for at once. */
  #move(target: () => number): Promise<void> {
    this.#moves += 1
    const moved = this.#moving
      .then(() => this.#work.outside(() => this.#run(target())))
      .finally(() => {
        this.#moves -= 1
        this.#movedAt = systemClock.mono()
      })
    this.#moving = moved.catch(() => {})
    return moved
  }

  async #run(target: number): Promise<void> {
    await this.settle()
    for (let ranHere = 0; ; await this.settle()) {
      const next = this.#next()
      const stop = next && next.at <= target ? next.at : target
      // Just before the stop, not at it: a node that has beaten by then was there when the work of that instant came due.
      const eve = Math.max(this.#mono, next === null || next.at > target ? stop : stop - 1)
      ranHere = eve > this.#mono || stop > this.#mono ? 0 : ranHere + 1
      if (ranHere > mostTimersAtOnce)
        throw new PunctualError(
          'option.invalid',
          `More than ${mostTimersAtOnce} timers at one instant: something sets a timer of 0 ms again and again`,
        )
      if (this.#runPolls(eve)) continue
      this.#passTo(stop)
      if (!next || next.at > target) return
      this.#timers.delete(next)
      next.fn()
    }
  }

  /** Moves to `mono` and runs the polls that have come due by then; false when there are none, and nothing has moved. */
  #runPolls(mono: number): boolean {
    const due = [...this.#timers].filter((timer) => timer.isPoll && timer.at <= mono)
    if (due.length === 0) return false
    this.#passTo(mono)
    for (const timer of due) if (this.#timers.delete(timer)) timer.fn()
    return true
  }

  #passTo(mono: number): void {
    const ms = Math.max(0, mono - this.#mono)
    this.#mono += ms
    this.#wall += ms
  }

  /** The earliest timer; of several at one instant the one set first. */
  #next(): Timer | null {
    let first: Timer | null = null
    for (const timer of this.#timers) if (!timer.isPoll && (!first || timer.at < first.at)) first = timer
    return first
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function instantMs(instant: InstantInput | number): number {
  return typeof instant === 'number' && Number.isFinite(instant) ? instant : parseInstant(instant as InstantInput, 'instant')
}
