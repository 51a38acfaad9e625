import { dayMs } from '../time/civil.ts'
import type { OffsetSegment } from '../time/offset-segment.ts'
import type { Zone } from '../time/zone.ts'
import { matchFrom, matchUntil } from './cron-match.ts'
import type { CronPattern } from './cron-pattern.ts'

/**
 * From matching wall times to instants: a walk over the zone's constant-offset segments. Inside a segment the search
 * is pure arithmetic; only where one segment follows another can wall times be lost (gap) or come twice (overlap).
 */

/** The rule for a matching wall time that is shown twice: the first pass counts, the second, or both. */
export const passes = { first: 1, second: 2, both: 3 } as const

export interface WalkRules {
  /** One of `passes`. */
  readonly passes: number
  /** Whether wall times lost in a gap become one instant at its end. */
  readonly makesUp: boolean
}

// Real gaps and overlaps are at most a day long, and segments on record are longer than two.
const farMs = 2 * dayMs
// How far a search goes when gaps swallow one match after the other. The rarest date is 40 years away, and each turn of
// a walk passes a segment or a swallowed date, so this bounds the turns as well.
const horizonMs = 45 * 366 * dayMs
// The range of Date ends here.
const lastInstant = 8.64e15

/** The first instant strictly after `ms`. */
export function instantAfter(pattern: CronPattern, zone: Zone, rules: WalkRules, ms: number): number | null {
  let from = Math.floor(ms / 1000) * 1000 + 1000
  if (rules.makesUp && endsGap(pattern, zone, from)) return from
  for (const last = from + horizonMs; from <= last; ) {
    const segment = zone.segmentAt(from)
    const { offset, end } = segment
    if (rules.passes === passes.first && from < segment.foldEnd) from = Math.min(segment.foldEnd, end)
    const wall = matchFrom(pattern, from + offset)
    if (Number.isNaN(wall)) return null
    const instant = wall - offset
    if (instant < end) {
      if (rules.passes !== passes.second || instant < segment.repeatFrom) return instant <= lastInstant ? instant : null
      from = end
    } else if (end - from >= farMs && instant - end > farMs) {
      // Nothing matches before `wall`, whatever the offsets in between: go near it without reading them.
      from = instant - farMs
    } else {
      if (rules.makesUp && losesMatch(pattern, zone, segment, wall)) return end
      from = end
    }
  }
  return null
}

/** The last instant strictly before `ms`. */
export function instantBefore(pattern: CronPattern, zone: Zone, rules: WalkRules, ms: number): number | null {
  let until = Math.ceil(ms / 1000) * 1000 - 1000
  for (const first = until - horizonMs; until >= first; ) {
    const segment = zone.segmentAt(until)
    const { offset, start } = segment
    if (rules.passes === passes.second && until >= segment.repeatFrom) until = segment.repeatFrom - 1000
    const counted = rules.passes === passes.first ? segment.foldEnd : start
    const wall = matchUntil(pattern, until + offset)
    const instant = wall - offset
    if (instant >= counted && until >= start) return instant >= -lastInstant ? instant : null
    if (until - start >= farMs && start - instant > farMs) {
      until = instant + farMs
    } else if (start === -Infinity || (Number.isNaN(wall) && until - start >= farMs)) {
      return null
    } else {
      if (rules.makesUp && until >= start && endsGap(pattern, zone, start)) return start
      until = start - 1000
    }
  }
  return null
}

/** Whether a gap that has swallowed a match ends at the instant. */
export function endsGap(pattern: CronPattern, zone: Zone, ms: number): boolean {
  if (zone.segmentAt(ms).start !== ms) return false
  const before = zone.segmentAt(ms - 1000)
  return losesMatch(pattern, zone, before, matchFrom(pattern, ms + before.offset))
}

/** Whether the gap after the segment swallows `wall` (the first match from the segment's end on) or a match after it. */
function losesMatch(pattern: CronPattern, zone: Zone, segment: OffsetSegment, wall: number): boolean {
  const gapStart = segment.end + segment.offset
  const gapEnd = segment.end + zone.segmentAt(segment.end).offset
  let lost = wall
  while (lost < gapEnd) {
    const day = Math.floor(lost / dayMs)
    // A date that is missing as a whole (a move across the date line) is like 31 February.
    if (day * dayMs < gapStart || (day + 1) * dayMs > gapEnd) return true
    lost = matchFrom(pattern, (day + 1) * dayMs)
  }
  return false
}
