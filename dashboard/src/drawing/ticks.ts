import { dayStart, wallTime } from '../time/zoned.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
const steps = [minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute, hour, 2 * hour, 3 * hour, 4 * hour, 6 * hour, 12 * hour]

export interface Tick {
  readonly at: number
  readonly isDay: boolean
}

/** The instants of an axis, on round times of the zone's clock. */
export function ticks(from: number, to: number, width: number, zone: string): Tick[] {
  const px = width / (to - from)
  const step = steps.find((one) => one * px > 56)
  const found: Tick[] = []
  for (let start = dayStart(from, zone); start <= to; ) {
    const next = dayStart(start + day + 2 * hour, zone)
    if (start >= from) found.push({ at: start, isDay: true })
    if (step) for (const at of inDay(start, next, step, zone)) if (at >= from && at <= to) found.push({ at, isDay: false })
    start = next
  }
  return found.sort((a, b) => a.at - b.at)
}

/** Steps within a day by the clock on the wall, which a change of the clock shifts. */
function inDay(start: number, end: number, step: number, zone: string): number[] {
  const found: number[] = []
  for (let at = start + step; at < end; at += step) {
    const { hour: h, minute: m } = wallTime(at, zone)
    const off = ((h * 60 + m) * minute) % step
    const round = off === 0 ? at : off > step / 2 ? at + step - off : at - off
    if (round > start && round < end && round !== found.at(-1)) found.push(round)
  }
  return found
}
