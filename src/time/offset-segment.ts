import { dayMs } from './civil.ts'

/** A stretch of time in which a zone's offset from UTC stays the same. All numbers are milliseconds. */
export interface OffsetSegment {
  /** First instant. */
  readonly start: number
  /** First instant after it. */
  readonly end: number
  /** Wall time minus UTC. */
  readonly offset: number
  /** Up to here the wall shows times that it has shown before: the second pass of an overlap. Otherwise `start`. */
  readonly foldEnd: number
  /** From here on the wall shows times that it will show again. Otherwise `end`. */
  readonly repeatFrom: number
}

interface OffsetChange {
  readonly at: number
  readonly before: number
  readonly after: number
}

// Changes just outside a block reach into it (the second pass of an overlap may begin before it), hence the margin.
const marginMs = 3 * dayMs

/**
 * The segments that make up [from, to). An edge of the block that is not a change is recognised by its
 * neighbour having the same offset; folds are right on both sides of it.
 */
export function offsetSegments(offsetAt: (ms: number) => number, from: number, to: number): OffsetSegment[] {
  const changes = offsetChanges(offsetAt, from - marginMs, to + marginMs)
  const inside = changes.filter((change) => change.at > from && change.at < to)
  const starts = [from, ...inside.map((change) => change.at)]
  return starts.map((start, i) => {
    const end = starts[i + 1] ?? to
    const opening = changes.findLast((change) => change.at <= start)
    const closing = changes.find((change) => change.at >= end)
    return {
      start,
      end,
      offset: offsetAt(start),
      foldEnd: opening ? Math.max(start, opening.at + opening.before - opening.after) : start,
      repeatFrom: closing ? Math.min(end, closing.at - (closing.before - closing.after)) : end,
    }
  })
}

// One probe a day finds every change on record: no zone has changed there and back within a day.
function offsetChanges(offsetAt: (ms: number) => number, from: number, to: number): OffsetChange[] {
  const changes: OffsetChange[] = []
  let before = offsetAt(from)
  for (let day = from; day < to; day += dayMs) {
    const after = offsetAt(Math.min(day + dayMs, to))
    if (after === before) continue
    changes.push({ at: changeBetween(offsetAt, day, Math.min(day + dayMs, to)), before, after })
    before = after
  }
  return changes
}

/** The first whole second with the offset that holds at `high`. */
function changeBetween(offsetAt: (ms: number) => number, low: number, high: number): number {
  const after = offsetAt(high)
  let lowSecond = Math.floor(low / 1000)
  let highSecond = Math.floor(high / 1000)
  while (highSecond - lowSecond > 1) {
    const middle = Math.floor((lowSecond + highSecond) / 2)
    if (offsetAt(middle * 1000) === after) highSecond = middle
    else lowSecond = middle
  }
  return highSecond * 1000
}
