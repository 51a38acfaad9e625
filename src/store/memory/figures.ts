import { figureLevels } from '../../model/figure-level.ts'
import { addedFor, figuresPast, foldedFigures } from '../rules/figures.ts'
import type { FigureAdd, FigureQuery, FigureRow } from '../store.ts'
import type { State } from './state.ts'

export function figures(state: State, request: FigureQuery | FigureAdd): readonly FigureRow[] {
  if ('rows' in request) return add(state, request)
  const { tenant = '', job = '', byJob = false, from, to, limit } = request
  const isOf = (row: FigureRow) =>
    byJob
      ? row.job !== '' && (tenant === '' || row.tenant === tenant) && (job === '' || row.job === job)
      : row.tenant === tenant && row.job === job
  return [...state.figures, ...[...state.addedFigures.values()].flat()]
    .filter((row) => row.at < to && row.at + row.widthMs > from && isOf(row))
    .sort((a, b) => b.at - a.at)
    .slice(0, limit)
}

function add(state: State, { id, rows }: FigureAdd): [] {
  if (rows.length > 0 && !state.addedFigures.has(id)) state.addedFigures.set(id, rows)
  return []
}

export function foldFigures(state: State): void {
  const { now } = state
  for (const [id, rows] of state.addedFigures) {
    if (rows.some(({ at, widthMs }) => at + widthMs + addedFor > now)) continue
    state.figures.push(...rows)
    state.addedFigures.delete(id)
  }
  for (const level of figureLevels) {
    const { widthMs, nextMs } = level
    const past = figuresPast(level, now)
    const isOld = (row: FigureRow) => row.widthMs === widthMs && row.at < past
    const old = state.figures.filter(isOld)
    if (old.length === 0) continue
    state.figures = state.figures.filter((row) => !isOld(row))
    if (nextMs !== null) state.figures.push(...foldedFigures(old, nextMs))
  }
}
