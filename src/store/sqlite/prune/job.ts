// Jobs that go with all of their records, and records of jobs that go after their time.
import { deleteJobAudit } from '../../rules/audit.ts'
import type { PruneAnswer, PruneRequest } from '../../store.ts'
import { appendAudit } from '../audit.ts'
import type { Transaction } from '../connection/transaction.ts'
import { counts } from '../counts.ts'
import { findJob } from '../jobs.ts'
import { foldCreated } from '../occurrence/counts.ts'
import { type Entry, readEntry } from '../occurrence/entry.ts'
import { removeWithHook } from '../occurrence/remove.ts'

/** Deletes the work of a job, and at last the job. */
export function pruneJob(tx: Transaction, name: NonNullable<PruneRequest['job']>, request: PruneRequest): PruneAnswer {
  const { keyRetentionMs, limit, audit } = request
  const known = findJob(tx, name.tenant, name.job)
  const series = tx.names.findSeries(name.tenant, name.job)?.ref
  if (!known || series === undefined) return { pruned: 0, more: false, outcome: 'unknown' }
  const { pending, waiting, running, retrying } = counts(tx, name).states
  if (pending + waiting + running + retrying > 0) return { pruned: 0, more: false, outcome: 'live' }
  appendAudit(tx, deleteJobAudit(audit, known))
  foldCreated(tx)
  const refs = tx.all<{ ref: number }>(
    'SELECT DISTINCT ref FROM punctual_turn WHERE series = ? ORDER BY ref LIMIT ? + 1',
    series,
    limit,
  )
  for (const { ref } of refs.slice(0, limit)) removeWithHook(tx, readEntry(tx, ref) as Entry, tx.now + keyRetentionMs)
  if (refs.length > 0) tx.blocks.prune()
  if (refs.length > limit) return { pruned: limit, more: true }
  for (const table of ['job', 'job_version', 'range']) tx.run(`DELETE FROM punctual_${table} WHERE series = ?`, series)
  tx.run('DELETE FROM punctual_pause WHERE tenant = ? AND job = ?', name.tenant, name.job)
  tx.run(
    `UPDATE punctual_series SET missed_in_ranges = 0, skipped_in_ranges = 0, last_run_at = NULL, failures_in_row = 0, last_version = ?
      WHERE ref = ?`,
    known.version,
    series,
  )
  tx.cache.pauses = null
  tx.cache.versions.delete(series)
  tx.cache.lastRuns.delete(series)
  tx.hints.push({ kind: 'job' })
  return { pruned: refs.length, more: false, outcome: 'deleted' }
}

const mostRanges = 1000

/** Ranges are recorded in their order: the first ones are the oldest. */
export function dropRanges(tx: Transaction, before: number | null): void {
  if (before === null) return
  const old = tx.all<{ seq: number; series: number; count: number; state: 'missed' | 'skipped' }>(
    `SELECT seq, series, count, state FROM (SELECT * FROM punctual_range ORDER BY seq LIMIT ${mostRanges}) WHERE recorded_at < ?`,
    before,
  )
  for (const { seq, series, count, state } of old) {
    tx.run('DELETE FROM punctual_range WHERE seq = ?', seq)
    tx.run(`UPDATE punctual_series SET ${state}_in_ranges = ${state}_in_ranges - ? WHERE ref = ?`, count, series)
  }
}
