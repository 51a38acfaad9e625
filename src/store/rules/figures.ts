// How figures grow coarser with age: minutes for six hours, quarters of an hour for five weeks, days for a year and a bit. A quarter of
// an hour is the least common part of the offsets of all time zones.
import { sumFigures } from '../../model/figure.ts'
import type { FigureRow } from '../store.ts'

/** The span of the figures that nodes add. */
export const minute = 60_000
const quarter = 15 * minute
const day = 96 * quarter

interface FigureLevel {
  readonly widthMs: number
  /** Rows of this level are kept for so long; then they become rows of the next, or are deleted. */
  readonly keepMs: number
  readonly nextMs: number | null
}

export const figureLevels: readonly FigureLevel[] = [
  { widthMs: minute, keepMs: 6 * 3_600_000, nextMs: quarter },
  { widthMs: quarter, keepMs: 35 * day, nextMs: day },
  { widthMs: day, keepMs: 400 * day, nextMs: null },
]

export const widestFigure = day

/** Rows of the level that begin before this instant are past their time. A span of the next level ends as a whole, so it gets one row. */
export function figuresPast({ keepMs, nextMs }: FigureLevel, now: number): number {
  const before = now - keepMs
  return nextMs === null ? before : Math.floor(before / nextMs) * nextMs
}

/** The width of the widest rows up to an age. */
export function figureWidth(ageMs: number): number {
  return figureLevels.find(({ keepMs }) => ageMs <= keepMs)?.widthMs ?? widestFigure
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
