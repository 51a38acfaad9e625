import { jobId } from '../../model/ids.ts'
import { type JobRecord, specText } from '../../model/job.ts'
import type { JobPut, JobPutAnswer, JobQuery } from '../store.ts'
import type { Transaction } from './transaction.ts'

export function putJob(tx: Transaction, { tenant, name, spec, expectedVersion }: JobPut): JobPutAnswer {
  const text = specText(spec)
  const known = findJob(tx, tenant, name)
  if (known && specText(known.spec) === text) return { outcome: 'unchanged', job: known }
  if (expectedVersion !== undefined && expectedVersion !== (known?.version ?? 0)) return { outcome: 'conflict', job: known }
  const { now } = tx
  const version = (known?.version ?? 0) + 1
  const createdAt = known?.createdAt ?? now
  const cursor = known?.spec.schedule ? Math.min(known.cursor, now) : now
  const nextAt = spec.schedule ? cursor : null
  const series = tx.dictionary.series(tenant, name).ref
  tx.run('INSERT INTO punctual_job_version (series, version, spec, created_at) VALUES (?, ?, ?, ?)', series, version, text, now)
  tx.run(
    `INSERT INTO punctual_job (series, version, cursor, next_at, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (series) DO UPDATE SET version = excluded.version, cursor = excluded.cursor, next_at = excluded.next_at, updated_at = excluded.updated_at`,
    series,
    version,
    cursor,
    nextAt,
    createdAt,
    now,
  )
  if (known) withdraw(tx, series)
  tx.hints.push({ kind: 'job' })
  const job = {
    id: jobId(tenant, name),
    tenant,
    name,
    version,
    spec: JSON.parse(text),
    createdAt,
    updatedAt: now,
    cursor,
    nextAt,
  }
  return { outcome: known ? 'updated' : 'created', job }
}

/** Takes back what the old version had planned for later, so that the same instants can be planned again. */
function withdraw(tx: Transaction, series: number): void {
  const planned = tx.all<[number]>(
    `SELECT r.ref FROM punctual_ready r INDEXED BY punctual_ready_planned JOIN punctual_occurrence o ON o.ref = r.ref
      WHERE r.planned = 1 AND r.series = ? AND r.due_at > ? AND o.source = 'schedule'`,
    series,
    tx.now,
  )
  for (const [ref] of planned) {
    tx.run('DELETE FROM punctual_ready WHERE series = ? AND ref = ?', series, ref)
    tx.run('DELETE FROM punctual_occurrence WHERE ref = ?', ref)
    tx.tally(series, 'pending', null)
  }
}

const selectJob = `SELECT s.tenant, s.job, j.version, v.spec, j.created_at, j.updated_at, j.cursor, j.next_at
  FROM punctual_job j JOIN punctual_series s ON s.ref = j.series JOIN punctual_job_version v ON v.series = j.series AND v.version = j.version`

type JobRow = [
  tenant: string,
  name: string,
  version: number,
  spec: string,
  createdAt: number,
  updatedAt: number,
  cursor: number,
  nextAt: number | null,
]

export function findJob(tx: Transaction, tenant: string, name: string): JobRecord | null {
  const row = tx.one<JobRow>(`${selectJob} WHERE s.tenant = ? AND s.job = ?`, tenant, name)
  return row ? jobRecord(row) : null
}

export function readJobs(tx: Transaction, { tenant, name, after, limit }: JobQuery): readonly JobRecord[] {
  const given = [
    ['s.tenant = ?', tenant],
    ['s.job = ?', name],
    ['s.job > ?', after],
  ].filter((condition) => condition[1] !== undefined) as [string, string][]
  const where = given.length === 0 ? '' : `WHERE ${given.map(([condition]) => condition).join(' AND ')}`
  return tx
    .all<JobRow>(`${selectJob} ${where} ORDER BY s.job, s.tenant LIMIT ?`, ...given.map(([, value]) => value), limit)
    .map(jobRecord)
}

/** Jobs with an instant to plan, the most urgent first. */
export function jobsByNext(tx: Transaction, limit: number): JobRecord[] {
  return tx.all<JobRow>(`${selectJob} WHERE j.next_at IS NOT NULL ORDER BY j.next_at, j.ref LIMIT ?`, limit).map(jobRecord)
}

function jobRecord([tenant, name, version, spec, createdAt, updatedAt, cursor, nextAt]: JobRow): JobRecord {
  return { id: jobId(tenant, name), tenant, name, version, spec: JSON.parse(spec), createdAt, updatedAt, cursor, nextAt }
}
