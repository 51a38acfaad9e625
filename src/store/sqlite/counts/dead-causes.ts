import type { DeadCause } from '../../store.ts'
import type { Transaction } from '../connection/transaction.ts'
import { type JobFilter, seriesWhere } from '../schema/series-filter.ts'

interface Row extends Omit<DeadCause, 'tenants'> {
  readonly tenants: string
}

/** Of all jobs one index has all that is grouped, in its order. */
export function deadCauses(tx: Transaction, query: JobFilter, limit: number): readonly DeadCause[] {
  const { from, where, values } = query.job === undefined ? ofTenants(query) : ofJobs(query)
  const rows = tx.all<Row>(
    `SELECT cause, count, firstAt, lastAt, tenants, (SELECT id FROM punctual_occurrence WHERE ref = newest) AS sample FROM (
      SELECT cause, sum(count) AS count, min(first_at) AS firstAt, max(last_at) AS lastAt, max(newest) AS newest,
        json_group_array(tenant) AS tenants
      FROM (
        SELECT d.tenant, d.cause, count(*) AS count, min(d.died_at) AS first_at, max(d.died_at) AS last_at, max(d.ref) AS newest
        FROM ${from} ${where} GROUP BY d.tenant, d.cause
      ) GROUP BY cause
    ) ORDER BY count DESC, lastAt DESC, cause LIMIT ? + 0`,
    ...values,
    limit,
  )
  return rows.map(({ tenants, ...row }) => ({ ...row, tenants: (JSON.parse(tenants) as string[]).sort() }))
}

function ofTenants({ tenant }: JobFilter) {
  return {
    from: 'punctual_dead d INDEXED BY punctual_dead_tenant',
    ...(tenant === undefined ? { where: '', values: [] } : { where: 'WHERE d.tenant = ?', values: [tenant] }),
  }
}

function ofJobs(query: JobFilter) {
  return { from: 'punctual_series s CROSS JOIN punctual_dead d ON d.series = s.ref', ...seriesWhere(query) }
}
