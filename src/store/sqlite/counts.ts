import { type OccurrenceState, occurrenceStates } from '../../model/lifecycle.ts'
import type { JobCounts } from '../store.ts'
import { running } from './claim/claim-row.ts'
import type { Transaction } from './connection/transaction.ts'
import { createdAfter } from './schema/count-changes.ts'
import { type CountedState, countedStates } from './schema/tables.ts'

/** Which jobs are asked for. */
export interface JobFilter {
  readonly tenant?: string
  readonly job?: string
}

type SeriesRow = Record<
  CountedState | 'missed_in_ranges' | 'skipped_in_ranges' | 'present' | 'failures_in_row' | 'ref',
  number
> & {
  readonly last_run_at: number | null
}

export function counts(tx: Transaction, filter: JobFilter): JobCounts {
  const { where, values } = seriesWhere(filter)
  const rows = tx.all<SeriesRow>(`SELECT s.* FROM punctual_series s ${where}`, ...values)
  const states = Object.fromEntries(occurrenceStates.map((state) => [state, 0])) as Record<OccurrenceState, number>
  const runs = Map.groupBy(running(tx), ({ series }) => series)
  const created = new Map(
    createdAfter(tx, tx.meta('counted_ref'), Number.MAX_SAFE_INTEGER).map(({ series, count }) => [series, count]),
  )
  let lastRunAt: number | null = null
  let failuresInRow = 0
  for (const row of rows) {
    const isRunning = runs.get(row.ref)?.length ?? 0
    let others = isRunning
    for (const state of countedStates) {
      states[state] += row[state]
      others += row[state]
    }
    states.running += isRunning
    states.pending += row.present + (created.get(row.ref) ?? 0) - others
    states.missed += row.missed_in_ranges
    states.skipped += row.skipped_in_ranges
    failuresInRow += row.failures_in_row
    if (row.last_run_at !== null && row.last_run_at > (lastRunAt ?? -1)) lastRunAt = row.last_run_at
  }
  return { states, lastRunAt, failuresInRow }
}

/** The series of some jobs, as a condition on `s` and its values. */
export function seriesWhere({ tenant, job }: JobFilter): { readonly where: string; readonly values: string[] } {
  const conditions = [...(tenant === undefined ? [] : ['s.tenant = ?']), ...(job === undefined ? [] : ['s.job = ?'])]
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
  return { where, values: [tenant, job].filter((value) => value !== undefined) }
}
