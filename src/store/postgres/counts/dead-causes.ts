import type { DeadCause } from '../../store.ts'
import type { Session } from '../connection/session.ts'
import { type Asked, askedSeries } from '../names/series-filter.ts'

interface Row extends Omit<DeadCause, 'firstAt' | 'lastAt'> {
  readonly first_at: number
  readonly last_at: number
}

/** The index alone has all that is grouped, by cause and job; the rest joins a row for each of these. */
export async function deadCauses(db: Session, of: Asked, limit: number): Promise<readonly DeadCause[]> {
  const { where, values } = askedSeries(of, 2)
  const rows = await db.rows<Row>(
    `SELECT g.cause, g.count, g.first_at, g.last_at, g.tenants, g.jobs,
      (SELECT o.id FROM punctual.occurrence o WHERE o.ref = g.newest) AS sample FROM (
      SELECT d.cause, sum(d.count)::float8 AS count, min(d.first_at) AS first_at, max(d.last_at) AS last_at, max(d.newest) AS newest,
        array_agg(DISTINCT s.tenant ORDER BY s.tenant) AS tenants, array_agg(DISTINCT s.job ORDER BY s.job) AS jobs
      FROM (
        SELECT cause, series, count(*) AS count, min(died_at) AS first_at, max(died_at) AS last_at, max(ref) AS newest
        FROM punctual.dead GROUP BY cause, series
      ) d JOIN punctual.series s ON s.ref = d.series WHERE ${where} GROUP BY d.cause
      ORDER BY 2 DESC, 4 DESC, 1 LIMIT $1
    ) g ORDER BY 2 DESC, 4 DESC, 1`,
    [limit, ...values],
  )
  return rows.map(({ first_at, last_at, ...row }) => ({ ...row, firstAt: first_at, lastAt: last_at }))
}
