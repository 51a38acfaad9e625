// The facts that a plan of a job needs, and the results of one.
import { type JobRecord, type VersionRecord, versionAt } from '../../model/job.ts'
import { covers, type PauseRecord } from '../../model/pause.ts'
import type { JobPlan, PlanCandidate } from '../messages/plan.ts'

/** A job with its stranded instants, in order. `versions` and `pauses`: all of them, or at least those that matter from its cursor on. */
export function planCandidate(
  job: JobRecord,
  stranded: readonly number[],
  versions: readonly VersionRecord[],
  pauses: readonly PauseRecord[],
): PlanCandidate {
  const since = Math.min(job.cursor, ...stranded.slice(0, 1))
  const first = versionAt(versions, job.cursor).version
  return {
    job,
    stranded,
    versions: versions.filter(({ version, effectiveAt }) => version === first || effectiveAt > job.cursor),
    pauses: pauses.filter((pause) => covers(pause, job.tenant, job.name) && (pause.to === null || pause.to > since)),
  }
}

/** When the first work of a plan is due; null where it makes none. */
export function plannedDue({ rows, revive }: JobPlan, now: number): number | null {
  const first = rows.find((row) => row.end === null)
  return first ? first.dueAt : revive.length > 0 ? now : null
}

/** The planner's decision on a stranded instant. Both are undefined for one that the plan does not know of. */
export function decisionOn(at: number, { revive, drop }: JobPlan) {
  const revived = revive.find((one) => one.at === at)
  return { revived, dropped: revived ? undefined : drop.find((one) => one.at === at) }
}
