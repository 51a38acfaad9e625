import { wallText } from '../time/civil.ts'
import { isoText } from '../time/instant.ts'
import type { Zone } from '../time/zone.ts'
import { nextMs, type Schedule } from './schedule.ts'
import { zoneOf } from './schedule-zone.ts'

/** One coming instant, as a person wants to see it. All texts; instants are ISO 8601. */
export interface PreviewRow {
  /** `2026-10-25T02:00:00Z`. */
  readonly utc: string
  /** The wall time in the schedule's zone: `2026-10-25T02:00:00`. */
  readonly local: string
  /** `+02:00`. */
  readonly offset: string
  /** Three letters, on the wall. */
  readonly weekday: string
  /** The clock change close to it, or null: see `ClockMark`. */
  readonly mark: ClockMark | null
}

/**
 * `after-gap`: the first instant after the clock went forward (where cron makes up for lost times);
 * `first-pass`, `second-pass`: the wall shows this time twice; `changed`: the offset differs from the row before.
 */
export type ClockMark = 'after-gap' | 'first-pass' | 'second-pass' | 'changed'

/** The next `count` instants strictly after `after`, on the wall of the schedule's zone unless told another. */
export function preview(schedule: Schedule, after: number, count: number, zone: Zone = zoneOf(schedule)): PreviewRow[] {
  const rows: PreviewRow[] = []
  let last = after
  let before = zone.offsetAt(after)
  while (rows.length < count) {
    const ms: number | null = nextMs(schedule, last)
    if (ms === null) break
    const offset = zone.offsetAt(ms)
    rows.push({
      utc: isoText(ms).replace('.000Z', 'Z'),
      local: wallText(ms + offset),
      offset: offsetText(offset),
      weekday: weekdays[new Date(ms + offset).getUTCDay()] as string,
      mark: markOf(zone, ms, offset !== before),
    })
    last = ms
    before = offset
  }
  return rows
}

const weekdays = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']

function markOf(zone: Zone, ms: number, isChanged: boolean): ClockMark | null {
  const segment = zone.segmentAt(ms)
  if (ms < segment.foldEnd) return 'second-pass'
  if (ms >= segment.repeatFrom) return 'first-pass'
  if (ms === segment.start && zone.offsetAt(ms - 1) < segment.offset) return 'after-gap'
  return isChanged ? 'changed' : null
}

/** `+05:30`; seconds only where there are some, as there were before 1972. */
export function offsetText(offset: number): string {
  const seconds = Math.abs(offset) / 1000
  const parts = [seconds / 3600, (seconds / 60) % 60, seconds % 60].map((part) => String(Math.floor(part)).padStart(2, '0'))
  return (offset < 0 ? '-' : '+') + (parts[2] === '00' ? parts.slice(0, 2) : parts).join(':')
}
