import { dayMs } from './civil.ts'
import type { Zone } from './zone.ts'

/**
 * The instant at which the zone's wall shows `wall`. Shown twice: the first pass. Never shown: moved on by the
 * length of the gap, so 02:30 becomes 03:30 (date arithmetic; cron has a different rule).
 */
export function instantOfWall(zone: Zone, wall: number): number {
  // Offsets stay within a day, so these two lie on either side of every instant that could show `wall`.
  const before = zone.offsetAt(wall - dayMs)
  const after = zone.offsetAt(wall + dayMs)
  if (before === after || zone.offsetAt(wall - before) === before) return wall - before
  return zone.offsetAt(wall - after) === after ? wall - after : wall - before
}

/** The first instant of a day (its number since 1970-01-01) on the zone's wall. */
export function startOfDay(zone: Zone, day: number): number {
  return instantOfWall(zone, day * dayMs)
}
