import { civilFromDay, dayFromCivil, dayMs, dayOf, monthOf, yearOf } from '../time/civil.ts'
import { type CronPattern, matchingDays } from './cron-pattern.ts'

/** No wall time matches within the horizon. */
const noWall = Number.NaN

// The fifth Monday of a February is up to 40 years away (across 2100); no date of the calendar is rarer.
const horizonYears = 41

/** The first matching wall time at or after `from`, which must be a whole second; `noWall` when there is none. */
export function matchFrom(pattern: CronPattern, from: number): number {
  const day = Math.floor(from / dayMs)
  const civil = civilFromDay(day)
  let year = yearOf(civil)
  let month = monthOf(civil)
  let days = monthMatches(pattern, month) ? matchingDays(pattern, year, month) >>> (dayOf(civil) - 1) : 0
  if ((days & 1) !== 0) {
    const time = timeFrom(pattern, (from - day * dayMs) / 1000)
    if (time >= 0) return day * dayMs + time * 1000
  }
  days = days >>> 1
  if (days !== 0) return (day + 1 + lowestBit(days)) * dayMs + firstTime(pattern) * 1000
  for (const lastYear = year + horizonYears; year <= lastYear; ) {
    month = month === 12 ? 1 : month + 1
    if (month === 1) year++
    if (!monthMatches(pattern, month)) continue
    days = matchingDays(pattern, year, month)
    if (days !== 0) return (dayFromCivil(year, month, 1) + lowestBit(days)) * dayMs + firstTime(pattern) * 1000
  }
  return noWall
}

/** The last matching wall time at or before `from`, which must be a whole second; `noWall` when there is none. */
export function matchUntil(pattern: CronPattern, from: number): number {
  const day = Math.floor(from / dayMs)
  const civil = civilFromDay(day)
  let year = yearOf(civil)
  let month = monthOf(civil)
  const date = dayOf(civil)
  let days = monthMatches(pattern, month) ? matchingDays(pattern, year, month) & (0x7fff_ffff >>> (31 - date)) : 0
  if (days >>> (date - 1) !== 0) {
    const time = timeUntil(pattern, (from - day * dayMs) / 1000)
    if (time >= 0) return day * dayMs + time * 1000
    days &= ~(1 << (date - 1))
  }
  if (days !== 0) return (day - date + 1 + highestBit(days)) * dayMs + lastTime(pattern) * 1000
  for (const firstYear = year - horizonYears; year >= firstYear; ) {
    month = month === 1 ? 12 : month - 1
    if (month === 12) year--
    if (!monthMatches(pattern, month)) continue
    days = matchingDays(pattern, year, month)
    if (days !== 0) return (dayFromCivil(year, month, 1) + highestBit(days)) * dayMs + lastTime(pattern) * 1000
  }
  return noWall
}

function monthMatches(pattern: CronPattern, month: number): boolean {
  return ((pattern.months >>> (month - 1)) & 1) !== 0
}

/** The first matching second of the day from `second` on, or -1. */
function timeFrom(pattern: CronPattern, secondOfDay: number): number {
  const hour = (secondOfDay / 3600) | 0
  if (((pattern.hours >>> hour) & 1) !== 0) {
    const minute = ((secondOfDay / 60) | 0) - hour * 60
    if (hasOf60(pattern.minutesLow, pattern.minutesHigh, minute)) {
      const second = nextOf60(pattern.secondsLow, pattern.secondsHigh, secondOfDay - hour * 3600 - minute * 60)
      if (second >= 0) return hour * 3600 + minute * 60 + second
    }
    const later = minute < 59 ? nextOf60(pattern.minutesLow, pattern.minutesHigh, minute + 1) : -1
    if (later >= 0) return hour * 3600 + later * 60 + firstOf60(pattern.secondsLow, pattern.secondsHigh)
  }
  const hours = pattern.hours >>> (hour + 1)
  return hours === 0 ? -1 : (hour + 1 + lowestBit(hours)) * 3600 + firstInHour(pattern)
}

/** The last matching second of the day up to `second`, or -1. */
function timeUntil(pattern: CronPattern, secondOfDay: number): number {
  const hour = (secondOfDay / 3600) | 0
  if (((pattern.hours >>> hour) & 1) !== 0) {
    const minute = ((secondOfDay / 60) | 0) - hour * 60
    if (hasOf60(pattern.minutesLow, pattern.minutesHigh, minute)) {
      const second = previousOf60(pattern.secondsLow, pattern.secondsHigh, secondOfDay - hour * 3600 - minute * 60)
      if (second >= 0) return hour * 3600 + minute * 60 + second
    }
    const earlier = minute > 0 ? previousOf60(pattern.minutesLow, pattern.minutesHigh, minute - 1) : -1
    if (earlier >= 0) return hour * 3600 + earlier * 60 + lastOf60(pattern.secondsLow, pattern.secondsHigh)
  }
  const hours = pattern.hours & ((1 << hour) - 1)
  return hours === 0 ? -1 : highestBit(hours) * 3600 + lastInHour(pattern)
}

function firstTime(pattern: CronPattern): number {
  return lowestBit(pattern.hours) * 3600 + firstInHour(pattern)
}

function lastTime(pattern: CronPattern): number {
  return highestBit(pattern.hours) * 3600 + lastInHour(pattern)
}

function firstInHour(pattern: CronPattern): number {
  return firstOf60(pattern.minutesLow, pattern.minutesHigh) * 60 + firstOf60(pattern.secondsLow, pattern.secondsHigh)
}

function lastInHour(pattern: CronPattern): number {
  return lastOf60(pattern.minutesLow, pattern.minutesHigh) * 60 + lastOf60(pattern.secondsLow, pattern.secondsHigh)
}

function hasOf60(low: number, high: number, value: number): boolean {
  return ((value < 30 ? low >>> value : high >>> (value - 30)) & 1) !== 0
}

function nextOf60(low: number, high: number, from: number): number {
  if (from < 30) {
    const bits = low >>> from
    if (bits !== 0) return from + lowestBit(bits)
    return high === 0 ? -1 : 30 + lowestBit(high)
  }
  const bits = high >>> (from - 30)
  return bits === 0 ? -1 : from + lowestBit(bits)
}

function previousOf60(low: number, high: number, from: number): number {
  if (from >= 30) {
    const bits = high & (0x3fff_ffff >>> (59 - from))
    if (bits !== 0) return 30 + highestBit(bits)
    return low === 0 ? -1 : highestBit(low)
  }
  const bits = low & (0x3fff_ffff >>> (29 - from))
  return bits === 0 ? -1 : highestBit(bits)
}

function firstOf60(low: number, high: number): number {
  return low === 0 ? 30 + lowestBit(high) : lowestBit(low)
}

function lastOf60(low: number, high: number): number {
  return high === 0 ? highestBit(low) : 30 + highestBit(high)
}

function lowestBit(bits: number): number {
  return 31 - Math.clz32(bits & -bits)
}

function highestBit(bits: number): number {
  return 31 - Math.clz32(bits)
}
