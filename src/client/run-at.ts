import type { Due } from '../store/store.ts'
import { type DurationInput, parseDuration } from '../time/duration.ts'
import { type InstantInput, parseInstant } from '../time/instant.ts'

/** When something is to happen: an instant, or a duration from now. */
export type RunAt = InstantInput | DurationInput

export function parseRunAt(runAt: RunAt, field = 'runAt'): Due {
  if (typeof runAt === 'number') return { in: parseDuration(runAt, field) }
  if (typeof runAt === 'string' && !/^\d{4}-/.test(runAt)) return { in: parseDuration(runAt, field) }
  return parseInstant(runAt, field)
}
