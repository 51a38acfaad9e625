import { PunctualError } from '../errors.ts'
import { isDate } from './civil.ts'

/** An instant at the public edge. Inside, an instant is a number of milliseconds since the epoch. */
export type InstantInput = Date | string

const iso = /^(\d{4})-(\d{2})-(\d{2})T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})$/

/** The instants that ISO 8601 writes with four digits of the year. */
const [earliestMs, latestMs] = [Date.parse('0000-01-01T00:00:00Z'), Date.parse('9999-12-31T23:59:59.999Z')]

/**
 * The instant as epoch milliseconds, in the years 0 to 9999: one that is stored must be one that can be written and read back. A text
 * must carry its offset, so the zone of the process never decides.
 */
export function parseInstant(input: InstantInput, field = 'instant'): number {
  const ms = instantMs(input)
  return ms >= earliestMs && ms <= latestMs ? ms : refuse(input, field)
}

/** The end of a stretch of time, which may also be the first or the last that a Date can hold. */
export function parseEnd(input: InstantInput, field: string): number {
  const ms = instantMs(input)
  return Number.isNaN(ms) ? refuse(input, field) : ms
}

function instantMs(input: InstantInput): number {
  return input instanceof Date ? input.getTime() : typeof input === 'string' ? textMs(input) : Number.NaN
}

function refuse(input: unknown, field: string): never {
  throw new PunctualError(
    'instant.invalid',
    `${field} must be a Date or an ISO 8601 text with an offset, such as 2026-11-15T06:00:00Z; got ${show(input)}`,
    { field, given: show(input) },
  )
}

function textMs(text: string): number {
  const [, year, month, date] = iso.exec(text) ?? []
  // Date.parse would read the 30th of February as the 2nd of March.
  return year !== undefined && isDate(Number(year), Number(month), Number(date)) ? Date.parse(text) : Number.NaN
}

export function isoText(ms: number): string {
  return new Date(ms).toISOString()
}

function show(input: unknown): string {
  if (input instanceof Date) return Number.isNaN(input.getTime()) ? 'an invalid Date' : input.toISOString()
  return typeof input === 'string' ? JSON.stringify(input.slice(0, 80)) : typeof input
}
