/**
 * The Gregorian calendar in integers. A day is its number since 1970-01-01, a wall time is the number of
 * milliseconds since 1970-01-01T00:00 on the wall, read as if it were UTC. No Date objects: this is the hot path.
 */

export const dayMs = 86_400_000

const daysPer400Years = 146_097
// Years are counted from 1 March, so the leap day is the last day of its year; day 0 of that count is 0000-03-01.
const daysToMarchEra = 719_468

/** The date of a day, packed into one integer: read it with `yearOf`, `monthOf` (1–12) and `dayOf` (1–31). */
export function civilFromDay(day: number): number {
  const fromMarch = day + daysToMarchEra
  const era = Math.floor(fromMarch / daysPer400Years)
  const dayOfEra = fromMarch - era * daysPer400Years
  const leapDays = ((dayOfEra / 1460) | 0) - ((dayOfEra / 36_524) | 0) + ((dayOfEra / 146_096) | 0)
  const yearOfEra = ((dayOfEra - leapDays) / 365) | 0
  const dayOfYear = dayOfEra - (yearOfEra * 365 + (yearOfEra >> 2) - ((yearOfEra / 100) | 0))
  const monthFromMarch = ((dayOfYear * 5 + 2) / 153) | 0
  const date = dayOfYear - (((monthFromMarch * 153 + 2) / 5) | 0) + 1
  const month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
  const year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0)
  return (year << 9) | (month << 5) | date
}

export function yearOf(civil: number): number {
  return civil >> 9
}

export function monthOf(civil: number): number {
  return (civil >> 5) & 15
}

export function dayOf(civil: number): number {
  return civil & 31
}

/** The day's number. `month` is 1–12; `date` may lie outside the month and then counts on from it. */
export function dayFromCivil(year: number, month: number, date: number): number {
  const marchYear = month <= 2 ? year - 1 : year
  const era = Math.floor(marchYear / 400)
  const yearOfEra = marchYear - era * 400
  const monthFromMarch = month > 2 ? month - 3 : month + 9
  const dayOfYear = (((monthFromMarch * 153 + 2) / 5) | 0) + date - 1
  return era * daysPer400Years + yearOfEra * 365 + (yearOfEra >> 2) - ((yearOfEra / 100) | 0) + dayOfYear - daysToMarchEra
}

export function monthLength(year: number, month: number): number {
  if (month === 2) return (year & 3) === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
  return 30 + ((month + (month >> 3)) & 1)
}

/** 0 is Sunday. */
export function weekdayOf(day: number): number {
  return (((day + 4) % 7) + 7) % 7
}

/** Whether the three numbers are a date of the calendar. */
export function isDate(year: number, month: number, date: number): boolean {
  return month >= 1 && month <= 12 && date >= 1 && date <= monthLength(year, month)
}

/** `2026-11-15T06:00:00`, with milliseconds only where there are some. */
export function wallText(wall: number): string {
  const text = new Date(wall).toISOString()
  return text.endsWith('.000Z') ? text.slice(0, -5) : text.slice(0, -1)
}
