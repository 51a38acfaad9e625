import type { JobRecord, VersionRecord } from '../../model/job.ts'
import { specText } from '../../model/job.ts'
import { lowerAscii } from '../../model/job-search.ts'
import { putAudit } from '../rules/audit.ts'
import { isWithdrawn, putJobRule } from '../rules/put-job.ts'
import { whereOf } from '../rules/sql/conditions.ts'
import { type JobRow, jobRecord } from '../rules/sql/job-row.ts'
import { toJson } from '../rules/sql/json.ts'
import type { JobPut, JobPutAnswer, JobQuery } from '../store.ts'
import { appendAudit } from './audit.ts'
import type { Transaction } from './connection/transaction.ts'
import { deleteOccurrence, plannedOf } from './occurrence/remove.ts'
import { foldCreated } from './schema/count-changes.ts'
import { versionsOf } from './schema/job-specs.ts'

export function putJob(tx: Transaction, put: JobPut): JobPutAnswer {
  const known = findJob(tx, put.tenant, put.name)
  const { outcome, job, version, isWritten } = putJobRule(known, put, tx.now, known ? 0 : lastVersion(tx, put))
  if (!job || outcome === 'conflict') return { outcome, job }
  appendAudit(tx, putAudit(known, put, { outcome, job }))
  const series = tx.names.series(put.tenant, put.name).ref
  if (isWritten) writeJob(tx, series, job)
  if (version) {
    addVersion(tx, series, version)
    if (known) withdraw(tx, series, version.effectiveAt)
    tx.hints.push({ kind: 'job' })
  }
  return { outcome, job: version ? { ...job, spec: JSON.parse(specText(job.spec)) } : job }
}

/** Of a deleted job of the name. */
function lastVersion(tx: Transaction, { tenant, name }: JobPut): number {
  const select = 'SELECT last_version AS version FROM punctual_series WHERE tenant = ? AND job = ?'
  return tx.one<{ version: number }>(select, tenant, name)?.version ?? 0
}

function writeJob(tx: Transaction, series: number, job: JobRecord): void {
  tx.run(
    `INSERT INTO punctual_job (series, version, declared, override, tz, cursor, next_at, created_at, updated_at)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
      ON CONFLICT (series) DO UPDATE SET version = ?2, declared = ?3, override = ?4, tz = ?5, cursor = ?6, next_at = ?7, updated_at = ?9`,
    series,
    job.version,
    toJson(job.declared),
    toJson(job.override),
    job.tz,
    job.cursor,
    job.nextAt,
    job.createdAt,
    job.updatedAt,
  )
}

function addVersion(tx: Transaction, series: number, { version, spec, effectiveAt, createdAt, by }: VersionRecord): void {
  const insert =
    'INSERT INTO punctual_job_version (series, version, spec, effective_at, created_at, by_whom) VALUES (?, ?, ?, ?, ?, ?)'
  tx.cache.versions.delete(series)
  tx.run(insert, series, version, specText(spec), effectiveAt, createdAt, by)
}

/** Takes back what older versions have planned from then on, so the same instants can be planned again. */
function withdraw(tx: Transaction, series: number, effectiveAt: number): void {
  foldCreated(tx)
  for (const entry of plannedOf(tx, series))
    if (isWithdrawn(entry.record, entry.hasBegun, effectiveAt)) deleteOccurrence(tx, entry)
}

export function readVersions(tx: Transaction, { tenant, name }: { tenant: string; name: string }): readonly VersionRecord[] {
  const series = tx.names.findSeries(tenant, name)
  return series ? versionsOf(tx, series.ref) : []
}

const selectJob = `SELECT s.tenant, s.job, j.version, v.spec, j.declared, j.override, j.created_at, j.updated_at, j.tz, j.cursor, j.next_at
  FROM punctual_job j JOIN punctual_series s ON s.ref = j.series
  JOIN punctual_job_version v ON v.series = j.series AND v.version = j.version`

export function findJob(tx: Transaction, tenant: string, name: string): JobRecord | null {
  const row = tx.one<JobRow>(`${selectJob} WHERE s.tenant = ? AND s.job = ?`, tenant, name)
  return row ? jobRecord(row) : null
}

export function readJobs(tx: Transaction, { tenant, name, search, after, limit }: JobQuery): readonly JobRecord[] {
  const { where, values } = whereOf(
    [
      ['s.tenant = ?', tenant],
      ['s.job = ?', name],
      ['instr(lower(s.job), ?) > 0', search && lowerAscii(search)],
      ['(s.job, s.tenant) > (?, ?)', after && [after.name, after.tenant]],
    ],
    () => '?',
  )
  return tx.all<JobRow>(`${selectJob} ${where} ORDER BY s.job, s.tenant LIMIT ? + 0`, ...values, limit).map(jobRecord)
}

/** Jobs with an instant to plan, the most urgent first. */
export function jobsByNext(tx: Transaction, limit: number): JobRecord[] {
  return tx.all<JobRow>(`${selectJob} WHERE j.next_at IS NOT NULL ORDER BY j.next_at, j.ref LIMIT ? + 0`, limit).map(jobRecord)
}
