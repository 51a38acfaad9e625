import { PunctualError } from '../errors.ts'
import { dayFromCivil, dayMs } from './civil.ts'
import { type OffsetSegment, offsetSegments } from './offset-segment.ts'

/** The tz database that this process carries, such as `2026c`. */
export function tzVersion(): string {
  return process.versions.tz ?? 'unknown'
}

/** The zone of an IANA name or `UTC`. Zones are shared, whatever the letter case they are asked by. */
export function zoneNamed(name: string, field = 'timezone'): Zone {
  const known = typeof name === 'string' ? zones.get(name) : undefined
  return known ?? openZone(name, field)
}

/** A time zone as a table of constant-offset segments, read from Intl block by block when first asked for. */
export class Zone {
  /** The name under which the zone was first asked for. */
  readonly name: string
  readonly #blocks = new Map<number, readonly OffsetSegment[]>()
  readonly #offsetAt: (ms: number) => number
  #last: OffsetSegment

  constructor(name: string, offsetAt: ((ms: number) => number) | null) {
    this.name = name
    this.#offsetAt = offsetAt ?? (() => 0)
    this.#last = offsetAt ? nowhere : { start: -Infinity, end: Infinity, offset: 0, foldEnd: -Infinity, repeatFrom: Infinity }
  }

  /** The segment that holds the instant. Neighbours with the same offset may meet at a block's edge. */
  segmentAt(ms: number): OffsetSegment {
    const last = this.#last
    if (ms >= last.start && ms < last.end) return last
    this.#last = this.#find(ms)
    return this.#last
  }

  /** Wall time minus UTC, in milliseconds. */
  offsetAt(ms: number): number {
    return this.segmentAt(ms).offset
  }

  #find(ms: number): OffsetSegment {
    const index = Math.min(Math.max(Math.floor(ms / blockMs), firstBlock), lastBlock)
    let block = this.#blocks.get(index)
    if (!block) {
      block = this.#read(index)
      this.#blocks.set(index, block)
    }
    let low = 0
    for (let high = block.length - 1; low < high; ) {
      const middle = (low + high + 1) >> 1
      if ((block[middle] as OffsetSegment).start <= ms) low = middle
      else high = middle - 1
    }
    return block[low] as OffsetSegment
  }

  #read(index: number): OffsetSegment[] {
    const start = index * blockMs
    const end = start + blockMs
    const segments = offsetSegments(this.#offsetAt, start, end)
    if (index === firstBlock) segments[0] = { ...(segments[0] as OffsetSegment), start: -Infinity, foldEnd: -Infinity }
    if (index === lastBlock) segments.push({ ...(segments.pop() as OffsetSegment), end: Infinity, repeatFrom: Infinity })
    return segments
  }
}

// 2^27 seconds, a little over four years: some thousand probes of Intl, about two milliseconds, once per zone.
const blockMs = 2 ** 27 * 1000
// Before 1800 no zone has a change on record, and the last block ends inside the range of Date.
const firstBlock = Math.floor((dayFromCivil(1800, 1, 1) * dayMs) / blockMs)
const lastBlock = Math.floor(8.64e15 / blockMs) - 1
const nowhere: OffsetSegment = { start: Infinity, end: -Infinity, offset: 0, foldEnd: Infinity, repeatFrom: -Infinity }

const zones = new Map<string, Zone>()
const ianaName = /^[a-z][a-z0-9_+-]*(?:\/[a-z0-9_+-]+)*$/i
const longestName = 100
// Spellings differ in letter case only; more of them than this are looked up again instead of kept.
const mostSpellings = 2000

function openZone(name: string, field: string): Zone {
  if (typeof name !== 'string' || name.length > longestName || !ianaName.test(name)) throw invalidZone(name, field)
  const key = name.toLowerCase()
  const zone = zones.get(key) ?? new Zone(name, key === 'utc' ? null : intlOffset(name, field))
  zones.set(key, zone)
  if (zones.size < mostSpellings) zones.set(name, zone)
  return zone
}

/** Asks Intl what the wall shows. Slow (a microsecond or more), so only tables are built from it. */
function intlOffset(name: string, field: string): (ms: number) => number {
  let format: Intl.DateTimeFormat
  try {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    })
  } catch (cause) {
    throw invalidZone(name, field, cause)
  }
  return (ms) => {
    // 11/02/2025, 01:30:00; the year may have more digits.
    const text = format.format(ms)
    const comma = text.indexOf(',')
    const number = (at: number, length = 2) => Number(text.slice(at, at + length))
    const day = dayFromCivil(number(6, comma - 6), number(0), number(3))
    const wall = day * dayMs + number(comma + 2) * 3_600_000 + number(comma + 5) * 60_000 + number(comma + 8) * 1000
    return wall - Math.floor(ms / 1000) * 1000
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
