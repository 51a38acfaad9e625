import { PunctualError } from '../errors.ts'
import { dayMs } from '../time/civil.ts'
import type { DurationInput } from '../time/duration.ts'
import { parseDuration } from '../time/duration.ts'
import { type InstantInput, isoText, parseInstant } from '../time/instant.ts'
import type { Zone } from '../time/zone.ts'
import { type ExclusionInput, Exclusions } from './exclusion.ts'

/** The options of every recurring schedule beside its text. */
export interface BoundsOptions {
  /** From when on instants count, inclusive. It filters and never shifts the phase, and is no run by itself. */
  readonly start?: InstantInput
  /** Until when instants count, exclusive. */
  readonly end?: InstantInput
  /** Dates, ranges and calendars whose instants are not in the set. */
  readonly exclude?: readonly ExclusionInput[]
  /** The longest delay by which a job's runs are moved, the same for all runs of a job; the instants stay as they are. */
  readonly spread?: DurationInput
}

export const boundsOptionNames = ['start', 'end', 'exclude', 'spread'] as const

interface Members {
  memberAfter(ms: number): number | null
  memberBefore(ms: number): number | null
}

// How many excluded instants in a row, and over how long, a query passes before it says that there is none.
const mostSkipped = 100_000
const longestSkipMs = 50 * 366 * dayMs

/** The window and the exclusions of a schedule, as a filter over its members. */
export class Bounds {
  readonly start: number
  readonly end: number
  readonly spreadMs: number
  readonly #exclusions: Exclusions | null

  constructor(start: number, end: number, spreadMs: number, exclusions: Exclusions | null) {
    this.start = start
    this.end = end
    this.spreadMs = spreadMs
    this.#exclusions = exclusions
  }

  next(members: Members, after: number): number | null {
    let from = Math.max(after, this.start - 1)
    let last = Infinity
    for (let skipped = 0; skipped < mostSkipped; skipped++) {
      const ms = members.memberAfter(from)
      if (ms === null || ms >= this.end || ms > last) return null
      if (skipped === 0) last = ms + longestSkipMs
      const freeFrom = this.#exclusions === null ? ms : this.#exclusions.endAt(ms)
      if (freeFrom === ms) return ms
      from = freeFrom - 1
    }
    return null
  }

  previous(members: Members, before: number): number | null {
    let until = Math.min(before, this.end)
    let first = -Infinity
    for (let skipped = 0; skipped < mostSkipped; skipped++) {
      const ms = members.memberBefore(until)
      if (ms === null || ms < this.start || ms < first) return null
      if (skipped === 0) first = ms - longestSkipMs
      const excludedFrom = this.#exclusions === null ? null : this.#exclusions.startAt(ms)
      if (excludedFrom === null) return ms
      until = excludedFrom
    }
    return null
  }

  /** The bounds in words, to follow those of the schedule. */
  describe(): string {
    const parts = [
      ...(this.start > -Infinity ? [`from ${isoText(this.start)}`] : []),
      ...(this.end < Infinity ? [`until ${isoText(this.end)}`] : []),
      ...(this.#exclusions !== null ? ['with exclusions'] : []),
      ...(this.spreadMs > 0 ? [`spread over ${this.spreadMs / 1000} s`] : []),
    ]
    return parts.map((part) => `, ${part}`).join('')
  }

  toJSON(): Record<string, unknown> {
    return {
      ...(this.start > -Infinity && { start: isoText(this.start) }),
      ...(this.end < Infinity && { end: isoText(this.end) }),
      ...(this.#exclusions !== null && { exclude: this.#exclusions.toJSON() }),
      ...(this.spreadMs > 0 && { spread: this.spreadMs }),
    }
  }
}

/** The bounds that the options ask for, or null when they ask for none. Dates are read in `zone`. */
export function parseBounds(options: BoundsOptions, zone: Zone): Bounds | null {
  const { start, end, exclude, spread } = options
  if (start === undefined && end === undefined && exclude === undefined && spread === undefined) return null
  const startMs = start === undefined ? -Infinity : parseInstant(start, 'start')
  const endMs = end === undefined ? Infinity : parseInstant(end, 'end')
  if (startMs >= endMs) {
    throw new PunctualError('option.invalid', `start must be before end; got ${isoText(startMs)} and ${isoText(endMs)}`, {
      start: isoText(startMs),
      end: isoText(endMs),
    })
  }
  const exclusions = exclude === undefined || exclude.length === 0 ? null : new Exclusions(exclude, zone)
  return new Bounds(startMs, endMs, spread === undefined ? 0 : parseDuration(spread, 'spread'), exclusions)
}
