import { addedFor, figureLevels, figuresPast, foldedFigures } from '../rules/figures.ts'
import type { DueQuery, DueRow, FigureAdd, FigureQuery, FigureRow } from '../store.ts'
import { isAsked } from './counts.ts'
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

export function listDue(
  state: State,
  { from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY, limit, ...asked }: DueQuery,
): readonly DueRow[] {
  return [...state.entries.values()]
    .filter(({ place, dueAt, record }) => place === 'ready' && dueAt >= from && dueAt < to && isAsked(asked, record))
    .sort((a, b) => a.dueAt - b.dueAt || a.ref - b.ref)
    .slice(0, limit)
    .map(({ record: { id, tenant, job, key, source }, dueAt, state: now }) => ({
      id,
      tenant,
      job,
      key,
      source,
      dueAt,
      state: now as DueRow['state'],
    }))
}
