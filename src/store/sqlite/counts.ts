import { type OccurrenceState, occurrenceStates } from '../../model/lifecycle.ts'
import type { CountsQuery, JobCounts } from '../store.ts'
import { running } from './claim/claim-row.ts'
import type { Transaction } from './connection/transaction.ts'
import { deadCauses } from './counts/dead-causes.ts'
import { createdAfter } from './schema/count-changes.ts'
import { seriesWhere } from './schema/series-filter.ts'
import { type CountedState, countedStates } from './schema/tables.ts'

type Sums = Record<CountedState | 'missed_in_ranges' | 'skipped_in_ranges' | 'present' | 'failures_in_row', number> & {
  readonly last_run_at: number | null
}

const summed = [...countedStates, 'missed_in_ranges', 'skipped_in_ranges', 'present', 'failures_in_row'] as const
const sums = summed.map((column) => `coalesce(sum(s.${column}), 0) AS ${column}`).join(', ')

export function counts(tx: Transaction, query: CountsQuery): JobCounts {
  const filter = seriesWhere(query)
  const row = tx.one<Sums>(
    `SELECT ${sums}, max(s.last_run_at) AS last_run_at FROM punctual_series s ${filter.where}`,
    ...filter.values,
  ) as Sums
  const states = Object.fromEntries(occurrenceStates.map((state) => [state, 0])) as Record<OccurrenceState, number>
  const isAsked = ({ series }: { readonly series: number }) => {
    const { tenant, job } = tx.names.seriesByRef(series)
    return (query.tenant === undefined || query.tenant === tenant) && (query.job === undefined || query.job === job)
  }
  const created = createdAfter(tx, tx.meta('counted_ref'), Number.MAX_SAFE_INTEGER).filter(isAsked)
  states.running = running(tx).filter(isAsked).length
  states.pending = created.reduce((sum, { count }) => sum + count, row.present) - states.running
  for (const state of countedStates) {
    states[state] = row[state]
    states.pending -= row[state]
  }
  states.missed += row.missed_in_ranges
  states.skipped += row.skipped_in_ranges
  const causes = query.causes === undefined ? [] : deadCauses(tx, filter, query.causes)
  return { states, lastRunAt: row.last_run_at, failuresInRow: row.failures_in_row, causes }
}
