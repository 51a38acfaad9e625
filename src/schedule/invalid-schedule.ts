import { PunctualError } from '../errors.ts'

/** Longer schedule text is refused unread. */
const longestText = 256

/** The refusal of a schedule's text: where it went wrong (counted from 0) and why. */
export function invalidSchedule(text: string, position: number, reason: string, field?: string): PunctualError {
  const shown = text.length > longestText ? `${text.slice(0, longestText)}…` : text
  const where = field === undefined ? `at position ${position}` : `in the ${field} field, at position ${position}`
  return new PunctualError('schedule.invalid', `${JSON.stringify(shown)} is not a schedule: ${where}: ${reason}`, {
    text: shown,
    ...(field !== undefined && { field }),
    position,
    reason,
  })
}

/** Refuses what is not a text of bearable length. */
export function checkText(text: unknown): asserts text is string {
  if (typeof text !== 'string')
    throw invalidSchedule(String(text), 0, `expected a text, got ${text === null ? 'null' : typeof text}`)
  if (text.length > longestText) throw invalidSchedule(text, longestText, `longer than ${longestText} characters`)
}
