import type { DeadCause } from '../../store.ts'
import type { Session } from '../connection/session.ts'
import { type Asked, askedSeries } from '../names/series-filter.ts'

interface Row extends Omit<DeadCause, 'firstAt' | 'lastAt'> {
  readonly first_at: number
  readonly last_at: number
}

/** Of all jobs the index alone has all that is grouped. */
export async function deadCauses(db: Session, of: Asked, limit: number): Promise<readonly DeadCause[]> {
  const { where, values } = askedSeries(of, 2)
  const [from, condition] =
    of.job === undefined
      ? ['punctual.dead d', of.tenant === undefined ? 'true' : 'd.tenant = $2']
      : ['punctual.series s CROSS JOIN LATERAL (SELECT * FROM punctual.dead i WHERE i.series = s.ref OFFSET 0) d', where]
  const rows = await db.rows<Row>(
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
