// The words on a lane of the timeline, beside a mark or at an edge.
import type { WireLane } from '../../../src/http/wire.ts'
import { mainMark } from '../data/marks.ts'
import type { LaneMark } from '../drawing/lane.ts'
import type { RibbonLane } from '../drawing/ribbon.tsx'
import { lateness } from '../time/duration.ts'
import { now } from '../time/zone.ts'
import { clockText, timeText } from '../time/zoned.ts'

export interface View {
  readonly from: number
  readonly to: number
  readonly zone: string
  readonly now: number
  readonly isAlone: boolean
}

export function laneNote(lane: WireLane, marks: readonly LaneMark[], view: View): RibbonLane['note'] {
  const late = marks.find(({ mark }) => mark === 'late')
  const at = view.now
  if (late && late.at > view.from)
    return {
      at: late.at,
      text: `late ${lateness(now.peek() - late.at)}`,
      kind: 't-time',
      side: 'end',
    }
  const missed = marks.findLast(({ mark }) => mark === 'missed')
  if (missed && mainMark(lane.marks) === 'missed')
    return {
      at: missed.at,
      text: `missed ${timeText(missed.at, view.zone, at)}${missed.text ? `, ${missed.text}` : ''}`,
      kind: 't-time',
      side: 'start',
    }
  const pause = lane.pauses.find(({ from, until }) => Date.parse(from) <= at && (until === null || Date.parse(until) > at))
  if (!pause) return null
  const until = pause.until === null ? 'paused' : `paused until ${soonText(Date.parse(pause.until), view.zone, at)}`
  return { at, text: until, kind: 't', side: 'start' }
}

/** The instant at the edge of a lane: a missed one outside the view, else the next one where the lane is empty. */
export function laneAway(
  { missedAt, nextRun }: WireLane,
  { zone, now: at, from }: View,
  { isEmpty, isClear }: { readonly isEmpty: boolean; readonly isClear: boolean },
): RibbonLane['away'] {
  if (isClear && missedAt !== null && Date.parse(missedAt) < from)
    return { text: `missed ${timeText(Date.parse(missedAt), zone, at)}`, isAhead: false, kind: 't-time' }
  if (!isEmpty || !nextRun) return null
  return { text: `next ${soonText(Date.parse(nextRun), zone, at)}`, isAhead: true, kind: 't' }
}

/** Without the day where the clock alone is clear: the room beside a mark is short. */
function soonText(at: number, zone: string, now: number): string {
  return at - now < 20 * 3_600_000 ? clockText(at, zone) : timeText(at, zone, now)
}
