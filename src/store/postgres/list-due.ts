import { seriesWhere } from '../rules/sql/conditions.ts'
import type { DueQuery, DueRow } from '../store.ts'
import { each } from './connection/by-key.ts'
import type { Context } from './context.ts'

interface Row extends Omit<DueRow, 'dueAt' | 'state'> {
  readonly due_at: number
  readonly retrying: boolean
}

const mostPassedBy = 5000

/** One range of an index for each kind and priority, merged. Work of other jobs is passed by: so much of it, and no more. */
export async function listDue({ db }: Context, { tenant, job, from, to, limit }: DueQuery): Promise<readonly DueRow[]> {
  const { where, values } = seriesWhere({ tenant, job }, 5)
  const range = 'r.due_at >= $1::float8 AND r.due_at < $2::float8 ORDER BY r.due_at, r.ref LIMIT $3::int'
  const place = 'r.series, r.ref, r.due_at, r.retrying'
  const rows = await db.rows<Row>(
    `SELECT o.id, s.tenant, s.job, o.key, f.source, w.due_at, w.retrying FROM (
        SELECT * FROM (
          SELECT r.* FROM punctual.kind k CROSS JOIN unnest(k.priorities) p (priority) CROSS JOIN LATERAL (
            SELECT ${place} FROM punctual.ready r WHERE NOT r.gate AND r.kind = k.ref AND r.priority = p.priority AND ${range}) r
          UNION ALL
          SELECT r.* FROM punctual.kind k CROSS JOIN LATERAL (
            SELECT ${place} FROM punctual.ready r WHERE r.gate AND r.kind = k.ref AND ${range}) r) all_due
        ORDER BY due_at, ref LIMIT $3::int) w
      CROSS JOIN ${each('series e', 'e.ref = w.series')} s CROSS JOIN ${each('occurrence e', 'e.ref = w.ref')} o
      CROSS JOIN ${each('form e', 'e.ref = o.form')} f
      WHERE ${where} ORDER BY w.due_at, w.ref LIMIT $4::int`,
    [from ?? -8.64e15, to ?? 8.64e15, tenant === undefined && job === undefined ? limit : limit + mostPassedBy, limit, ...values],
  )
  return rows.map(({ due_at, retrying, ...row }) => ({ ...row, dueAt: due_at, state: retrying ? 'retrying' : 'pending' }))
}
