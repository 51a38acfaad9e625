import { jobId } from '../../model/ids.ts'
import { isPlannable, type JobRecord, specText, type VersionRecord } from '../../model/job.ts'
import type { OccurrenceRecord } from '../../model/occurrence.ts'
import type { JobPut, JobPutAnswer } from '../messages/job.ts'

export interface PutResult extends JobPutAnswer {
  /** The version to add; null when nothing changes but where its spec comes from. */
  readonly version: VersionRecord | null
  /** Whether the job is not as it was. Declaring the same again writes nothing. */
  readonly isWritten: boolean
}

/**
 * Applies a put to a job. `unchanged` may still change the declaration and the override.
 * @param lastVersion Of a deleted job of the name: its versions may be remembered by other nodes.
 */
export function putJobRule(known: JobRecord | null, put: JobPut, now: number, lastVersion = 0): PutResult {
  const { tenant, name, spec, declared, override, expectedVersion } = put
  if (known && specText(known.spec) === specText(spec))
    return { outcome: 'unchanged', job: { ...known, declared, override }, version: null, isWritten: !isSameOrigin(known, put) }
  if (expectedVersion !== undefined && expectedVersion !== (known?.version ?? 0))
    return { outcome: 'conflict', job: known, version: null, isWritten: false }
  const effectiveAt = Math.max(put.effectiveAt ?? now, now)
  // From then on the newest version plans; what older ones yield before it stays theirs. Nothing is before the creation.
  const cursor = known ? Math.max(known.createdAt, Math.min(known.cursor, effectiveAt - 1)) : now
  const version = (known?.version ?? lastVersion) + 1
  const job: JobRecord = {
    id: jobId(tenant, name),
    tenant,
    name,
    version,
    spec,
    declared,
    override,
    createdAt: known?.createdAt ?? now,
    updatedAt: now,
    tz: '',
    cursor,
    nextAt: isPlannable(spec) || (known && known.nextAt !== null) ? Math.min(cursor, now) : null,
  }
  const added = { version, spec, effectiveAt, createdAt: now, by: put.by }
  return { outcome: known ? 'updated' : 'created', job, version: added, isWritten: true }
}

type Origin = Pick<JobPut, 'declared' | 'override'>

function isSameOrigin(a: Origin, b: Origin): boolean {
  return JSON.stringify([a.declared, a.override]) === JSON.stringify([b.declared, b.override])
}

/** Whether a new version takes back an unclaimed row: a scheduled instant of an older one that has not begun. Its id can be planned again. */
export function isWithdrawn(
  record: Pick<OccurrenceRecord, 'source' | 'scheduledAt'>,
  hasBegun: boolean,
  effectiveAt: number,
): boolean {
  return record.source === 'schedule' && !hasBegun && record.scheduledAt >= effectiveAt
}

/** Whether a version can go: a later one has replaced it before this instant, and is the one that plans. */
export function isReplaced(
  { version }: VersionRecord,
  { cursor, nextAt }: JobRecord,
  versions: readonly VersionRecord[],
  before: number,
): boolean {
  return versions.some(
    (later) => later.version > version && later.effectiveAt < before && (nextAt === null || later.effectiveAt <= cursor),
  )
}
