import { type OccurrenceState, occurrenceStates } from '../../model/lifecycle.ts'
import { having } from '../rules/having.ts'
import { type JobFilter, seriesWhere, whereOf } from '../rules/sql/conditions.ts'
import type { CountsQuery, DeadCause, JobCounts, StateCounts } from '../store.ts'
import { running } from './claim/claim-row.ts'
import type { Transaction } from './connection/transaction.ts'
import { createdAfter } from './occurrence/counts.ts'
import { countedStates, tenantSums } from './schema/tables.ts'

type Sums = Record<(typeof tenantSums)[number], number>
type JobName = { readonly tenant: string; readonly job: string }
type Runs = { readonly last_run_at: number | null; readonly failures_in_row: number }

const sums = tenantSums.map((column) => `coalesce(sum(s.${column}), 0) AS ${column}`).join(', ')
const runs = 'max(s.last_run_at) AS last_run_at, coalesce(sum(s.failures_in_row), 0) AS failures_in_row'

export function counts(tx: Transaction, query: CountsQuery): JobCounts {
  const { causes = 0, failing = 0, tenants = 0 } = query
  const [row, { last_run_at, failures_in_row }] = query.job === undefined ? ofTenants(tx, query) : ofJobs(tx, query)
  const uncounted = new Uncounted(tx)
  return {
    states: uncounted.added(row, query),
    lastRunAt: last_run_at,
    failuresInRow: failures_in_row,
    causes: causes === 0 ? [] : deadCauses(tx, query, causes),
    failing: failing === 0 ? [] : failingJobs(tx, query, failing),
    tenants: tenants === 0 ? [] : eachTenant(tx, query, uncounted).slice(0, tenants),
  }
}

function ofJobs(tx: Transaction, query: JobFilter): [Sums, Runs] {
  const { where, values } = seriesWhere(query)
  const row = tx.one<Sums & Runs>(`SELECT ${sums}, ${runs} FROM punctual_series s WHERE ${where}`, ...values) as Sums & Runs
  return [row, row]
}

function ofTenants(tx: Transaction, { tenant }: JobFilter): [Sums, Runs] {
  const { where, values } = whereOf([['s.name = ?', tenant]])
  const row = tx.one<Sums>(`SELECT ${sums} FROM punctual_tenant s WHERE ${where}`, ...values) as Sums
  return [row, { last_run_at: null, failures_in_row: 0 }]
}

function eachTenant(tx: Transaction, { tenant, job }: JobFilter, uncounted: Uncounted): JobCounts['tenants'] {
  const { where, values } = job === undefined ? whereOf([['s.name = ?', tenant]]) : seriesWhere({ tenant, job })
  const select =
    job === undefined
      ? `SELECT s.* FROM punctual_tenant s WHERE ${where} ORDER BY s.name`
      : `SELECT s.tenant AS name, ${sums} FROM punctual_series s WHERE ${where} GROUP BY s.tenant ORDER BY s.tenant`
  const rows = tx.all<Sums & { readonly name: string }>(select, ...values)
  return rows
    .map((row) => ({ name: row.name, states: uncounted.added(row, { tenant: row.name, job }) }))
    .filter(({ states }) => occurrenceStates.some((state) => states[state] > 0))
}

/** Work that the counts of series do not have: what was created lately, and what runs. */
class Uncounted {
  readonly #created: readonly (JobName & { readonly count: number })[]
  readonly #running: readonly JobName[]

  constructor(tx: Transaction) {
    const created = createdAfter(tx, tx.meta('counted_ref'), Number.MAX_SAFE_INTEGER)
    this.#created = created.map(({ series, count }) => ({ ...tx.names.seriesByRef(series), count }))
    this.#running = running(tx).map(({ series }) => tx.names.seriesByRef(series))
  }

  /** The sums of these jobs together with it. */
  added(row: Sums, { tenant, job }: JobFilter): StateCounts {
    const isAsked = having({ tenant, job })
    const states = Object.fromEntries(occurrenceStates.map((state) => [state, 0])) as Record<OccurrenceState, number>
    states.running = this.#running.filter(isAsked).length
    states.pending = this.#created.filter(isAsked).reduce((sum, { count }) => sum + count, row.present) - states.running
    for (const state of countedStates) {
      states[state] = row[state]
      states.pending -= row[state]
    }
    states.missed += row.missed_in_ranges
    states.skipped += row.skipped_in_ranges
    return states
  }
}

function failingJobs(tx: Transaction, query: JobFilter, limit: number): JobCounts['failing'] {
  const { where, values } = seriesWhere(query)
  return tx
    .all<JobName>(
      `SELECT s.tenant, s.job FROM punctual_series s INDEXED BY punctual_series_failing
        WHERE ${where} AND s.failures_in_row > 0 ORDER BY s.job, s.tenant LIMIT ? + 0`,
      ...values,
      limit,
    )
    .map(({ tenant, job }) => ({ tenant, job }))
}

interface CauseRow extends Omit<DeadCause, 'tenants'> {
  readonly tenants: string
}

/** Of all jobs one index has all that is grouped, in its order. */
function deadCauses(tx: Transaction, query: JobFilter, limit: number): readonly DeadCause[] {
  const [from, { where, values }] =
    query.job === undefined
      ? ['punctual_dead d INDEXED BY punctual_dead_tenant', whereOf([['d.tenant = ?', query.tenant]])]
      : ['punctual_series s CROSS JOIN punctual_dead d ON d.series = s.ref', seriesWhere(query)]
  const rows = tx.all<CauseRow>(
    `SELECT cause, count, firstAt, lastAt, tenants, (SELECT id FROM punctual_occurrence WHERE ref = newest) AS sample FROM (
      SELECT cause, sum(count) AS count, min(first_at) AS firstAt, max(last_at) AS lastAt, max(newest) AS newest,
        json_group_array(tenant) AS tenants
      FROM (
        SELECT d.tenant, d.cause, count(*) AS count, min(d.died_at) AS first_at, max(d.died_at) AS last_at, max(d.ref) AS newest
        FROM ${from} WHERE ${where} GROUP BY d.tenant, d.cause
      ) GROUP BY cause
    ) ORDER BY count DESC, lastAt DESC, cause LIMIT ? + 0`,
    ...values,
    limit,
  )
  return rows.map(({ tenants, ...row }) => ({ ...row, tenants: (JSON.parse(tenants) as string[]).sort() }))
}
