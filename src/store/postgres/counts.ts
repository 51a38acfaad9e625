// Counts. A commit inserts what it changed in them beside the change itself; from time to time these deltas are folded into their
// series. The count of a state is always both together.
import { type OccurrenceState, occurrenceStates } from '../../model/lifecycle.ts'
import { type JobFilter, seriesWhere } from '../rules/sql/conditions.ts'
import type { CountsQuery, DeadCause, JobCounts, StateCounts } from '../store.ts'
import { column } from './connection/arrays.ts'
import { each } from './connection/by-key.ts'
import { type Session, tryLock } from './connection/session.ts'
import type { Context } from './context.ts'

/**
 * Deltas of each series summed up, from a table with their columns. In their order, a success ends the failures before it:
 * `succeeded` says that there was one, `failures` are those that came with it or after it.
 */
function sumDeltas(from: string): string {
  const sums = occurrenceStates.map((state) => `sum(t.${state}) AS ${state}`).join(', ')
  return `SELECT t.series, ${sums}, max(t.last_run_at) AS last_run_at, max(t.reset) IS NOT NULL AS succeeded,
      sum(CASE WHEN t.seq >= coalesce(t.reset, 0) THEN t.failures ELSE 0 END) AS failures
    FROM (SELECT u.*, max(CASE WHEN u.succeeded THEN u.seq END) OVER (PARTITION BY u.series) AS reset FROM ${from} u) t
    GROUP BY t.series`
}

/** Failures in a row of a series `s` together with its deltas `t`, of which there may be none. */
const failuresInRow = '(CASE WHEN t.succeeded THEN 0 ELSE s.failures_in_row END + coalesce(t.failures, 0))'

interface CountRow extends Readonly<Record<OccurrenceState, number>> {
  readonly last_run_at: number | null
  readonly failures: number
}

type Counter = { readonly db: Session }

export async function counts({ db }: Counter, query: CountsQuery): Promise<JobCounts> {
  const { causes = 0, failing = 0, tenants = 0 } = query
  const [row, ofCauses, ofFailing, ofTenants] = await Promise.all([
    query.job === undefined ? sumOfTenants(db, query) : sumsOfJobs(db, [query]).then(([sum]) => sum as CountRow),
    causes === 0 ? [] : deadCauses(db, query, causes),
    failing === 0 ? [] : failingJobs(db, query, failing),
    tenants === 0 ? [] : eachTenant(db, query, tenants),
  ])
  return { ...countsOf(row), causes: ofCauses, failing: ofFailing, tenants: ofTenants }
}

/** The counts of several jobs, in one statement. */
export async function countsOfJobs({ db }: Counter, queries: readonly CountsQuery[]): Promise<readonly JobCounts[]> {
  const rows = await sumsOfJobs(db, queries)
  return rows.map((row) => ({ ...countsOf(row), causes: [], failing: [], tenants: [] }))
}

function countsOf({ last_run_at: lastRunAt, failures, ...states }: CountRow) {
  return { states, lastRunAt, failuresInRow: failures }
}

const sumsOfStates = occurrenceStates.map((state) => `coalesce(sum(s.${state} + coalesce(t.${state}, 0)), 0)::bigint AS ${state}`)
const selectSumsOfJobs = `WITH asked AS MATERIALIZED (
    SELECT a.n, s.ref FROM unnest($1::text[], $2::text[]) WITH ORDINALITY a (tenant, job, n)
      CROSS JOIN ${each('series e', 'e.job = a.job AND (a.tenant IS NULL OR e.tenant = a.tenant)')} s
  )
  SELECT max(greatest(s.last_run_at, t.last_run_at)) AS last_run_at, coalesce(sum(${failuresInRow}), 0)::bigint AS failures,
    ${sumsOfStates.join(', ')}
  FROM generate_series(1, cardinality($2::text[])) q (n) LEFT JOIN asked a ON a.n = q.n LEFT JOIN ${each('series e', 'e.ref = a.ref')} s ON true
    LEFT JOIN (${sumDeltas('(SELECT y.* FROM punctual.count_delta y WHERE y.series IN (SELECT ref FROM asked))')}) t ON t.series = a.ref
  GROUP BY q.n ORDER BY q.n`

/** In the order of the queries, each of which names a job. */
async function sumsOfJobs(db: Session, queries: readonly CountsQuery[]): Promise<readonly CountRow[]> {
  const tenants = column(queries.map(({ tenant = null }) => tenant))
  return db.rows<CountRow>(selectSumsOfJobs, [tenants, column(queries.map(({ job = null }) => job))])
}

const stateList = occurrenceStates.join(', ')
const stateSums = occurrenceStates.map((state) => `coalesce(sum(u.${state}), 0)::bigint AS ${state}`).join(', ')

/** The counts of tenants, and the deltas that are not folded into them. */
function tenantRows({ tenant, job }: JobFilter): { readonly rows: string; readonly values: readonly unknown[] } {
  const { where, values } = seriesWhere({ tenant, job }, 1)
  const delta = `SELECT s.tenant AS name, ${occurrenceStates.map((state) => `y.${state}`).join(', ')}
    FROM punctual.count_delta y JOIN punctual.series s ON s.ref = y.series WHERE ${where}`
  const folded =
    job === undefined
      ? `SELECT name, ${stateList} FROM punctual.tenant WHERE ${tenant === undefined ? 'true' : 'name = $1'}`
      : `SELECT s.tenant AS name, ${stateList} FROM punctual.series s WHERE ${where}`
  return { rows: `(${folded} UNION ALL ${delta}) u`, values }
}

async function sumOfTenants(db: Session, query: JobFilter): Promise<CountRow> {
  const { rows, values } = tenantRows(query)
  const [row] = await db.rows<CountRow>(`SELECT NULL::float8 AS last_run_at, 0 AS failures, ${stateSums} FROM ${rows}`, values)
  return row as CountRow
}

async function eachTenant(db: Session, query: JobFilter, limit: number): Promise<JobCounts['tenants']> {
  const { rows, values } = tenantRows(query)
  const found = await db.rows<StateCounts & { readonly name: string }>(
    `SELECT u.name, ${stateSums} FROM ${rows} GROUP BY u.name
      HAVING ${occurrenceStates.map((state) => `sum(u.${state}) > 0`).join(' OR ')} ORDER BY u.name LIMIT $${values.length + 1}`,
    [...values, limit],
  )
  return found.map(({ name, ...states }) => ({ name, states }))
}

/** The folded counts and the deltas each name a few jobs, of which both together decide. */
async function failingJobs(db: Session, query: JobFilter, limit: number): Promise<JobCounts['failing']> {
  const { where, values } = seriesWhere(query, 2)
  return db.rows<JobCounts['failing'][number]>(
    `WITH t AS MATERIALIZED (${sumDeltas('punctual.count_delta')}),
      named AS (SELECT s.ref FROM punctual.series s WHERE s.failures_in_row > 0 UNION SELECT t.series FROM t WHERE t.failures > 0)
      SELECT s.tenant, s.job FROM named n JOIN punctual.series s ON s.ref = n.ref LEFT JOIN t ON t.series = n.ref
      WHERE ${failuresInRow} > 0 AND ${where} ORDER BY s.job, s.tenant LIMIT $1`,
    [limit, ...values],
  )
}

interface CauseRow extends Omit<DeadCause, 'firstAt' | 'lastAt'> {
  readonly first_at: number
  readonly last_at: number
}

/** Of all jobs the index alone has all that is grouped. */
async function deadCauses(db: Session, of: JobFilter, limit: number): Promise<readonly DeadCause[]> {
  const { where, values } = seriesWhere(of, 2)
  const [from, condition] =
    of.job === undefined
      ? ['punctual.dead d', of.tenant === undefined ? 'true' : 'd.tenant = $2']
      : ['punctual.series s CROSS JOIN LATERAL (SELECT * FROM punctual.dead i WHERE i.series = s.ref OFFSET 0) d', where]
  const rows = await db.rows<CauseRow>(
    `SELECT g.cause, g.count, g.first_at, g.last_at, g.tenants,
      (SELECT o.id FROM punctual.occurrence o WHERE o.ref = g.newest) AS sample FROM (
      SELECT d.cause, sum(d.count)::float8 AS count, min(d.first_at) AS first_at, max(d.last_at) AS last_at, max(d.newest) AS newest,
        array_agg(d.tenant ORDER BY d.tenant) AS tenants
      FROM (
        SELECT d.tenant, d.cause, count(*) AS count, min(d.died_at) AS first_at, max(d.died_at) AS last_at, max(d.ref) AS newest
        FROM ${from} WHERE ${condition} GROUP BY d.tenant, d.cause
      ) d GROUP BY d.cause ORDER BY 2 DESC, 4 DESC, 1 LIMIT $1
    ) g ORDER BY 2 DESC, 4 DESC, 1`,
    [limit, ...values],
  )
  return rows.map(({ first_at, last_at, ...row }) => ({ ...row, firstAt: first_at, lastAt: last_at }))
}

const mostFolded = 5000
const mostSteps = 20

// Exactly the deleted deltas are added: those that are committed meanwhile stay, whatever their number.
const foldOldest = `WITH taken AS (
    DELETE FROM punctual.count_delta WHERE seq = ANY(ARRAY(SELECT seq FROM punctual.count_delta ORDER BY seq LIMIT ${mostFolded})) RETURNING *
  ),
  summed AS (${sumDeltas('taken')}),
  added AS (
    UPDATE punctual.series s SET ${occurrenceStates.map((state) => `${state} = s.${state} + t.${state}`).join(', ')},
      last_run_at = greatest(s.last_run_at, t.last_run_at), failures_in_row = ${failuresInRow}
    FROM summed t WHERE s.ref = t.series
  ),
  tenants AS (
    INSERT INTO punctual.tenant AS n (name, ${occurrenceStates.join(', ')})
    SELECT s.tenant, ${occurrenceStates.map((state) => `sum(t.${state})`).join(', ')}
      FROM summed t JOIN punctual.series s ON s.ref = t.series GROUP BY s.tenant
    ON CONFLICT (name) DO UPDATE SET ${occurrenceStates.map((state) => `${state} = n.${state} + excluded.${state}`).join(', ')}
  )
  SELECT count(*) AS folded FROM taken`

/** Folds the oldest deltas, one node at a time. The answer is how many; 0 also while another node folds. */
export async function foldSome({ db }: Context): Promise<number> {
  return db.transaction(async (session) => {
    if (!(await tryLock(session, 'count_delta'))) return 0
    const [row] = await session.rows<{ folded: number }>(foldOldest)
    return row?.folded ?? 0
  })
}

/** Folds what has gathered, in steps, for as long as a step finds a full load. */
export async function foldCounts(context: Context): Promise<void> {
  for (let steps = 0; steps < mostSteps; steps++) if ((await foldSome(context)) < mostFolded) return
}
