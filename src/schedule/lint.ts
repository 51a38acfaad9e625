import { isoText } from '../time/instant.ts'
import type { Zone } from '../time/zone.ts'
import { CronSchedule } from './cron.ts'
import { dayRule, everyHour } from './cron-pattern.ts'
import { betweenMs, nextMs, type Schedule } from './schedule.ts'
import { zoneOf } from './schedule-zone.ts'

/** Something about a schedule that its author may not have meant. */
export interface LintWarning {
  readonly code: 'never-fires' | 'fires-twice' | 'made-up' | 'too-often' | 'both-day-fields'
  readonly message: string
  /** The first instant that the warning is about, where there is one. */
  readonly at?: string
}

const oftenMs = 10_000
// Clock changes of the next years show what the rules of the zone do; one and a bit would do in most.
const outlookMs = 3 * 366 * 86_400_000

/** The warnings about a schedule, as seen from `from` (epoch milliseconds). */
export function lint(schedule: Schedule, from: number): LintWarning[] {
  const first = nextMs(schedule, from)
  if (first === null)
    return [{ code: 'never-fires', message: 'It never fires: no instant was found from here on.' }, ...bothDayFields(schedule)]
  return [...tooOften(schedule, first), ...atClockChanges(schedule, from), ...bothDayFields(schedule)]
}

function bothDayFields(schedule: Schedule): LintWarning[] {
  if (!(schedule instanceof CronSchedule) || schedule.pattern.dayRule !== dayRule.either) return []
  return [
    {
      code: 'both-day-fields',
      message: 'Day of month and day of week are both set: it fires when either matches, not only when both do.',
    },
  ]
}

function tooOften(schedule: Schedule, first: number): LintWarning[] {
  let last = first
  // A few steps are enough to meet the closest pair of a minute.
  for (let step = 0; step < 12; step++) {
    const ms = nextMs(schedule, last)
    if (ms === null) return []
    if (ms - last < oftenMs) {
      const message = `It fires more often than every 10 seconds: ${(ms - last) / 1000} s apart.`
      return [{ code: 'too-often', message, at: isoText(last) }]
    }
    last = ms
  }
  return []
}

/** The clock changes of the coming years at which the schedule fires twice on the wall, or makes up for lost times. */
function atClockChanges(schedule: Schedule, from: number): LintWarning[] {
  if (!(schedule instanceof CronSchedule)) return []
  const zone = zoneOf(schedule)
  const warnings = new Map<string, LintWarning>()
  for (let end = zone.segmentAt(from).end; end < from + outlookMs; end = zone.segmentAt(end).end) {
    const shift = zone.offsetAt(end) - zone.offsetAt(end - 1)
    const warning = shift > 0 ? madeUp(schedule, zone, end) : shift < 0 ? firesTwice(schedule, zone, end, -shift) : null
    if (warning && !warnings.has(warning.code)) warnings.set(warning.code, warning)
  }
  return [...warnings.values()]
}

function madeUp(schedule: CronSchedule, zone: Zone, end: number): LintWarning | null {
  if (nextMs(schedule, end - 1) !== end || !schedule.makesUpAt(end)) return null
  return {
    code: 'made-up',
    message: `Times that the clock change of ${zone.name} skips are made up for by one run right after it.`,
    at: isoText(end),
  }
}

/** No warning where every hour matches: then both passes only keep it regular. */
function firesTwice(schedule: CronSchedule, zone: Zone, change: number, shift: number): LintWarning | null {
  if (schedule.pattern.hours === everyHour) return null
  const second = new Set(betweenMs(schedule, change, change + shift))
  for (const first of betweenMs(schedule, change - shift, change)) {
    if (!second.has(first + shift)) continue
    return {
      code: 'fires-twice',
      message: `At the clock change of ${zone.name} the wall shows some times twice, and it fires both times.`,
      at: isoText(first),
    }
  }
  return null
}
