// How figures grow coarser with age: minutes for six hours, quarters of an hour for five weeks, days for a year and a bit. A quarter of
// an hour is the least common part of the offsets of all time zones.
const minute = 60_000
const quarter = 15 * minute
const day = 96 * quarter

export interface FigureLevel {
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

/** The width of the widest rows up to an age. */
export function figureWidth(ageMs: number): number {
  return figureLevels.find(({ keepMs }) => ageMs <= keepMs)?.widthMs ?? day
}
