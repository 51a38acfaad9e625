import { dayFromCivil, dayMs } from '../time/civil.ts'
import { tzVersion } from '../time/zone.ts'
import { isNewerTz, zoneRules } from '../time/zone-rules.ts'
import type { Schedule } from './schedule.ts'
import { zonesOf } from './schedule-zone.ts'
import { textHash } from './text-hash.ts'

const yearsAhead = 5

/**
 * By which zone data a plan was made, as a short text to store with it: `2026c 2026 9f2c11aa`. It names the tz version,
 * the year of the plan, and a print of the rules that the schedule's zones have in that year and the four after it.
 * Empty for a schedule that no zone's rules touch.
 */
export function tzStamp(schedule: Schedule, at: number): string {
  return zonesOf(schedule).length === 0 ? '' : stampOf(schedule, tzVersion(), new Date(at).getUTCFullYear())
}

/**
 * Whether this process should plan the schedule anew: its tz data is newer than the stamp's, and differs in the rules of
 * the schedule's own zones. Older data never acts, so a mixed fleet does not plan back and forth.
 */
export function isStampOutdated(stamp: string, schedule: Schedule, tz: string = tzVersion()): boolean {
  return isNewerTz(tz, tzOfStamp(stamp)) && seesOtherwise(stamp, schedule)
}

/** Whether this process's data, older or newer, give the schedule's zones other rules than those the stamp was made by. */
export function seesOtherwise(stamp: string, schedule: Schedule): boolean {
  const [kept, year] = stamp.split(' ')
  return kept !== undefined && year !== undefined && stampOf(schedule, kept, Number(year)) !== stamp
}

/** The tz version by which a plan was made; empty where no zone mattered. */
export function tzOfStamp(stamp: string): string {
  return stamp.split(' ')[0] as string
}

function stampOf(schedule: Schedule, tz: string, year: number): string {
  const [from, to] = [dayFromCivil(year, 1, 1) * dayMs, dayFromCivil(year + yearsAhead, 1, 1) * dayMs]
  const rules = zonesOf(schedule).map((zone) => `${zone} ${zoneRules(zone, from, to)}`)
  return `${tz} ${year} ${textHash(rules.join('\n')).toString(16).padStart(8, '0')}`
}
