import { type Zone, zoneNamed } from '../time/zone.ts'
import type { Schedule, ScheduleJson } from './schedule.ts'

/** The zone on whose wall the schedule is read: its own, else UTC. */
export function zoneOf(schedule: Schedule): Zone {
  return zoneNamed(zonesOf(schedule)[0] ?? 'UTC')
}

/**
 * Every zone whose rules decide the schedule's instants, exclusions and parts of a union included. Own kinds take part
 * by a `timezone` in their JSON. UTC has no rules and is left out.
 */
export function zonesOf(schedule: Schedule): readonly string[] {
  const zones = new Set<string>()
  collect(schedule.toJSON(), zones)
  zones.delete('UTC')
  return [...zones]
}

function collect(json: unknown, zones: Set<string>): void {
  if (typeof json !== 'object' || json === null) return
  const zone = (json as ScheduleJson).timezone
  if (typeof zone === 'string') zones.add(zone)
  for (const value of Object.values(json)) collect(value, zones)
}
