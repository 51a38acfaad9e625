import type { JobRecord, VersionRecord } from '../../model/job.ts'
import { lowerAscii } from '../../model/job-search.ts'
import { isWithdrawn } from '../rules/put-job.ts'
import { whereOf } from '../rules/sql/conditions.ts'
import * as shared from '../rules/sql/jobs.ts'
import type { JobPut, JobPutAnswer, JobQuery } from '../store.ts'
import type { Transaction } from './connection/transaction.ts'
import { foldCreated } from './occurrence/counts.ts'
import { deleteOccurrence, plannedOf } from './occurrence/remove.ts'

export function putJob(tx: Transaction, put: JobPut): JobPutAnswer {
  const series = tx.names.series(put.tenant, put.name).ref
  const { answer, added } = tx.runSteps(shared.putJob(tx.now, series, put))
  if (!added) return answer
  tx.cache.versions.delete(series)
  withdraw(tx, series, added.effectiveAt)
  tx.hints.push({ kind: 'job' })
  return answer
}

/** Takes back what older versions have planned from then on, so the same instants can be planned again. */
function withdraw(tx: Transaction, series: number, effectiveAt: number): void {
  foldCreated(tx)
  for (const entry of plannedOf(tx, series))
    if (isWithdrawn(entry.record, entry.hasBegun, effectiveAt)) deleteOccurrence(tx, entry)
}

export function readVersions(tx: Transaction, { tenant, name }: { tenant: string; name: string }): readonly VersionRecord[] {
  const series = tx.names.findSeries(tenant, name)
  return series ? tx.runSteps(shared.readVersions(series.ref)) : []
}

export function findJob(tx: Transaction, tenant: string, name: string): JobRecord | null {
  const row = tx.one<shared.JobRow>(`${shared.selectJob} WHERE s.tenant = ? AND s.job = ?`, tenant, name)
  return row ? shared.jobRecord(row) : null
}

export function readJobs(tx: Transaction, { tenant, name, search, after, limit }: JobQuery): readonly JobRecord[] {
  const { where, values } = whereOf([
    ['s.tenant = ?', tenant],
    ['s.job = ?', name],
    ['instr(lower(s.job), ?) > 0', search && lowerAscii(search)],
    ['(s.job, s.tenant) > (?, ?)', after && [after.name, after.tenant]],
  ])
  return tx
    .all<shared.JobRow>(`${shared.selectJob} WHERE ${where} ORDER BY s.job, s.tenant LIMIT ? + 0`, ...values, limit)
    .map(shared.jobRecord)
}

/** Jobs with an instant to plan, the most urgent first. */
export function jobsByNext(tx: Transaction, limit: number): JobRecord[] {
  return tx
    .all<shared.JobRow>(`${shared.selectJob} WHERE j.next_at IS NOT NULL ORDER BY j.next_at, j.ref LIMIT ? + 0`, limit)
    .map(shared.jobRecord)
}
