/** The wall times of a zone, read from Intl minute by minute: slow, simple, and independent of the code under test. */

const minuteMs = 60_000

export interface WallScan {
  /** Every minute of the scan, in order. */
  readonly instants: readonly number[]
  /** The wall time at each of them, as if it were UTC. */
  readonly walls: readonly number[]
  /** Wall time → the instants that show it. */
  readonly shownAt: ReadonlyMap<number, readonly number[]>
  /** The dates (as wall midnights) that are shown at all. */
  readonly dates: ReadonlySet<number>
}

export function scanWall(zone: string, from: number, to: number): WallScan {
  const wallAt = wallClock(zone)
  const instants: number[] = []
  const walls: number[] = []
  const shownAt = new Map<number, number[]>()
  const dates = new Set<number>()
  for (let ms = from; ms < to; ms += minuteMs) {
    const wall = wallAt(ms)
    instants.push(ms)
    walls.push(wall)
    dates.add(wall - (((wall % 86_400_000) + 86_400_000) % 86_400_000))
    const known = shownAt.get(wall)
    if (known) known.push(ms)
    else shownAt.set(wall, [ms])
  }
  return { instants, walls, shownAt, dates }
}

const clocks = new Map<string, (ms: number) => number>()

/** Asks Intl for the wall time, to the second. */
export function wallClock(zone: string): (ms: number) => number {
  const known = clocks.get(zone)
  if (known) return known
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' })
  // 2025-11-02 01:30:00
  const clock = (ms: number) => Date.parse(`${format.format(ms).replace(' ', 'T')}Z`)
  clocks.set(zone, clock)
  return clock
}

/** The instants of the year at which the zone's offset changes. */
export function changesIn(zone: string, year: number): number[] {
  const wallAt = wallClock(zone)
  const offsetAt = (ms: number) => wallAt(ms) - ms
  const changes: number[] = []
  for (let day = Date.UTC(year, 0, 1); day < Date.UTC(year + 1, 0, 1); day += 86_400_000) {
    let [low, high] = [day, day + 86_400_000]
    if (offsetAt(low) === offsetAt(high)) continue
    while (high - low > 1000) {
      const middle = Math.floor((low + high) / 2000) * 1000
      if (offsetAt(middle) === offsetAt(low)) low = middle
      else high = middle
    }
    changes.push(high)
  }
  return changes
}
