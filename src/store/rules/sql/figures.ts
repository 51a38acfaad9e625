import type { Figure } from '../../../model/figure.ts'
import { figureLevels, minute, widestFigure } from '../../../model/figure-level.ts'
import type { FigureAdd, FigureQuery, FigureRow } from '../../store.ts'
import { addedFor, figuresPast, figuresPerStep, foldedFigures } from '../figures.ts'
import { whereOf } from './conditions.ts'
import { asJson, rows, type Steps } from './steps.ts'

const columns = 'tenant, job, at, width, data'

interface DataRow {
  readonly tenant: string
  readonly job: string
  readonly at: number
  readonly width: number
  /** JSON. */
  readonly data: string
}

function figureRow({ tenant, job, at, width, data }: DataRow): FigureRow {
  return { tenant, job, at, widthMs: width, figure: JSON.parse(data) as Figure }
}

const insert = `INSERT INTO punctual.figure (id, ${columns})
  SELECT e.value ->> 'id', e.value ->> 'tenant', e.value ->> 'job', (e.value ->> 'at')::float8, (e.value ->> 'widthMs')::float8,
    e.value ->> 'data' FROM json_array_elements($1::json) e WHERE true ON CONFLICT DO NOTHING`

function* insertRows(added: readonly FigureRow[], id: string | null): Steps<void> {
  if (added.length === 0) return
  const texts = added.map(({ figure, ...row }, n) => ({ ...row, id: id && `${id} ${n}`, data: JSON.stringify(figure) }))
  yield* rows(insert, [asJson(texts)])
}

const widths = figureLevels.map(({ widthMs }) => widthMs).join(', ')

export function* figures(request: FigureQuery | FigureAdd): Steps<readonly FigureRow[]> {
  if ('rows' in request) {
    yield* insertRows(request.rows, request.id)
    return []
  }
  const { tenant, job, byJob, from, to, limit } = request
  const { where, values } = whereOf(
    [
      ['tenant = ?', byJob ? tenant : (tenant ?? '')],
      ['job = ?', byJob ? job : (job ?? '')],
      [`width IN (${widths}) AND job <> ''`, byJob ? [] : undefined],
      ['at > ?::float8', from - widestFigure],
      ['at < ?::float8', to],
      ['at + width > ?::float8', from],
    ],
    2,
  )
  const select = `SELECT ${columns} FROM punctual.figure WHERE ${where} ORDER BY at DESC LIMIT $1::int + 0`
  return (yield* rows<DataRow>(select, [limit, ...values])).map(figureRow)
}

const remove = (which: string) =>
  `DELETE FROM punctual.figure WHERE ref IN (SELECT ref FROM punctual.figure WHERE ${which} LIMIT ${figuresPerStep}) RETURNING ${columns}`
const removeAdded = remove('id IS NOT NULL AND at < $1::float8')
const removeOld = remove('width = $1::float8 AND at < $2::float8 AND id IS NULL ORDER BY at')

/** Sums up what nodes have added, and what has grown old, one node at a time. */
export function* foldFigures(now: number): Steps<void> {
  const added = yield* rows<DataRow>(removeAdded, [now - minute - addedFor])
  yield* insertRows(foldedFigures(added.map(figureRow), minute), null)
  for (const level of figureLevels) {
    const old = yield* rows<DataRow>(removeOld, [level.widthMs, figuresPast(level, now)])
    if (level.nextMs !== null) yield* insertRows(foldedFigures(old.map(figureRow), level.nextMs), null)
  }
}
