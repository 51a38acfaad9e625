// Rules on due work that come before any limit: deadlines, pauses, downtime.
import { type JobSpec, type VersionRecord, versionAt } from '../../model/job.ts'
import type { Source } from '../../model/lifecycle.ts'
import { isPausedAt, type PauseRecord } from '../../model/pause.ts'
import type { Verdict } from './door.ts'

export interface DueWork {
  readonly tenant: string
  readonly job: string
  readonly source: Source
  readonly scheduledAt: number
  readonly dueAt: number
  readonly startWithinMs: number | null
  readonly hasBegun: boolean
}

export const notInTime = { state: 'missed', reason: 'not started in time' } as const

/** Null for work that may run. `pauses` may leave out those that ended before the work was due. */
export function verdictOn(work: DueWork, pauses: readonly PauseRecord[], now: number): Verdict | null {
  if (isExpired(work, now)) return notInTime
  const { tenant, job, scheduledAt, hasBegun } = work
  const isPaused = (at: number) => (pause: PauseRecord) => isPausedAt(pause, tenant, job, at)
  if (!hasBegun && isPlanned(work.source) && pauses.some(isPaused(scheduledAt))) return { state: 'skipped', reason: 'paused' }
  const pause = pauses.find(isPaused(now))
  return pause ? { reason: 'pause', key: null, wakeAt: pause.to } : null
}

/** Whether the work should have started by now and has not. */
export function isExpired(
  { startWithinMs, hasBegun, dueAt }: Omit<DueWork, 'tenant' | 'job' | 'source' | 'scheduledAt'>,
  now: number,
): boolean {
  return !hasBegun && startWithinMs !== null && now > dueAt + startWithinMs
}

/** Whether the work stands for an instant of a schedule. */
export function isPlanned(source: Source): boolean {
  return source === 'schedule' || source === 'recovery'
}

/** Whether work keeps the version of its instant; other work runs by the version in force. */
export function keepsVersion(source: Source): boolean {
  return isPlanned(source) || source === 'backfill'
}

/** The job's spec for an occurrence, by all versions of the job. */
export function specFor(
  versions: readonly VersionRecord[] | undefined,
  { source, version }: { readonly source: Source; readonly version: number },
  now: number,
): JobSpec | undefined {
  if (!versions || versions.length === 0) return undefined
  return (keepsVersion(source) ? versions.find((one) => one.version === version) : versionAt(versions, now))?.spec
}

/** Whether planned work waits for the planner: it came due while no node was alive, after `lastAliveAt` and up to `now`. */
export function isStranded(
  { source, hasBegun, dueAt }: Pick<DueWork, 'source' | 'hasBegun' | 'dueAt'>,
  lastAliveAt: number,
  now: number,
): boolean {
  return isPlanned(source) && !hasBegun && dueAt > lastAliveAt && dueAt <= now
}
