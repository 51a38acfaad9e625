import { dayFromCivil, dayMs, isDate } from '../time/civil.ts'
import { instantOfWall } from '../time/local-time.ts'
import { type Zone, zoneNamed } from '../time/zone.ts'
import { checkText, invalidSchedule } from './invalid-schedule.ts'

/** RFC 5545 text, checked and with every date given its zone, so the library behind it has nothing to guess. */
export interface RRuleText {
  /** `DTSTART`, `RRULE`, `RDATE` and `EXDATE` lines. */
  readonly lines: string
  readonly timezone: string
  /** No instant lies before this one. */
  readonly first: number
}

/**
 * Reads `DTSTART`, one `RRULE` and any `RDATE` and `EXDATE`, separated by line breaks or spaces. Dates without a zone are
 * on the wall of DTSTART's TZID, else of `timezone`.
 */
export function parseRRule(text: string, timezone: string): RRuleText {
  checkText(text)
  const lines = [...text.matchAll(/\S+/g)].map((match) => readLine(text, match[0], match.index))
  const only = (name: string) => {
    const found = lines.filter((line) => line.name === name)
    if (found.length !== 1)
      throw invalidSchedule(text, found[1]?.at ?? 0, `exactly one ${name} is needed, and ${found.length} found`)
    return found[0] as Line
  }
  const start = only('DTSTART')
  const rule = only('RRULE')
  checkRule(text, rule)
  const zoneName = start.value.endsWith('Z') ? 'UTC' : (start.zone ?? timezone)
  const zone = zoneNamed(zoneName, 'TZID')
  const first = dateOf(text, start.value, start.valueAt, zone)
  const extras = lines.filter((line) => line.name === 'RDATE' || line.name === 'EXDATE')
  const dates = extras.flatMap((line) => readDates(text, line, zone))
  const shown = dates.map((date) => `${date.name}:${utcText(date.ms)}`)
  return {
    lines: [`DTSTART;TZID=${zoneName}:${wallOf(start.value)}`, `RRULE:${untilInUtc(rule.value, zone)}`, ...shown].join('\n'),
    timezone: zoneName,
    first: Math.min(first, ...dates.filter((date) => date.name === 'RDATE').map((date) => date.ms)),
  }
}

interface Line {
  readonly name: string
  readonly zone: string | undefined
  readonly value: string
  readonly at: number
  readonly valueAt: number
}

const linePattern = /^(?:(DTSTART|RRULE|RDATE|EXDATE)((?:;(?:TZID=[^;:]+|VALUE=DATE|VALUE=DATE-TIME))*):)?(.+)$/i

function readLine(text: string, line: string, at: number): Line {
  const [, name, parameters = '', value = ''] = linePattern.exec(line) ?? []
  // A rule may stand without its name, as FREQ=DAILY;…
  if (name === undefined && !/^FREQ=/i.test(value)) throw invalidSchedule(text, at, 'expected DTSTART, RRULE, RDATE or EXDATE')
  return {
    name: name?.toUpperCase() ?? 'RRULE',
    zone: /;TZID=([^;]+)/i.exec(parameters)?.[1],
    value: value.toUpperCase(),
    at,
    valueAt: at + line.length - value.length,
  }
}

function readDates(text: string, line: Line, zone: Zone): { readonly name: string; readonly ms: number }[] {
  const own = line.zone === undefined ? zone : zoneNamed(line.zone, 'TZID')
  let at = line.valueAt
  return line.value.split(',').map((date) => {
    const ms = dateOf(text, date, at, own)
    at += date.length + 1
    return { name: line.name, ms }
  })
}

const datePattern = /^(\d{4})(\d{2})(\d{2})(?:T(\d{2})(\d{2})(\d{2})(Z)?)?$/

function dateOf(text: string, value: string, at: number, zone: Zone): number {
  const [, year, month, date, hour, minute, second] = (datePattern.exec(value) ?? []).map((part) => Number(part ?? 0)) as Numbers
  if (year === undefined || !isDate(year, month, date) || hour > 23 || minute > 59 || second > 59) {
    throw invalidSchedule(text, at, `${JSON.stringify(value.slice(0, 20))} is not a date such as 20260131T090000Z`)
  }
  const wall = dayFromCivil(year, month, date) * dayMs + hour * 3_600_000 + minute * 60_000 + second * 1000
  return value.endsWith('Z') ? wall : instantOfWall(zone, wall)
}

type Numbers = [number, number, number, number, number, number, number]

/** The wall time, even where a clock change skips it: the rule's later dates take their time of day from it. */
function wallOf(date: string): string {
  return date.includes('T') ? date.replace('Z', '') : `${date}T000000`
}

/** `20260131T090000Z`. */
function utcText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace(/[-:]/g, '')}Z`
}

/** UNTIL without a zone is on the wall too, and a date alone includes its whole day. */
function untilInUtc(rule: string, zone: Zone): string {
  return rule.replace(/UNTIL=(\d{8})(T\d{6})?(Z?)/, (whole, date: string, time: string | undefined, utc: string) =>
    utc ? whole : `UNTIL=${utcText(dateOf(rule, `${date}${time ?? 'T235959'}`, 0, zone))}`,
  )
}

const whole = (least: number, most: number, signed = false) => ({ least, most, signed })
const numericParts: Readonly<Record<string, { least: number; most: number; signed: boolean }>> = {
  INTERVAL: whole(1, 1_000_000),
  COUNT: whole(1, 1_000_000_000),
  BYSECOND: whole(0, 59),
  BYMINUTE: whole(0, 59),
  BYHOUR: whole(0, 23),
  BYMONTHDAY: whole(1, 31, true),
  BYYEARDAY: whole(1, 366, true),
  BYWEEKNO: whole(1, 53, true),
  BYMONTH: whole(1, 12),
  BYSETPOS: whole(1, 366, true),
}
const textParts: Readonly<Record<string, RegExp>> = {
  FREQ: /^(?:YEARLY|MONTHLY|WEEKLY|DAILY|HOURLY|MINUTELY|SECONDLY)$/,
  UNTIL: datePattern,
  BYDAY: /^(?:[+-]?(?:[1-9]|[1-4]\d|5[0-3]))?(?:MO|TU|WE|TH|FR|SA|SU)$/,
  WKST: /^(?:MO|TU|WE|TH|FR|SA|SU)$/,
}
const partNames = [...Object.keys(textParts), ...Object.keys(numericParts)]

function checkRule(text: string, rule: Line): void {
  const seen = new Set<string>()
  let at = rule.valueAt
  for (const part of rule.value.split(';')) {
    const [name = '', ...values] = part.split('=')
    const refuse = (reason: string) => invalidSchedule(text, at, reason, name || undefined)
    if (!partNames.includes(name)) throw refuse(`a rule has the parts ${partNames.join(', ')}`)
    if (seen.has(name)) throw refuse(`${name} is given twice`)
    seen.add(name)
    const items = values.join('=').split(',')
    if (items.length > 1 && !name.startsWith('BY')) throw refuse(`${name} takes one value`)
    for (const item of items) if (!isPartValue(name, item)) throw refuse(partFault(name, item))
    at += part.length + 1
  }
  if (!seen.has('FREQ')) throw invalidSchedule(text, rule.valueAt, 'FREQ is missing')
  if (seen.has('COUNT') && seen.has('UNTIL')) throw invalidSchedule(text, rule.valueAt, 'COUNT and UNTIL exclude each other')
}

function isPartValue(name: string, item: string): boolean {
  const range = numericParts[name]
  if (!range) return (textParts[name] as RegExp).test(item)
  const value = Number(item)
  const size = range.signed ? Math.abs(value) : value
  return /^[+-]?\d{1,9}$/.test(item) && (range.signed || !/^[+-]/.test(item)) && size >= range.least && size <= range.most
}

function partFault(name: string, item: string): string {
  const range = numericParts[name]
  const shown = JSON.stringify(item.slice(0, 20))
  if (!range) return `${shown} is not a value of ${name}`
  return `${shown} is outside ${range.least} to ${range.most}${range.signed ? ', counted from either end' : ''}`
}
