import type { Events } from '../../model/events.ts'
import type { Env } from '../env.ts'

/** Logs final failures while the user listens to no event of them: a failure is never silent. */
export function logFinalFailures({ events, log }: Env): void {
  const names = ['occurrence.failed', 'occurrence.dead'] as const
  for (const name of names)
    events.watch(name, (event: Events[typeof name]) => {
      if (names.some((one) => events.isHeard(one))) return
      const { id, tenant, job, report, error } = event
      const attempts = report.tasks.reduce((sum, task) => sum + task.attempts, 0)
      const state = name === 'occurrence.dead' ? 'dead' : 'failed'
      log.error('A job has failed for good', { tenant, job, occurrence: id, state, attempts, error: error?.message ?? null })
    })
}
