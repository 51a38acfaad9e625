import { PunctualError } from '../errors.ts'
import { isDate } from './civil.ts'

/** An instant at the public edge. Inside, an instant is a number of milliseconds since the epoch. */
export type InstantInput = Date | string

const iso = /^(\d{4})-(\d{2})-(\d{2})T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})$/

/** The instant as epoch milliseconds. A text must carry its offset, so the zone of the process never decides. */
export function parseInstant(input: InstantInput, field = 'instant'): number {
  const ms = input instanceof Date ? input.getTime() : typeof input === 'string' ? textMs(input) : Number.NaN
  if (!Number.isNaN(ms)) return ms
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
  if (input instanceof Date) return 'an invalid Date'
  return typeof input === 'string' ? JSON.stringify(input.slice(0, 80)) : typeof input
}
