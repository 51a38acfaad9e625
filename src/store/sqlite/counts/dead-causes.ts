import type { DeadCause } from '../../store.ts'
import type { Transaction } from '../connection/transaction.ts'
import type { SeriesFilter } from '../schema/series-filter.ts'

interface Row extends Omit<DeadCause, 'tenants' | 'jobs'> {
  readonly tenants: string
  readonly jobs: string
}

/** The index alone has all that is grouped, by cause and job; the rest joins a row for each of these. */
export function deadCauses(tx: Transaction, { where, values }: SeriesFilter, limit: number): readonly DeadCause[] {
  const rows = tx.all<Row>(
    `SELECT cause, count, firstAt, lastAt, tenants, jobs, (SELECT id FROM punctual_occurrence WHERE ref = newest) AS sample FROM (
      SELECT d.cause, sum(d.count) AS count, min(d.first_at) AS firstAt, max(d.last_at) AS lastAt, max(d.newest) AS newest,
        json_group_array(DISTINCT s.tenant) AS tenants, json_group_array(DISTINCT s.job) AS jobs
      FROM (
        SELECT cause, series, count(*) AS count, min(died_at) AS first_at, max(died_at) AS last_at, max(ref) AS newest
        FROM punctual_dead GROUP BY cause, series
      ) d JOIN punctual_series s ON s.ref = d.series ${where} GROUP BY d.cause
    ) ORDER BY count DESC, lastAt DESC, cause LIMIT ? + 0`,
    ...values,
    limit,
  )
  return rows.map(({ tenants, jobs, ...row }) => ({ ...row, tenants: inOrder(tenants), jobs: inOrder(jobs) }))
}

function inOrder(names: string): readonly string[] {
  return (JSON.parse(names) as string[]).sort()
}
