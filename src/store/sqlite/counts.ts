import { type OccurrenceState, occurrenceStates } from '../../model/lifecycle.ts'
import type { CountsQuery, JobCounts } from '../store.ts'
import { running } from './claim/claim-row.ts'
import type { Transaction } from './connection/transaction.ts'
import { deadCauses } from './counts/dead-causes.ts'
import { createdAfter } from './schema/count-changes.ts'
import { seriesWhere } from './schema/series-filter.ts'
import { type CountedState, countedStates } from './schema/tables.ts'

type SeriesRow = Record<
  CountedState | 'missed_in_ranges' | 'skipped_in_ranges' | 'present' | 'failures_in_row' | 'ref',
  number
> & {
  readonly last_run_at: number | null
}

export function counts(tx: Transaction, query: CountsQuery): JobCounts {
  const filter = seriesWhere(query)
  const rows = tx.all<SeriesRow>(`SELECT s.* FROM punctual_series s ${filter.where}`, ...filter.values)
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
  const causes = query.causes === undefined ? [] : deadCauses(tx, filter, query.causes)
  return { states, lastRunAt, failuresInRow, causes }
}
