import type { Schedule } from './schedule.ts'

/** The schedule in this zone where it names none itself; any other schedule as it is. */
export function inZone(schedule: Schedule, timezone: string): Schedule {
  const zoned = schedule as Schedule & { inZone?: (timezone: string) => Schedule }
  return typeof zoned.inZone === 'function' ? zoned.inZone(timezone) : schedule
}
