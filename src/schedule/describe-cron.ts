import cronstrue from 'cronstrue'
import { type CronField, readField } from './cron-field.ts'
import { canonicalCron, cronFields } from './cron-text.ts'

/** A valid cron text in words, without its zone: those of cronstrue, from a text that it reads as we do. */
export function describeCron(text: string): string {
  const fields = canonicalCron(text).replaceAll('?', '*').split(' ')
  const known = cronFields.slice(-fields.length)
  const plain = fields.map((field, i) => plainField(field, known[i] as CronField))
  const times = plain.slice(0, -3)
  const [day, month, weekday] = plain.slice(-3) as [string, string, string]
  if (day === '*' || weekday === '*') return sayDays(times, day, month, weekday)
  // cronstrue joins both with "and", but either may match.
  return `${sayDays(times, day, month, '*')}; or: ${sayDays(times, '*', month, weekday)}`
}

/**
 * The field with its values written out where cronstrue would be wrong: at a step that does not divide the field (it
 * starts anew each hour, so "every 7 minutes" is not true), and at ranges and steps inside a list.
 */
function plainField(field: string, known: CronField): string {
  const items = field.split(',')
  if (items.length === 1 && (!field.includes('/') || isEvenStep(field, known))) return field
  const special = items.filter(isSpecial)
  const usual = items.filter((item) => !isSpecial(item)).join(',')
  return [...(usual === '' ? [] : [/[-/*]/.test(usual) ? valuesOf(usual, known) : usual]), ...special].join(',')
}

function isEvenStep(field: string, { first, last, special }: CronField): boolean {
  const [from, step] = field.split('/') as [string, string]
  const size = last - first + 1
  const begins = from === '*' ? first : Number(from)
  // No step divides a month or a week.
  return special === undefined && size % Number(step) === 0 && begins - first < Number(step)
}

/** `L`, `L-3`, `15W`, `5L`, `FRIL`, `5#2`; not JUL and WED. */
function isSpecial(item: string): boolean {
  return /^L|\dW$|#|^(?:\d|[A-Z]{3})L$/.test(item)
}

function valuesOf(item: string, known: CronField): string {
  const { low, high } = readField(item, 0, item.length, known)
  const isSet = (bit: number) => ((bit < 30 ? low >>> bit : high >>> (bit - 30)) & 1) === 1
  const all = Array.from({ length: known.last - known.first + 1 }, (_, bit) => bit)
  const values = all.filter(isSet).map((bit) => known.first + bit)
  return values.length === all.length ? '*' : values.join(',')
}

function sayDays(times: readonly string[], day: string, month: string, weekday: string): string {
  const words = (d: string, w: string) => cronstrue.toString([...times, d, month, w].join(' '), { use24HourTimeFormat: true })
  const days = day.split(',')
  // cronstrue does not read W and L-n in lists, nor L-nW.
  if (days.some(isSpecial) && (days.length > 1 || /^L-\d+W$/.test(day)))
    return `${words('*', weekday)}, on ${days.map(sayDay).join(' and ')}`
  const weekdays = weekday.split(',')
  const usual = weekdays.filter((item) => !isSpecial(item))
  if (usual.length === 0 || usual.length === weekdays.length) return words(day, weekday)
  // In one list it would say "the second Friday and Saturday of the month".
  return `${words(day, usual.join(','))}; or: ${words(day, weekdays.filter(isSpecial).join(','))}`
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
