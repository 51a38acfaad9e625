import type { DurationInput } from '../time/duration.ts'
import { isoText } from '../time/instant.ts'
import { type Zone, zoneNamed } from '../time/zone.ts'
import { type Bounds, type BoundsOptions, boundsOptionNames, parseBounds } from './bounds.ts'
import { addTimes, averageMs } from './calendar-duration.ts'
import { describeInterval } from './describe-interval.ts'
import { InstantSet } from './instant-set.ts'
import { type IntervalText, parseInterval } from './interval-text.ts'
import type { Schedule, ScheduleJson } from './schedule.ts'
import { checkOptions } from './schedule-options.ts'

/** The options of `interval`. */
export interface IntervalOptions extends BoundsOptions {
  /** IANA name or `UTC`, the default: the calendar by which years, months, weeks and days are counted. */
  readonly timezone?: string
}

const optionNames = ['timezone', ...boundsOptionNames]
// The range of Date ends here.
const lastInstant = 8.64e15

/**
 * The instants of an ISO 8601 repeating interval: `R/2026-01-31T00:00:00Z/P1M`, `R5/…` for five in all, or
 * `R/start/end`. The k-th is the start + k × the duration, so nothing drifts: 31 January, 28 February, 31 March.
 * A duration such as `15m`, `PT15M` or a number of milliseconds has no start, and neither has `R3/PT1H`: `next(t)` is t + the
 * duration, and a job counts from its creation. `R3/PT1H` runs a job three times: one, two and three hours after its creation.
 */
export function interval(period: DurationInput, options: IntervalOptions = {}): IntervalSchedule {
  checkOptions('interval', options, optionNames)
  const text = typeof period === 'number' ? `${period}ms` : period
  const timezone = options.timezone ?? 'UTC'
  const zone = zoneNamed(timezone)
  return new IntervalSchedule({ text, timezone, zone, options, ...parseInterval(text, zone), bounds: parseBounds(options, zone) })
}

/** The schedule counted from `anchor` if it has no start; any other schedule unchanged. */
export function bind(schedule: Schedule, anchor: number): Schedule {
  const bindable = schedule as Schedule & { bind?: (anchor: number) => Schedule }
  return typeof bindable.bind === 'function' ? bindable.bind(anchor) : schedule
}

interface IntervalParts extends IntervalText {
  readonly text: string
  readonly timezone: string
  readonly zone: Zone
  readonly options: IntervalOptions
  readonly bounds: Bounds | null
}

export class IntervalSchedule extends InstantSet {
  readonly #parts: IntervalParts
  readonly #averageMs: number

  constructor(parts: IntervalParts) {
    super(parts.bounds)
    this.#parts = parts
    this.#averageMs = averageMs(parts.duration)
  }

  get kind(): 'interval' {
    return 'interval'
  }

  get isAnchored(): boolean {
    return this.#parts.anchor !== null
  }

  get timezone(): string {
    return this.#parts.timezone
  }

  /** Itself, when it names its zone. */
  inZone(timezone: string): IntervalSchedule {
    const { text, options } = this.#parts
    return options.timezone === undefined ? interval(text, { ...options, timezone }) : this
  }

  bind(anchor: number): IntervalSchedule {
    if (this.isAnchored) return this
    const { period, count } = this.#parts
    // The anchor itself is no instant of a job, which runs only after its creation.
    const bound = count + 1
    const repeat = bound === Infinity ? 'R' : `R${bound}`
    return new IntervalSchedule({ ...this.#parts, text: `${repeat}/${isoText(anchor)}/${period}`, anchor, count: bound })
  }

  override nextMs(after: number): number | null {
    return this.isAnchored ? super.nextMs(after) : this.bind(after).nextMs(after)
  }

  override previousMs(before: number): number | null {
    if (this.isAnchored) return super.previousMs(before)
    return this.bind(addTimes(before, this.#parts.duration, -1, this.#parts.zone)).previousMs(before)
  }

  /** Without a start it counts from `from`, which is not an instant of it. */
  override *betweenMs(from: number, to: number): Generator<number, void, undefined> {
    yield* this.isAnchored ? super.betweenMs(from, to) : this.bind(from).betweenMs(from + 1, to)
  }

  memberAfter(ms: number): number | null {
    const { count } = this.#parts
    const first = Math.max(this.#estimate(ms), 0)
    let k = Math.min(first, count - 1)
    // The estimate is off by a few occurrences at most: months differ from their average by days.
    while (k > 0 && this.#at(k - 1) > ms) k--
    while (k < count && this.#at(k) <= ms) k++
    const instant = k < count ? this.#at(k) : Infinity
    return instant <= lastInstant ? instant : null
  }

  memberBefore(ms: number): number | null {
    const { count } = this.#parts
    let k = Math.min(Math.max(this.#estimate(ms), 0), count - 1)
    while (k + 1 < count && this.#at(k + 1) < ms) k++
    while (k >= 0 && this.#at(k) >= ms) k--
    return k >= 0 ? this.#at(k) : null
  }

  describe(): string {
    return `${describeInterval(this.#parts)} (${this.timezone})${this.bounds?.describe() ?? ''}`
  }

  toJSON(): ScheduleJson {
    const { text, timezone } = this.#parts
    return { kind: 'interval', text, timezone, ...this.bounds?.toJSON() }
  }

  #at(k: number): number {
    const { anchor, duration, zone } = this.#parts
    return addTimes(anchor as number, duration, k, zone)
  }

  #estimate(ms: number): number {
    return Math.floor((ms - (this.#parts.anchor as number)) / this.#averageMs)
  }
}

export function restoreInterval(json: ScheduleJson): IntervalSchedule {
  const { kind: _, text, ...options } = json
  return interval(text as string, options as IntervalOptions)
}
