// The fold of figures that grow old.
import { sumFigures } from '../../model/figure.ts'
import { type FigureLevel, figureLevels } from '../../model/figure-level.ts'
import type { FigureRow } from '../store.ts'

/** The span of the figures that nodes add. */
export const minute = 60_000
export const widestFigure = figureLevels.at(-1)?.widthMs as number

/** Rows of the level that begin before this instant are past their time. A span of the next level ends as a whole, so it gets one row. */
export function figuresPast({ keepMs, nextMs }: FigureLevel, now: number): number {
  const before = now - keepMs
  return nextMs === null ? before : Math.floor(before / nextMs) * nextMs
}

/** Figures that nodes have added are summed up once their minute is so long over. */
export const addedFor = 2 * minute
/** Rows that one step works off. */
export const figuresPerStep = 2000

/** The rows summed up by tenant, job and span of the given width. */
export function foldedFigures(rows: readonly FigureRow[], widthMs: number): readonly FigureRow[] {
  const starts = rows.map((row) => ({ ...row, at: Math.floor(row.at / widthMs) * widthMs, widthMs }))
  return [...Map.groupBy(starts, ({ tenant, job, at }) => JSON.stringify([tenant, job, at])).values()].map((group) => ({
    ...(group[0] as FigureRow),
    figure: sumFigures(group.map(({ figure }) => figure)),
  }))
}
