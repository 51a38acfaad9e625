import { PunctualError } from '../errors.ts'
import { intlOffset } from './intl-offset.ts'
import type { OffsetSegment } from './offset-segment.ts'
import { OffsetTable } from './offset-table.ts'

/** The tz database that this process carries, such as `2026c`. */
export function tzVersion(): string {
  return process.versions.tz ?? 'unknown'
}

/** The zone of an IANA name or `UTC`; any other name is refused with `zone.invalid`. Zones are shared. */
export function zoneNamed(name: string, field = 'timezone'): Zone {
  const known = zones.get(name)
  if (known) return known
  const zone = new Zone(name, tableOf(name, field))
  if (zones.size < mostSpellings) zones.set(name, zone)
  return zone
}

/** A time zone under the name it was asked for. */
export class Zone {
  readonly name: string
  readonly #table: OffsetTable | null
  // Questions come in bunches around one time, mostly within one segment.
  #last: OffsetSegment

  /** Without a table the zone is UTC. */
  constructor(name: string, table: OffsetTable | null) {
    this.name = name
    this.#table = table
    this.#last = table ? nowhere : always
  }

  /** The segment that holds the instant. Neighbours with the same offset may meet: not every edge is a change. */
  segmentAt(ms: number): OffsetSegment {
    const last = this.#last
    if (this.#table === null || (ms >= last.start && ms < last.end)) return last
    this.#last = this.#table.find(ms)
    return this.#last
  }

  /** Wall time minus UTC, in milliseconds. */
  offsetAt(ms: number): number {
    return this.segmentAt(ms).offset
  }
}

const always: OffsetSegment = { start: -Infinity, end: Infinity, offset: 0, foldEnd: -Infinity, repeatFrom: Infinity }
const nowhere: OffsetSegment = { start: Infinity, end: -Infinity, offset: 0, foldEnd: Infinity, repeatFrom: -Infinity }

// Names may come from anywhere in any letter case: tables are kept per name, and zones up to a number of spellings.
const zones = new Map<string, Zone>()
const mostSpellings = 2000
const tables = new Map<string, OffsetTable | null>([['utc', null]])
const longestName = 100
const ianaName = /^[a-z][a-z0-9_+-]*(?:\/[a-z0-9_+-]+)*$/i

function tableOf(name: string, field: string): OffsetTable | null {
  if (typeof name !== 'string' || name.length > longestName || !ianaName.test(name)) throw invalidZone(name, field)
  const key = name.toLowerCase()
  const known = tables.get(key)
  if (known !== undefined) return known
  try {
    const table = new OffsetTable(intlOffset(name))
    tables.set(key, table)
    return table
  } catch (cause) {
    throw invalidZone(name, field, cause)
  }
}

function invalidZone(name: unknown, field: string, cause?: unknown): PunctualError {
  const given = typeof name === 'string' ? name.slice(0, longestName) : typeof name
  return new PunctualError(
    'zone.invalid',
    `${field} must be an IANA time zone such as Europe/Oslo, or UTC, known to this process (tz ${tzVersion()}); got ${JSON.stringify(given)}`,
    { field, given },
    { cause },
  )
}
