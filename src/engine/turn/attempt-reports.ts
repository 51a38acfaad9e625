import type { TaskHistory } from '../../model/history.ts'
import type { AttemptReport } from '../../model/report.ts'

/** All attempts of an occurrence, task by task. */
export function attemptReports(tasks: readonly TaskHistory[]): readonly AttemptReport[] {
  return tasks.flatMap(({ task, attempts }) =>
    attempts.map(({ n, state, startedAt, endedAt, error }) => ({
      task,
      n,
      state,
      startedAt: startedAt === null ? null : new Date(startedAt),
      endedAt: endedAt === null ? null : new Date(endedAt),
      durationMs: startedAt === null || endedAt === null ? 0 : endedAt - startedAt,
      error,
    })),
  )
}
