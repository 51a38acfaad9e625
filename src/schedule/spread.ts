import type { Schedule, ScheduleJson } from './schedule.ts'
import { textHash } from './text-hash.ts'

/**
 * By how much the runs of a job are moved when its schedule has a `spread`: the same for all runs of the job and on every
 * node, and less than the spread. `job` is what names the job in all eternity, such as its id. The instant itself, and so
 * the occurrence's id, stays as it is.
 */
export function spreadMs(schedule: Schedule, job: string): number {
  const spread = longestSpread(schedule.toJSON())
  return spread === 0 ? 0 : Math.floor((textHash(job) / 2 ** 32) * spread)
}

/** A union is spread like its most spread part; own kinds take part by a `spread` in their JSON, in milliseconds. */
function longestSpread(json: ScheduleJson): number {
  const own = typeof json.spread === 'number' ? json.spread : 0
  return Array.isArray(json.parts) ? Math.max(own, ...json.parts.map(longestSpread)) : own
}
