import { parseInstant } from '../time/instant.ts'
import { type CronOptions, cron } from './cron.ts'
import { interval } from './interval.ts'
import { checkText, invalidSchedule } from './invalid-schedule.ts'
import { once } from './once.ts'
import { rrule } from './rrule.ts'
import type { Schedule } from './schedule.ts'

/** A schedule from text of any built-in kind: cron, a duration, an ISO 8601 interval, RFC 5545 rule, or an instant. */
export function parseSchedule(text: string, options: Pick<CronOptions, 'timezone' | 'start' | 'end'> = {}): Schedule {
  checkText(text)
  const trimmed = text.trim()
  if (/^(?:DTSTART|RRULE|RDATE|EXDATE|FREQ=)/i.test(trimmed)) return rrule(text, options)
  if (/^[+-]?P|^R-?\d*\/|^[\d.]+(?:ms|[wdhms])/i.test(trimmed)) return interval(trimmed, options)
  if (/^\d{4}-\d{2}-\d{2}T/.test(trimmed)) return onceAt(trimmed)
  return cron(text, options)
}

function onceAt(text: string): Schedule {
  try {
    return once(new Date(parseInstant(text)))
  } catch {
    throw invalidSchedule(text, 0, 'an instant needs its offset, as in 2026-11-15T06:00:00Z or 2026-11-15T07:00:00+01:00')
  }
}
