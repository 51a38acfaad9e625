import { dayFromCivil, monthLength, weekdayOf } from '../time/civil.ts'

/**
 * A parsed cron text: one bit per value that matches. Sixty values take two masks of thirty bits, which stay small
 * integers for the engine. Flags hold facts that follow from the text alone (is it an interval, are both day fields set).
 */
export interface CronPattern {
  /** Seconds 0–29 and 30–59. */
  readonly secondsLow: number
  readonly secondsHigh: number
  /** Minutes 0–29 and 30–59. */
  readonly minutesLow: number
  readonly minutesHigh: number
  /** Bit 0 is midnight. */
  readonly hours: number
  /** Bit 0 is the first of the month. */
  readonly days: number
  /** Bit 0 is January. */
  readonly months: number
  /** Bit 0 is Sunday. */
  readonly weekdays: number
  /** `*`, `?`, a range or a step in second, minute or hour: the text means elapsed time. */
  readonly isInterval: boolean
  /** Which day fields are set, that is anything but `*` and `?`: one of the `dayRule` numbers. */
  readonly dayRule: number
  /** `L`, `W` and `#`, or null. */
  readonly special: SpecialDays | null
}

export const dayRule = { any: 0, dayOfMonth: 1, weekday: 2, either: 3 } as const

export const everyHour = 0xff_ffff

/** Days that depend on the month they are in. */
export interface SpecialDays {
  /** `L-n`: bit n. */
  readonly fromLast: number
  /** `nW`: bit n − 1. */
  readonly nearest: number
  /** `L-nW`: bit n. */
  readonly nearestFromLast: number
  /** `5L`: bit 5. */
  readonly lastWeekdays: number
  /** `5#2`: bit 5 of the second element. */
  readonly nthWeekdays: readonly number[]
}

/** The matching days of a month, bit 0 is the first. The month itself is not asked whether it matches. */
export function matchingDays(pattern: CronPattern, year: number, month: number): number {
  const length = monthLength(year, month)
  const all = 0x7fff_ffff >>> (31 - length)
  const rule = pattern.dayRule
  if (rule === dayRule.any) return all
  if (rule === dayRule.dayOfMonth && pattern.special === null) return pattern.days & all
  const first = weekdayOf(dayFromCivil(year, month, 1))
  let days = 0
  if (rule !== dayRule.weekday) days = pattern.days
  if (rule !== dayRule.dayOfMonth) days |= spreadWeekdays(pattern.weekdays, first)
  if (pattern.special !== null) days |= specialDays(pattern.special, length, first)
  return days & all
}

/** A mask of weekdays, laid over a month that begins on the weekday `first`. */
function spreadWeekdays(weekdays: number, first: number): number {
  const week = ((weekdays >> first) | (weekdays << (7 - first))) & 127
  return week | (week << 7) | (week << 14) | (week << 21) | (week << 28)
}

function specialDays(special: SpecialDays, length: number, first: number): number {
  let days = 0
  for (let day = 1; day <= length; day++) {
    const bit = 1 << (day - 1)
    const fromLast = 1 << (length - day)
    if ((special.fromLast & fromLast) !== 0) days |= bit
    if ((special.nearest & bit) !== 0 || (special.nearestFromLast & fromLast) !== 0)
      days |= 1 << (nearestWorkday(day, length, first) - 1)
  }
  days |= spreadWeekdays(special.lastWeekdays, first) & ~(0x7fff_ffff >>> (31 - (length - 7)))
  for (let nth = 0; nth < 5; nth++) {
    days |= spreadWeekdays(special.nthWeekdays[nth] as number, first) & (127 << (7 * nth))
  }
  return days
}

/** The Monday-to-Friday day nearest to `day`, without leaving the month. */
function nearestWorkday(day: number, length: number, first: number): number {
  const weekday = (first + day - 1) % 7
  if (weekday === 6) return day === 1 ? 3 : day - 1
  if (weekday === 0) return day === length ? day - 2 : day + 1
  return day
}
