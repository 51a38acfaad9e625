import type { Source } from './lifecycle.ts'
import type { Settings } from './settings.ts'

/** Whether work out of retries waits for a person: enqueued work does, unless told otherwise. */
export function goesToDeadLetters({ deadLetter }: Pick<Settings, 'deadLetter'>, source: Source): boolean {
  return deadLetter === 'enqueued' ? source === 'deferred' || source === 'timer' : deadLetter
}
