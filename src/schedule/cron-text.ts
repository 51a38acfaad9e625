import { type CronField, type FieldValues, readField } from './cron-field.ts'
import { type CronPattern, dayRule } from './cron-pattern.ts'
import { checkText, invalidSchedule } from './invalid-schedule.ts'

const monthNames = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC']
const weekdayNames = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']

const second: CronField = { name: 'second', first: 0, last: 59 }
const minute: CronField = { name: 'minute', first: 0, last: 59 }
const hour: CronField = { name: 'hour', first: 0, last: 23 }
const dayOfMonth: CronField = { name: 'day-of-month', first: 1, last: 31, special: 'day-of-month' }
const month: CronField = { name: 'month', first: 1, last: 12, names: monthNames }
const dayOfWeek: CronField = { name: 'day-of-week', first: 0, last: 6, names: weekdayNames, special: 'day-of-week' }

/** The six fields of a cron text, seconds first. */
export const cronFields: readonly CronField[] = [second, minute, hour, dayOfMonth, month, dayOfWeek]

const macros: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
}

const secondZero: FieldValues = readField('0', 0, 1, second)

/** Reads five fields, six with seconds first, or a macro; refuses anything else with field, position and reason. */
export function parseCron(text: string): CronPattern {
  checkText(text)
  const edges = fieldEdges(text)
  if (edges.length === 0) throw invalidSchedule(text, 0, 'it is empty')
  if (text.charCodeAt(edges[0] as number) === 64) return parseMacro(text, edges)
  const count = edges.length / 2
  if (count !== 5 && count !== 6) {
    const position = count > 6 ? (edges[12] as number) : text.length
    throw invalidSchedule(text, position, `${count} field${count === 1 ? '' : 's'} found, and 5 or 6 (seconds first) are needed`)
  }
  const missing = 6 - count
  const read = (field: CronField, i: number) => readField(text, edges[2 * i] as number, edges[2 * i + 1] as number, field)
  return toPattern([
    missing === 0 ? read(second, 0) : secondZero,
    read(minute, 1 - missing),
    read(hour, 2 - missing),
    read(dayOfMonth, 3 - missing),
    read(month, 4 - missing),
    read(dayOfWeek, 5 - missing),
  ])
}

/** The text as five or six fields with single spaces, in upper case; macros written out. */
export function canonicalCron(text: string): string {
  const joined = text.trim().split(/\s+/).join(' ')
  return macros[joined.toLowerCase()] ?? joined.toUpperCase()
}

type SixFields = readonly [FieldValues, FieldValues, FieldValues, FieldValues, FieldValues, FieldValues]

function toPattern([seconds, minutes, hours, days, months, weekdays]: SixFields): CronPattern {
  const hasSpecial =
    (days.fromLast | days.nearest | days.nearestFromLast | weekdays.lastWeekdays) !== 0 || weekdays.nthWeekdays !== null
  return {
    secondsLow: seconds.low,
    secondsHigh: seconds.high,
    minutesLow: minutes.low,
    minutesHigh: minutes.high,
    hours: hours.low,
    days: days.low | (days.high << 30),
    months: months.low,
    weekdays: weekdays.low,
    isInterval: seconds.isInterval || minutes.isInterval || hours.isInterval,
    dayRule: (days.isAny ? 0 : dayRule.dayOfMonth) | (weekdays.isAny ? 0 : dayRule.weekday),
    special: hasSpecial
      ? {
          fromLast: days.fromLast,
          nearest: days.nearest,
          nearestFromLast: days.nearestFromLast,
          lastWeekdays: weekdays.lastWeekdays,
          nthWeekdays: weekdays.nthWeekdays ?? [0, 0, 0, 0, 0],
        }
      : null,
  }
}

function parseMacro(text: string, edges: readonly number[]): CronPattern {
  const name = text.slice(edges[0], edges[1])
  const meaning = macros[name.toLowerCase()]
  if (meaning === undefined || edges.length > 2) {
    const position = meaning === undefined ? (edges[0] as number) : (edges[2] as number)
    throw invalidSchedule(text, position, `a macro must be one of ${Object.keys(macros).join(', ')}, and stand alone`)
  }
  return parseCron(meaning)
}

/** Start and end of every field, one after the other. */
function fieldEdges(text: string): number[] {
  const edges: number[] = []
  let inField = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    const isSpace = code === 32 || (code >= 9 && code <= 13)
    if (isSpace === inField) edges.push(at)
    inField = !isSpace
  }
  if (inField) edges.push(text.length)
  return edges
}
