import { figureLevels } from '../../model/figure-level.ts'
import { addedFor, figuresPast, figuresPerStep, foldedFigures, minute, widestFigure } from '../rules/figures.ts'
import { type FigureDataRow, figureRow } from '../rules/sql/figure-row.ts'
import type { FigureAdd, FigureQuery, FigureRow } from '../store.ts'
import { column } from './connection/arrays.ts'
import type { Session } from './connection/session.ts'
import { tryLock } from './connection/try-lock.ts'
import { type Context, readNow } from './context.ts'

const columns = 'tenant, job, at, width, data'
const insert = `INSERT INTO punctual.figure (id, ${columns})
  SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::float8[], $5::float8[], $6::text[]) ON CONFLICT DO NOTHING`

async function insertRows(session: Session, rows: readonly FigureRow[], id: string | null): Promise<void> {
  if (rows.length === 0) return
  await session.rows(insert, [
    column(rows.map((_, n) => (id === null ? null : `${id} ${n}`))),
    column(rows.map(({ tenant }) => tenant)),
    column(rows.map(({ job }) => job)),
    column(rows.map(({ at }) => at)),
    column(rows.map(({ widthMs }) => widthMs)),
    column(rows.map(({ figure }) => JSON.stringify(figure))),
  ])
}

const within = 'at > $3::float8 AND at < $4::float8 AND at + width > $5::float8 ORDER BY at DESC LIMIT $6::int'
const selectSum = `SELECT ${columns} FROM punctual.figure WHERE tenant = coalesce($1::text, '') AND job = coalesce($2::text, '') AND ${within}`
const widths = figureLevels.map(({ widthMs }) => widthMs).join(', ')
const selectJob = `SELECT ${columns} FROM punctual.figure WHERE tenant = $1::text AND job = $2::text AND width IN (${widths}) AND ${within}`
const selectJobs = `SELECT ${columns} FROM punctual.figure WHERE width IN (${widths}) AND job <> ''
  AND ($1::text IS NULL OR tenant = $1) AND ($2::text IS NULL OR job = $2) AND ${within}`

export async function figures({ db }: Context, request: FigureQuery | FigureAdd): Promise<readonly FigureRow[]> {
  if ('rows' in request) {
    await insertRows(db, request.rows, request.id)
    return []
  }
  const { tenant = null, job = null, byJob = false, from, to, limit } = request
  const byJobs = tenant === null || job === null ? selectJobs : selectJob
  const rows = await db.rows<FigureDataRow>(byJob ? byJobs : selectSum, [tenant, job, from - widestFigure, to, from, limit])
  return rows.map(figureRow)
}

const removeAdded = `DELETE FROM punctual.figure WHERE ref = ANY(ARRAY(
    SELECT ref FROM punctual.figure WHERE id IS NOT NULL AND at < $1::float8 LIMIT ${figuresPerStep})) RETURNING ${columns}`
const removeOld = `DELETE FROM punctual.figure WHERE ref = ANY(ARRAY(
    SELECT ref FROM punctual.figure WHERE width = $1::float8 AND at < $2::float8 AND id IS NULL
    ORDER BY at LIMIT ${figuresPerStep})) RETURNING ${columns}`

/** Sums up what nodes have added, and what has grown old, one node at a time. */
export async function foldFigures(context: Context): Promise<void> {
  await context.db.transaction(async (session) => {
    if (!(await tryLock(session, 'figure'))) return
    const now = await readNow(session, context)
    const added = await session.rows<FigureDataRow>(removeAdded, [now - minute - addedFor])
    await insertRows(session, foldedFigures(added.map(figureRow), minute), null)
    for (const level of figureLevels) {
      const old = await session.rows<FigureDataRow>(removeOld, [level.widthMs, figuresPast(level, now)])
      if (level.nextMs !== null) await insertRows(session, foldedFigures(old.map(figureRow), level.nextMs), null)
    }
  })
}
