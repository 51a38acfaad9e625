// Jobs and their versions.
import { jobId } from '../../../model/ids.ts'
import { type JobRecord, specText, type VersionRecord } from '../../../model/job.ts'
import type { JobPut, JobPutAnswer } from '../../store.ts'
import { putAudit } from '../audit.ts'
import { putJobRule } from '../put-job.ts'
import { appendAudit } from './audit.ts'
import { fromJson, toJson } from './json.ts'
import { type Clock, readNow, rows, type Steps } from './steps.ts'

/** A job with the spec of its newest version. */
export interface JobRow {
  readonly tenant: string
  readonly job: string
  readonly version: number
  readonly spec: string
  readonly declared: string | null
  readonly override: string | null
  readonly created_at: number
  readonly updated_at: number
  readonly tz: string
  readonly cursor: number
  readonly next_at: number | null
}

export function jobRecord(row: JobRow): JobRecord {
  return {
    id: jobId(row.tenant, row.job),
    tenant: row.tenant,
    name: row.job,
    version: row.version,
    spec: JSON.parse(row.spec),
    declared: fromJson(row.declared),
    override: fromJson(row.override),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    tz: row.tz,
    cursor: row.cursor,
    nextAt: row.next_at,
  }
}

export interface VersionRow {
  readonly version: number
  readonly spec: string
  readonly effective_at: number
  readonly created_at: number
  readonly by_whom: string | null
}

export function versionRecord(row: VersionRow): VersionRecord {
  return {
    version: row.version,
    spec: JSON.parse(row.spec),
    effectiveAt: row.effective_at,
    createdAt: row.created_at,
    by: row.by_whom,
  }
}

/** Of a job `j` and its series `s`. */
export const jobColumns =
  's.tenant, s.job, j.version, j.declared, j.override, j.created_at, j.updated_at, j.tz, j.cursor, j.next_at'

export const selectJob = `SELECT ${jobColumns}, v.spec FROM punctual.series s JOIN punctual.job j ON j.series = s.ref
  JOIN punctual.job_version v ON v.series = j.series AND v.version = j.version`

interface PutJob {
  readonly answer: JobPutAnswer
  /** The version that was added. */
  readonly added: VersionRecord | null
  readonly now: number
}

/** Writes a job of a series by its rule. Rows that older versions have planned are left. */
export function* putJob(clock: Clock, series: number, put: JobPut): Steps<PutJob> {
  // A job that does not exist yet has no row to lock.
  const lock = 'SELECT last_version FROM punctual.series WHERE ref = $1 FOR UPDATE'
  const [locked] = yield* rows<{ last_version: number }>(lock, [series])
  const now = yield* readNow(clock)
  const [row] = yield* rows<JobRow>(`${selectJob} WHERE s.ref = $1 FOR UPDATE OF j`, [series])
  const known = row ? jobRecord(row) : null
  const { outcome, job, version: added, isWritten } = putJobRule(known, put, now, locked?.last_version ?? 0)
  if (job && isWritten) yield* writeJob(series, job)
  yield* appendAudit(clock, [putAudit(known, put, { outcome, job })])
  if (added) yield* addVersion(series, added)
  return { answer: { outcome, job }, added, now }
}

function* writeJob(series: number, job: JobRecord): Steps<void> {
  const { version, declared, override, tz, cursor, nextAt, createdAt, updatedAt } = job
  yield* rows(
    `INSERT INTO punctual.job (series, version, declared, override, tz, cursor, next_at, created_at, updated_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
      ON CONFLICT (series) DO UPDATE SET version = $2, declared = $3, override = $4, tz = $5, cursor = $6, next_at = $7, updated_at = $9`,
    [series, version, toJson(declared), toJson(override), tz, cursor, nextAt, createdAt, updatedAt],
  )
}

const versionColumns = 'version, spec, effective_at, created_at, by_whom'

function* addVersion(series: number, { version, spec, effectiveAt, createdAt, by }: VersionRecord): Steps<void> {
  yield* rows(`INSERT INTO punctual.job_version (series, ${versionColumns}) VALUES ($1, $2, $3, $4, $5, $6)`, [
    ...[series, version, specText(spec), effectiveAt, createdAt, by],
  ])
}

/** All versions of a series, the oldest first. */
export function* readVersions(series: number): Steps<readonly VersionRecord[]> {
  const select = `SELECT ${versionColumns} FROM punctual.job_version WHERE series = $1 ORDER BY version`
  return (yield* rows<VersionRow>(select, [series])).map(versionRecord)
}

/** Deletes versions that were replaced before an instant: see `isReplaced`. */
export function* dropVersions(before: number): Steps<void> {
  yield* rows(
    `DELETE FROM punctual.job_version AS v WHERE EXISTS (
      SELECT 1 FROM punctual.job_version n JOIN punctual.job j ON j.series = n.series WHERE n.series = v.series AND n.version > v.version
        AND n.effective_at < $1::float8 AND (j.next_at IS NULL OR n.effective_at <= j.cursor))`,
    [before],
  )
}
