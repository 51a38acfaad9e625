import { civilFromDay, dayFromCivil, dayMs, dayOf, monthLength, monthOf, yearOf } from '../time/civil.ts'
import { instantOfWall } from '../time/local-time.ts'
import type { Zone } from '../time/zone.ts'

/** A length of time in three parts that do not convert into each other: months and days are the calendar's. */
export interface CalendarDuration {
  /** Years count twelve. */
  readonly months: number
  /** Weeks count seven. */
  readonly days: number
  /** Hours and below, in milliseconds: elapsed time. */
  readonly ms: number
}

/**
 * `anchor` + k × `duration`: months first (clamped at the month's end, always from the anchor's own day), then days,
 * both on the zone's wall, then elapsed time.
 */
export function addTimes(anchor: number, duration: CalendarDuration, k: number, zone: Zone): number {
  const elapsed = duration.ms * k
  if (k === 0 || (duration.months === 0 && duration.days === 0)) return anchor + elapsed
  const wall = anchor + zone.offsetAt(anchor)
  const day = Math.floor(wall / dayMs)
  const civil = civilFromDay(day)
  const months = yearOf(civil) * 12 + monthOf(civil) - 1 + duration.months * k
  const year = Math.floor(months / 12)
  const month = months - year * 12 + 1
  const date = Math.min(dayOf(civil), monthLength(year, month))
  const movedDay = dayFromCivil(year, month, date) + duration.days * k
  return instantOfWall(zone, movedDay * dayMs + (wall - day * dayMs)) + elapsed
}

// 400 years have 146,097 days and 4,800 months.
const averageMonthMs = (146_097 / 4800) * dayMs

/** How long the duration is on average; exact where it has no months. */
export function averageMs(duration: CalendarDuration): number {
  return duration.months * averageMonthMs + duration.days * dayMs + duration.ms
}
