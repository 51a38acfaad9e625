import type { Env } from '../env.ts'

/** Logs final failures while the user listens to no event of them: a failure is never silent. */
export function logFinalFailures({ events, log }: Env): void {
  events.watch('occurrence.failed', ({ id, tenant, job, state, report, error }) => {
    if (events.isHeard('occurrence.failed')) return
    const attempts = report.tasks.reduce((sum, task) => sum + task.attempts, 0)
    log.error('A job has failed for good', { tenant, job, occurrence: id, state, attempts, error: error?.message ?? null })
  })
}
