import { jobId } from '../../model/ids.ts'
import { isPlannable, type JobRecord, specText } from '../../model/job.ts'
import { type JobRow, jobColumns, jobRecord } from '../rows/job-row.ts'
import { toJson } from '../rows/json.ts'
import type { JobPut, JobPutAnswer, JobQuery } from '../store.ts'
import { freeAll } from './keys.ts'
import { leaveReady } from './place.ts'
import type { Transaction } from './transaction.ts'
import { addVersion } from './versions.ts'

export function putJob(tx: Transaction, put: JobPut): JobPutAnswer {
  const { tenant, name, spec, declared, override, expectedVersion, by } = put
  const text = specText(spec)
  const known = findJob(tx, tenant, name)
  if (known && specText(known.spec) === text) return { outcome: 'unchanged', job: noteOrigin(tx, known, put) }
  if (expectedVersion !== undefined && expectedVersion !== (known?.version ?? 0)) return { outcome: 'conflict', job: known }
  const { now } = tx
  const effectiveAt = Math.max(put.effectiveAt ?? now, now)
  // From then on the newest version plans; what older ones yield before it, planned or not, stays theirs. Nothing is before the creation.
  const cursor = known ? Math.max(known.createdAt, Math.min(known.cursor, effectiveAt - 1)) : now
  const series = tx.dictionary.series(tenant, name).ref
  const job: JobRecord = {
    id: jobId(tenant, name),
    tenant,
    name,
    version: (known?.version ?? 0) + 1,
    spec: JSON.parse(text),
    declared,
    override,
    createdAt: known?.createdAt ?? now,
    updatedAt: now,
    tz: '',
    cursor,
    nextAt: isPlannable(spec) || (known && known.nextAt !== null) ? Math.min(cursor, now) : null,
  }
  addVersion(tx, series, { version: job.version, spec: text, effectiveAt, createdAt: now, by })
  writeJob(tx, series, job)
  if (known) withdraw(tx, series, effectiveAt)
  tx.hints.push({ kind: 'job' })
  return { outcome: known ? 'updated' : 'created', job }
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

/** The same result may come from other parts: what code declares and what a person changed is kept without a new version. */
function noteOrigin(tx: Transaction, known: JobRecord, { declared, override }: JobPut): JobRecord {
  const job = { ...known, declared, override }
  const isSame = isSameText(known.declared, declared) && isSameText(known.override, override)
  // Declaring the same again writes nothing.
  if (!isSame) writeJob(tx, tx.dictionary.series(known.tenant, known.name).ref, job)
  return job
}

function isSameText(a: object | null, b: object | null): boolean {
  return toJson(a) === toJson(b)
}

/** Takes back what older versions had planned from then on, so that the same instants can be planned again. */
function withdraw(tx: Transaction, series: number, effectiveAt: number): void {
  let planned = plannedFrom(tx, series, effectiveAt, 0)
  for (let row = planned.shift(); row; row = planned.shift()) {
    const [ref, hasHolds] = row
    const stirred = tx.stirred.length
    leaveReady(tx, series, ref)
    tx.tally(series, 'pending', null)
    if (hasHolds) freeAll(tx, ref)
    tx.run('DELETE FROM punctual_occurrence WHERE ref = ?', ref)
    // What a freed key made ready may have to go as well.
    if (tx.stirred.length > stirred) planned = plannedFrom(tx, series, effectiveAt, ref)
  }
}

function plannedFrom(tx: Transaction, series: number, effectiveAt: number, after: number): [ref: number, hasHolds: number][] {
  return tx.all(
    `SELECT r.ref, o.holds IS NOT NULL FROM punctual_ready r INDEXED BY punctual_ready_planned JOIN punctual_occurrence o ON o.ref = r.ref
      WHERE r.planned = 1 AND r.series = ? AND r.ref > ? AND o.scheduled_at >= ? AND o.source = 'schedule' ORDER BY r.ref`,
    series,
    after,
    effectiveAt,
  )
}

const selectJob = `SELECT ${jobColumns}, v.spec FROM punctual_job j JOIN punctual_series s ON s.ref = j.series
  JOIN punctual_job_version v ON v.series = j.series AND v.version = j.version`

type SpecifiedRow = [...JobRow, spec: string]

export function findJob(tx: Transaction, tenant: string, name: string): JobRecord | null {
  const row = tx.one<SpecifiedRow>(`${selectJob} WHERE s.tenant = ? AND s.job = ?`, tenant, name)
  return row ? specifiedJob(row) : null
}

export function readJobs(tx: Transaction, { tenant, name, after, limit }: JobQuery): readonly JobRecord[] {
  const given = [
    ...(tenant === undefined ? [] : [{ condition: 's.tenant = ?', values: [tenant] }]),
    ...(name === undefined ? [] : [{ condition: 's.job = ?', values: [name] }]),
    ...(after === undefined ? [] : [{ condition: '(s.job, s.tenant) > (?, ?)', values: [after.name, after.tenant] }]),
  ]
  const where = given.length === 0 ? '' : `WHERE ${given.map(({ condition }) => condition).join(' AND ')}`
  const values = given.flatMap((one) => one.values)
  return tx.all<SpecifiedRow>(`${selectJob} ${where} ORDER BY s.job, s.tenant LIMIT ? + 0`, ...values, limit).map(specifiedJob)
}

/** Jobs with an instant to plan, the most urgent first. */
export function jobsByNext(tx: Transaction, limit: number): JobRecord[] {
  return tx
    .all<SpecifiedRow>(`${selectJob} WHERE j.next_at IS NOT NULL ORDER BY j.next_at, j.ref LIMIT ? + 0`, limit)
    .map(specifiedJob)
}

function specifiedJob(row: SpecifiedRow): JobRecord {
  return jobRecord(row, JSON.parse(row[10]))
}
