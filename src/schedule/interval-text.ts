import { dayFromCivil, dayMs, isDate } from '../time/civil.ts'
import { instantOfWall } from '../time/local-time.ts'
import type { Zone } from '../time/zone.ts'
import { averageMs, type CalendarDuration } from './calendar-duration.ts'
import { checkText, invalidSchedule } from './invalid-schedule.ts'

/** A parsed ISO 8601 duration or repeating interval. Instants are epoch milliseconds. */
export interface IntervalText {
  readonly duration: CalendarDuration
  /** The duration as it is written. */
  readonly period: string
  /** The first occurrence; null where nothing says when it begins. */
  readonly anchor: number | null
  /** How many occurrences there are in all. */
  readonly count: number
}

/** Shorter periods are refused. */
const shortestPeriodMs = 100

/**
 * Reads `PT15M`, `15m`, `R5/duration`, `R/start/duration`, `R5/start/duration` or `R/start/end`. A start without an offset is on the
 * zone's wall.
 */
export function parseInterval(text: string, zone: Zone): IntervalText {
  checkText(text)
  const refuse = (position: number, reason: string) => invalidSchedule(text, position, reason)
  if (!/^R/i.test(text)) {
    if (text.includes('/')) throw refuse(0, 'a repeating interval begins with R/ or with Rn/ for n occurrences in all')
    return { duration: parsePeriod(text, 0, refuse), period: text, anchor: null, count: Infinity }
  }
  const [repeat, first, second, ...rest] = text.split('/') as [string, ...string[]]
  const count = parseCount(repeat, refuse)
  const firstAt = repeat.length + 1
  if (first === undefined || rest.length > 0)
    throw refuse(Math.min(firstAt, text.length), 'expected R/duration, R/start/duration or R/start/end')
  if (second === undefined) return { duration: parsePeriod(first, firstAt, refuse), period: first, anchor: null, count }
  if (isPeriod(first)) throw refuse(firstAt, 'the form duration/end is not supported: write R/start/duration')
  const secondAt = firstAt + first.length + 1
  const anchor = parseMoment(first, zone) ?? fail(refuse(firstAt, 'expected a date and time such as 2026-01-31T00:00:00Z'))
  if (isPeriod(second)) return { duration: parsePeriod(second, secondAt, refuse), period: second, anchor, count }
  const end = parseMoment(second, zone) ?? fail(refuse(secondAt, 'expected a duration such as P1M or a date and time'))
  if (end - anchor < shortestPeriodMs) throw refuse(secondAt, `the end must be at least ${shortestPeriodMs} ms after the start`)
  return { duration: { months: 0, days: 0, ms: end - anchor }, period: second, anchor, count }
}

type Refuse = (position: number, reason: string) => Error

function fail(error: Error): never {
  throw error
}

function parseCount(repeat: string, refuse: Refuse): number {
  if (repeat.length === 1) return Infinity
  const digits = repeat.slice(1)
  if (!/^\d{1,9}$/.test(digits)) throw refuse(1, 'R is followed by the number of occurrences, a whole number, or by nothing')
  const count = Number(digits)
  if (count === 0) throw refuse(1, 'R0 would never run; Rn is the number of occurrences in all')
  return count
}

const durationPattern =
  /^P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:(T)(?:(\d+(?:[.,]\d+)?)H)?(?:(\d+(?:[.,]\d+)?)M)?(?:(\d+(?:[.,]\d+)?)S)?)?$/i
// Far beyond real plans, and sums stay well inside the safe integers.
const longestAmount = 1_000_000_000

/** The units of `15m` or `1h30m`, in the order of `durationPattern`. */
const shortPattern =
  /^(?=\d)()()(?:(\d+)w)?(?:(\d+)d)?()(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s)?(?:(\d+)ms)?$/

function isPeriod(text: string): boolean {
  return /^P/i.test(text) || shortPattern.test(text)
}

function parsePeriod(text: string, position: number, refuse: Refuse): CalendarDuration {
  const parts = durationPattern.exec(text) ?? shortPattern.exec(text)
  if (!parts) throw refuse(position, durationFault(text))
  const [, years, months, weeks, days, time, hours, minutes, seconds, milliseconds] = parts
  const elapsed = [hours, minutes, seconds].filter((part) => part !== undefined)
  if (time && elapsed.length === 0) throw refuse(position + text.length, 'T must be followed by hours, minutes or seconds')
  if (elapsed.slice(0, -1).some((part) => /[.,]/.test(part))) throw refuse(position, 'only the smallest unit may have a fraction')
  const amount = (part: string | undefined) => Number(part?.replace(',', '.') ?? 0)
  const duration = {
    months: amount(years) * 12 + amount(months),
    days: amount(weeks) * 7 + amount(days),
    ms:
      Math.round((amount(hours) * 3_600_000 + amount(minutes) * 60_000 + amount(seconds) * 1000 + amount(milliseconds)) * 1e6) /
      1e6,
  }
  if (!Number.isInteger(duration.ms)) throw refuse(position, 'it is finer than a millisecond')
  if (averageMs(duration) < shortestPeriodMs) throw refuse(position, `the period must be at least ${shortestPeriodMs} ms`)
  if (Math.max(duration.months, duration.days, duration.ms / 1000) > longestAmount) throw refuse(position, 'it is too long')
  return duration
}

function durationFault(text: string): string {
  if (/^[+-]/.test(text) || /-/.test(text)) return 'a duration must be positive'
  if (/^P.*\d[.,]\d+[YMWD]/i.test(text) && !/T/i.test(text)) return 'years to days must be whole numbers'
  return 'expected a duration such as 15m, 1h30m, PT15M, P1D or P1Y2M10DT2H30M'
}

const momentPattern =
  /^(\d{4})(-?)(\d{2})\2(\d{2})(?:T(\d{2})(?:(:?)(\d{2})(?:\6(\d{2})(?:[.,](\d{1,9}))?)?)?(Z|[+-]\d{2}(?::?\d{2})?)?)?$/i

/** An instant; without an offset, the wall time in `zone`. Null when the text is none. */
function parseMoment(text: string, zone: Zone): number | null {
  const parts = momentPattern.exec(text)
  if (!parts) return null
  const [year, month, date, hour, minute, second] = [1, 3, 4, 5, 7, 8].map((i) => Number(parts[i] ?? 0)) as SixNumbers
  if (!isDate(year, month, date) || hour > 23 || minute > 59 || second > 59) return null
  const ms = Number((parts[9] ?? '0').padEnd(3, '0').slice(0, 3))
  const wall = dayFromCivil(year, month, date) * dayMs + hour * 3_600_000 + minute * 60_000 + second * 1000 + ms
  const offset = parts[10]
  if (offset === undefined) return instantOfWall(zone, wall)
  const ahead = offsetMs(offset)
  return ahead === null ? null : wall - ahead
}

type SixNumbers = [number, number, number, number, number, number]

/** Null for an offset that no clock has. */
function offsetMs(text: string): number | null {
  if (/^z$/i.test(text)) return 0
  const digits = text.slice(1).replace(':', '').padEnd(4, '0')
  const [hours, minutes] = [Number(digits.slice(0, 2)), Number(digits.slice(2))]
  if (hours > 23 || minutes > 59) return null
  const size = hours * 3_600_000 + minutes * 60_000
  return text.startsWith('-') ? -size : size
}
