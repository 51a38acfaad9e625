import cronstrue from 'cronstrue'
import { canonicalCron } from './cron-text.ts'

/** A valid cron text in words, without its zone. */
export function describeCron(text: string): string {
  const fields = canonicalCron(text).split(' ')
  const [time, [day = '*', month = '*', weekday = '*']] = [fields.slice(0, -3), fields.slice(-3)]
  const times = time.map((field, i) => withoutUnevenSteps(field, lastOfTime[time.length - i] as number))
  const say = (d: string, w: string) => sayDays(times, d, month, w)
  if (isAny(day) || isAny(weekday)) return say(day, weekday)
  // cronstrue joins both with "and", but either may match.
  return `${say(day, '*')}; or: ${say('*', weekday)}`
}

// By place from the right: hour, minute, second.
const lastOfTime = [0, 23, 59, 59]

function isAny(field: string): boolean {
  return field === '*' || field === '?'
}

function sayDays(times: readonly string[], day: string, month: string, weekday: string): string {
  const words = (d: string) => cronstrue.toString([...times, d, month, weekday].join(' '), { use24HourTimeFormat: true })
  const items = day.split(',')
  // cronstrue does not read W in lists, nor L-nW.
  if (!day.includes('W') || (items.length === 1 && !day.startsWith('L-'))) return words(evenDays(day))
  return `${words('*')}, on ${items.map(sayDay).join(' and ')}`
}

/** A step that does not divide its field starts anew with each hour or day: "every 7 minutes" would be wrong. */
function withoutUnevenSteps(field: string, last: number): string {
  return field.replace(/(^|,)(\*|\d+)\/(\d+)/g, (whole, before: string, from: string, step: string) => {
    if ((last + 1) % Number(step) === 0 && Number(from === '*' ? 0 : from) < Number(step)) return whole
    return before + listOf(from === '*' ? 0 : Number(from), last, Number(step))
  })
}

/** The same for days: months differ in length, so no step divides them. */
function evenDays(field: string): string {
  return field.replace(/(^|,)(\*|\d+)\/(\d+)/g, (_, before: string, from: string, step: string) => {
    return before + listOf(from === '*' ? 1 : Number(from), 31, Number(step))
  })
}

function listOf(from: number, last: number, step: number): string {
  return Array.from({ length: Math.floor((last - from) / step) + 1 }, (_, i) => from + i * step).join(',')
}

function sayDay(item: string): string {
  const isNearest = item.endsWith('W')
  const plain = isNearest ? item.slice(0, -1) : item
  const back = /^L(?:-(\d+))?$/.exec(plain)
  const day = back ? sayFromLast(Number(back[1] ?? 0)) : `day ${plain} of the month`
  if (!isNearest) return day
  return plain === 'L' ? 'the last weekday of the month' : `the weekday nearest ${day}`
}

function sayFromLast(days: number): string {
  if (days === 0) return 'the last day of the month'
  return `${days} day${days === 1 ? '' : 's'} before the last day of the month`
}
