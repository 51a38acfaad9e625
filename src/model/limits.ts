import { type ErrorCode, PunctualError, shown } from '../errors.ts'

/** The lengths that every store can hold and every key layout relies on. */
export const limits = {
  name: 100,
  key: 200,
  entity: 200,
  scheduleText: 256,
  zone: 100,
  payloadBytes: 256 * 1024,
  resultBytes: 256 * 1024,
  errorText: 4096,
  /** Of the stored log lines of one attempt, as JSON. */
  logText: 16 * 1024,
  logLine: 2048,
  jsonDepth: 32,
} as const

const control = /\p{Cc}|\p{Cs}/u

/** A name of a job, definition, task, tenant or queue: 1–100 characters, no control characters, no blank edges. */
export function checkName(value: unknown, field: string): string {
  // A property of this name would change what an object is.
  if (value === '__proto__')
    throw new PunctualError('name.invalid', `${field} must not be "__proto__"`, { field, given: shown(value) })
  return checkText(value, field, limits.name, 'name.invalid')
}

/** A caller's key or entity id: 1–200 characters, no control characters, no blank edges. */
export function checkKey(value: unknown, field: string): string {
  return checkText(value, field, limits.key, 'key.invalid')
}

/** A note of a caller, such as a reason or an author: 1–200 characters, no control characters, no blank edges. */
export function checkNote(value: unknown, field: string): string {
  return checkText(value, field, limits.key, 'option.invalid')
}

/** Refuses every property that is not in `allowed`, so a typing mistake never passes silently. */
export function checkOptions(value: unknown, allowed: readonly string[], where: string): void {
  if (value === undefined) return
  checkObject(value, where)
  for (const option of Object.keys(value as object)) {
    if (allowed.includes(option)) continue
    throw new PunctualError(
      'option.unknown',
      `${where} has no option ${JSON.stringify(option)}; allowed are ${allowed.join(', ')}`,
      {
        field: where,
        option,
        allowed,
      },
    )
  }
}

/** Refuses what is not an object with fields. */
export function checkObject(value: unknown, where: string): void {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return
  throw new PunctualError('option.invalid', `${where} must be an object; got ${shown(value)}`, { field: where })
}

/** A whole number within a range. */
export function checkWhole(value: unknown, field: string, min: number, max: number): number {
  if (Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max) return value as number
  throw new PunctualError('option.invalid', `${field} must be a whole number from ${min} to ${max}; got ${shown(value)}`, {
    field,
    given: shown(value),
    min,
    max,
  })
}

export function checkOneOf<T extends string>(value: unknown, field: string, allowed: readonly T[]): T {
  if (allowed.includes(value as T)) return value as T
  throw new PunctualError('option.invalid', `${field} must be one of ${allowed.join(', ')}; got ${shown(value)}`, {
    field,
    given: shown(value),
    allowed,
  })
}

/** A text of 1 to `max` characters: no control characters, no blank edges. */
export function checkText(value: unknown, field: string, max: number, code: ErrorCode): string {
  const reason = textFault(value, max)
  if (reason === null) return value as string
  throw new PunctualError(code, `${field} must be a text of 1 to ${max} characters; ${reason}`, {
    field,
    given: shown(value),
    max,
  })
}

function textFault(value: unknown, max: number): string | null {
  if (typeof value !== 'string') return `got ${shown(value)}`
  if (value.trim() === '') return 'it is empty'
  if (value.length > max) return `it has ${value.length}`
  if (value !== value.trim()) return 'it begins or ends with a blank'
  if (control.test(value)) return 'it holds a control character'
  return null
}
