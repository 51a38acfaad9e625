import type { Schedule, ScheduleJson } from './schedule.ts'

/**
 * By how much the runs of a job are moved when its schedule has a `spread`: the same for all runs of the job and on every
 * node, and less than the spread. `job` is what names the job in all eternity, such as its id. The instant itself, and so
 * the occurrence's id, stays as it is.
 */
export function spreadMs(schedule: Schedule, job: string): number {
  const spread = longestSpread(schedule.toJSON())
  return spread === 0 ? 0 : Math.floor(fraction(job) * spread)
}

/** A union is spread like its most spread part; own kinds take part by a `spread` in their JSON, in milliseconds. */
function longestSpread(json: ScheduleJson): number {
  const own = typeof json.spread === 'number' ? json.spread : 0
  return Array.isArray(json.parts) ? Math.max(own, ...json.parts.map(longestSpread)) : own
}

/** A number in [0, 1) from a text: FNV-1a, then mixed so that similar names land far apart. Stored dues depend on it. */
function fraction(text: string): number {
  let hash = 0x811c_9dc5
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x0100_0193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32
}
