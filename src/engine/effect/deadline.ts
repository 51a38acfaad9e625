import type { Clock } from '../../time/clock.ts'
import { Aborted } from '../turn/aborted.ts'

export interface Deadline {
  readonly signal: AbortSignal
  /** Takes the timer back. */
  clear(): void
}

/**
 * The signal of an effect: it aborts after `ms` (null: never), and with its attempt. A shutdown does not abort it: an effect
 * that is cut has an unknown outcome, so a clean stop waits for it.
 */
export function deadline(clock: Clock, ms: number | null, attempt: AbortSignal): Deadline {
  const controller = new AbortController()
  const follow = () => {
    if (attempt.reason?.code !== 'shutdown') controller.abort(attempt.reason)
  }
  const cancel = ms === null ? () => {} : clock.timer(ms, () => controller.abort(new Aborted('timeout', `${ms} ms`)))
  if (attempt.aborted) follow()
  attempt.addEventListener('abort', follow, { once: true })
  return {
    signal: controller.signal,
    clear() {
      cancel()
      attempt.removeEventListener('abort', follow)
    },
  }
}
