import { systemClock } from '../../../time/clock.ts'
import { DeadlineError } from './failure.ts'

/** Rejects when a call has no answer in time. The call itself goes on. */
export function withDeadline<Answer>(call: Promise<Answer>, ms: number): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const cancel = systemClock.timer(ms, () => reject(new DeadlineError(ms)))
    call.then(resolve, reject).finally(cancel)
  })
}
