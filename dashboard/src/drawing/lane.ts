// The content of a lane of the timeline, computed apart from its drawing.
import type { Mark } from '../part/mark.ts'

/** One occurrence, or one instant to come, on a lane. */
export interface LaneMark {
  readonly id: string | null
  readonly at: number
  readonly endAt: number | null
  readonly mark: Mark
  readonly text?: string | null
}

/** Many occurrences of a stretch of time. */
export interface LaneBin {
  readonly from: number
  readonly to: number
  readonly done: number
  readonly failed: number
  readonly coming: number
}

export interface Span {
  readonly from: number
  readonly to: number
}

export interface Scale {
  readonly from: number
  readonly to: number
  readonly width: number
  readonly x: (at: number) => number
}

export function scale(from: number, to: number, width: number): Scale {
  return { from, to, width, x: (at) => ((at - from) / (to - from)) * width }
}

/** Below this many pixels for each, marks become a density. */
const crowdedPx = 6.6
const pastBinPx = 5
const futureBinPx = 8
const order: Readonly<Partial<Record<Mark, number>>> = {
  completed: 0,
  pending: 0,
  canceled: 1,
  skipped: 1,
  running: 2,
  retrying: 2,
  late: 3,
  waiting: 4,
  missed: 5,
  failed: 6,
  dead: 6,
}

/** The marks in the order in which they are drawn: what matters lies on top. */
export function visibleMarks(marks: readonly LaneMark[], { from, to }: Scale): LaneMark[] {
  return marks
    .filter(({ at, endAt }) => (endAt ?? at) >= from && at <= to)
    .sort((a, b) => (order[a.mark] ?? 0) - (order[b.mark] ?? 0) || a.at - b.at)
}

export const isPlain = ({ mark }: LaneMark): boolean => mark === 'completed' || mark === 'pending'

/** Whether the past or the future of a lane has too little room for single marks. */
export function isCrowded(marks: readonly LaneMark[], { width, x }: Scale, now: number): boolean {
  const pastPx = Math.min(width, Math.max(0, x(now)))
  const past = marks.filter(({ at }) => at <= now).length
  const isFull = (count: number, px: number) => count > 12 && px / count < crowdedPx
  return isFull(past, pastPx) || isFull(marks.length - past, width - pastPx)
}

/** Drawn on a density too: what is under way, and what has gone wrong with the time. */
export const isNotable = ({ mark }: LaneMark): boolean =>
  mark === 'running' || mark === 'retrying' || mark === 'late' || mark === 'waiting' || mark === 'missed'

/** Counts of a lane whose runs are too many to be sent one by one, in steps of `stepMs`. */
export interface LaneCounts {
  readonly stepMs: number
  readonly bins: readonly LaneBin[]
}

/**
 * The bins of a density. Of single marks, a bin is at least twice the mean spacing, so a regular schedule gives an even band; of counts
 * it is a multiple of their step.
 */
export function binsOf(marks: readonly LaneMark[], counts: LaneCounts | null, view: Scale, now: number): LaneBin[] {
  const perPx = (view.to - view.from) / view.width
  const spacing = (2 * (view.to - view.from)) / Math.max(1, marks.length)
  const wide = (px: number) => (counts ? counts.stepMs * Math.ceil((px * perPx) / counts.stepMs) : Math.max(px * perPx, spacing))
  const widths = { past: wide(pastBinPx), future: wide(futureBinPx) }
  const bins = new Map<string, { from: number; to: number; done: number; failed: number; coming: number }>()
  const binAt = (at: number) => {
    const isPast = at <= now
    const width = isPast ? widths.past : widths.future
    // Bins of counts begin with their steps, so they keep their place while the view moves.
    const start = counts ? 0 : isPast ? view.from : now
    const index = Math.floor((at - start) / width)
    const name = `${isPast}${index}`
    const known = bins.get(name)
    if (known) return known
    const from = start + index * width
    const to = from + width
    const [first, last] = isPast ? [from, Math.min(now, to)] : [Math.max(now, from), to]
    const bin = { from: first, to: last, done: 0, failed: 0, coming: 0 }
    bins.set(name, bin)
    return bin
  }
  for (const { at, mark } of marks) {
    if (at < view.from || at > view.to) continue
    const bin = binAt(at)
    if (mark === 'completed' || mark === 'running') bin.done += 1
    else if (mark === 'failed' || mark === 'dead') bin.failed += 1
    else if (mark === 'pending') bin.coming += 1
  }
  for (const { from, to, done, failed, coming } of counts?.bins ?? []) {
    const middle = (from + to) / 2
    if (middle < view.from || middle > view.to) continue
    const bin = binAt(coming > 0 ? Math.max(middle, now + 1) : Math.min(middle, now))
    bin.done += done
    bin.failed += failed
    bin.coming += coming
  }
  return [...bins.values()].filter(({ from, to }) => from >= view.from && to <= view.to).sort((x, y) => x.from - y.from)
}

/** Heights of the bars of a density, 0 to 1, by the square root of the rate. */
export function binHeights(bins: readonly LaneBin[]): { done: number; failed: number; coming: number }[] {
  const rate = (count: number, { from, to }: LaneBin) => count / (to - from)
  const top = Math.max(...bins.map((bin) => Math.max(rate(bin.done, bin), rate(bin.coming, bin))), Number.MIN_VALUE)
  const topFailed = Math.max(...bins.map((bin) => rate(bin.failed, bin)), Number.MIN_VALUE)
  return bins.map((bin) => ({
    done: Math.sqrt(rate(bin.done, bin) / top),
    failed: Math.sqrt(rate(bin.failed, bin) / topFailed),
    coming: Math.sqrt(rate(bin.coming, bin) / top),
  }))
}
