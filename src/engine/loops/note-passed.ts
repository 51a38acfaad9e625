import type { PassedOccurrence } from '../../store/store.ts'
import type { Env } from '../env.ts'

/** Announces and counts work that ended without a run. */
export function notePassed({ events, figures, time }: Env, passed: PassedOccurrence): void {
  figures.count(passed.tenant, passed.job, time.now(), passed.state)
  events.emit('occurrence.passed', passed)
}
