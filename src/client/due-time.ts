import { PunctualError, shown } from '../errors.ts'
import type { Due } from '../store/store.ts'
import { type DurationInput, parseDuration } from '../time/duration.ts'
import { type InstantInput, parseInstant } from '../time/instant.ts'

/** When work is due: after a delay, or at an instant. Default: now. */
export interface When {
  /** From now, such as '15m'. */
  delay?: DurationInput
  /** A Date or an ISO 8601 text with an offset. */
  runAt?: InstantInput
}

const atOnce: Due = { in: 0 }

export function parseWhen({ delay, runAt }: When): Due {
  if (delay === undefined) return runAt === undefined ? atOnce : parseRunAt(runAt)
  if (runAt === undefined) return { in: parseDuration(delay, 'delay') }
  throw new PunctualError('option.invalid', 'delay and runAt exclude each other: give a duration from now, or an instant', {
    field: 'delay',
  })
}

function parseRunAt(runAt: InstantInput): number {
  if (runAt instanceof Date || (typeof runAt === 'string' && /^\d{4}-/.test(runAt))) return parseInstant(runAt, 'runAt')
  throw new PunctualError(
    'instant.invalid',
    `runAt must be a Date or an ISO 8601 text with an offset, such as 2026-11-15T06:00:00Z; got ${shown(runAt)}. A duration from now is given as delay`,
    { field: 'runAt', given: shown(runAt) },
  )
}
