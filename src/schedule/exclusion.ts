import { PunctualError } from '../errors.ts'
import { dayFromCivil, dayMs, isDate } from '../time/civil.ts'
import { type InstantInput, isoText, parseInstant } from '../time/instant.ts'
import { startOfDay } from '../time/local-time.ts'
import type { Zone } from '../time/zone.ts'
import { isSchedule, nextMs, type Schedule } from './schedule.ts'
import { zoneOf } from './schedule-zone.ts'

/**
 * An exclusion from a schedule:
 * a date `'2026-12-24'` on the schedule's own wall; a range `{ from, to }` of dates or instants, `to` exclusive;
 * a schedule as a calendar of holidays (also as `{ days: schedule }`), which takes out every date on which it has an
 * instant on its own wall; `{ instants: schedule }`, which takes out exactly its instants.
 */
export type ExclusionInput =
  | string
  | { readonly from: InstantInput; readonly to: InstantInput }
  | Schedule
  | { readonly days: Schedule }
  | { readonly instants: Schedule }

const mostExclusions = 1000

/** The exclusions of one schedule. */
export class Exclusions {
  readonly #zone: Zone
  readonly #days = new Set<number>()
  readonly #ranges: { readonly from: number; readonly to: number }[] = []
  readonly #calendars: { readonly schedule: Schedule; readonly zone: Zone }[] = []
  readonly #instants: Schedule[] = []
  readonly #json: unknown[] = []

  constructor(inputs: readonly ExclusionInput[], zone: Zone) {
    if (!Array.isArray(inputs) || inputs.length > mostExclusions) throw invalid(inputs, `a list of at most ${mostExclusions}`)
    this.#zone = zone
    for (const input of inputs) this.#add(input)
  }

  /** The end of the exclusion around `ms`, as far as it is known to reach; `ms` itself when it is not excluded. */
  endAt(ms: number): number {
    for (const range of this.#ranges) if (ms >= range.from && ms < range.to) return range.to
    const { end, offset } = this.#zone.segmentAt(ms)
    const day = Math.floor((ms + offset) / dayMs)
    // Within a segment a date is shown in one piece; after it the clock may show the date once more.
    if (this.#isExcluded(day)) return Math.min(end, (day + 1) * dayMs - offset)
    return this.#hasInstant(ms) ? ms + 1 : ms
  }

  /** The first instant of the exclusion around `ms`, as far as it is known to reach; null when `ms` is not excluded. */
  startAt(ms: number): number | null {
    for (const range of this.#ranges) if (ms >= range.from && ms < range.to) return range.from
    const { start, offset } = this.#zone.segmentAt(ms)
    const day = Math.floor((ms + offset) / dayMs)
    if (this.#isExcluded(day)) return Math.max(start, day * dayMs - offset)
    return this.#hasInstant(ms) ? ms : null
  }

  toJSON(): unknown[] {
    return this.#json
  }

  #isExcluded(day: number): boolean {
    if (this.#days.has(day)) return true
    return this.#calendars.some(({ schedule, zone }) => {
      const first = nextMs(schedule, startOfDay(zone, day) - 1)
      return first !== null && first < startOfDay(zone, day + 1)
    })
  }

  #hasInstant(ms: number): boolean {
    return this.#instants.some((schedule) => nextMs(schedule, ms - 1) === ms)
  }

  #add(input: ExclusionInput): void {
    if (typeof input === 'string') {
      this.#days.add(parseDate(input))
      this.#json.push(input)
    } else if (isSchedule(input)) this.#addDays(input)
    else if (typeof input !== 'object' || input === null) throw invalid(input)
    else if ('days' in input && isSchedule(input.days)) this.#addDays(input.days)
    else if ('instants' in input && isSchedule(input.instants)) {
      this.#instants.push(input.instants)
      this.#json.push({ instants: input.instants.toJSON() })
    } else if ('from' in input && 'to' in input) this.#addRange(input.from, input.to)
    else throw invalid(input)
  }

  #addDays(schedule: Schedule): void {
    this.#calendars.push({ schedule, zone: zoneOf(schedule) })
    this.#json.push({ days: schedule.toJSON() })
  }

  #addRange(from: InstantInput, to: InstantInput): void {
    const range = { from: this.#edge(from), to: this.#edge(to) }
    if (range.from >= range.to) throw invalid({ from, to }, 'a range whose from is before its to')
    this.#ranges.push(range)
    const plain = (edge: InstantInput) => (edge instanceof Date ? isoText(edge.getTime()) : edge)
    this.#json.push({ from: plain(from), to: plain(to) })
  }

  #edge(edge: InstantInput): number {
    return typeof edge === 'string' && datePattern.test(edge)
      ? startOfDay(this.#zone, parseDate(edge))
      : parseInstant(edge, 'exclude')
  }
}

const datePattern = /^(\d{4})-(\d{2})-(\d{2})$/

function parseDate(text: string): number {
  const [, year, month, date] = (datePattern.exec(text) ?? []).map(Number) as [number, number, number, number]
  if (year === undefined || !isDate(year, month, date)) throw invalid(text)
  return dayFromCivil(year, month, date)
}

function invalid(given: unknown, wanted = "dates such as '2026-12-24', ranges { from, to } and schedules"): PunctualError {
  return new PunctualError('option.invalid', `exclude takes ${wanted}; got ${JSON.stringify(given)?.slice(0, 80)}`, {
    field: 'exclude',
    given,
  })
}
