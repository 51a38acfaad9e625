import { PunctualError, shown } from '../errors.ts'

/** A length of time at the public edge: `'90s'`, `'5m'`, `'1h30m'`, `'PT1H30M'`, or a number of milliseconds. */
export type DurationInput = string | number

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }
const short = /^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d|w))+$/
const shortPart = /(\d+(?:\.\d+)?)(ms|s|m|h|d|w)/g
const iso = /^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d{1,3})?)S)?)?$/

/** 1,000 years of 365.25 days: an instant that much after another is still one that ISO 8601 writes with four digits of the year. */
export const longestDurationMs = 365_250 * 86_400_000

/** The duration in milliseconds, at least `min` and at most 1,000 years. Years and months are refused: their length depends on the calendar. */
export function parseDuration(input: DurationInput, field = 'duration', min = 0): number {
  const ms = typeof input === 'number' ? input : typeof input === 'string' && input.length <= 64 ? textMs(input) : Number.NaN
  if (Number.isFinite(ms) && ms >= min && ms <= longestDurationMs) return Math.round(ms)
  throw new PunctualError(
    'duration.invalid',
    `${field} must be a duration such as '90s', '5m', 'PT1H30M' or a number of milliseconds from ${min}, at most 1,000 years; got ${shown(input)}`,
    { field, given: shown(input) },
  )
}

function textMs(text: string): number {
  if (short.test(text)) {
    let total = 0
    for (const [, amount, unit] of text.matchAll(shortPart)) total += Number(amount) * (unitMs[unit as string] as number)
    return total
  }
  const parts = iso.exec(text)
  if (!parts || text === 'P') return Number.NaN
  const [w, d, h, m, s] = parts.slice(1).map((part) => Number(part ?? 0)) as [number, number, number, number, number]
  return w * unitMs.w! + d * unitMs.d! + h * unitMs.h! + m * unitMs.m! + s * unitMs.s!
}
