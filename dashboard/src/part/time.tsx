import type { VNode } from 'preact'
import { duration, relative, relativeRough } from '../time/duration.ts'
import { now, zoneOf } from '../time/zone.ts'
import { timeText } from '../time/zoned.ts'

type Instant = string | number

const ms = (at: Instant): number => (typeof at === 'number' ? at : Date.parse(at))

/** The time on the wall of the chosen zone; UTC in its title. */
export function At({ at, zone, seconds = false }: { at: Instant; zone?: string | null | undefined; seconds?: boolean }): VNode {
  const instant = ms(at)
  const iso = new Date(instant).toISOString()
  const shown = zoneOf(zone)
  return (
    <time class="nw" dateTime={iso} title={`${iso.replace('T', ' ').slice(0, 19)} UTC · shown in ${shown}`}>
      {timeText(instant, shown, now.peek(), seconds)}
    </time>
  )
}

/** How far an instant is from now; it ticks. One that lies ahead is not past before the page has read the next one. */
export function Ago({ at, isRough = false, isAhead = false }: { at: Instant; isRough?: boolean; isAhead?: boolean }): VNode {
  const instant = isAhead ? Math.max(ms(at), now.value) : ms(at)
  return <span class="nw">{(isRough ? relativeRough : relative)(instant, now.value)}</span>
}

/** How long something that goes on has lasted. */
export function Since({ at }: { at: Instant }): VNode {
  return <>{duration(Math.floor(Math.max(0, now.value - ms(at)) / 1000) * 1000)}</>
}

/** Two lines: the time, and how far it is from now. */
export function Two({ at, zone, seconds }: { at: Instant; zone?: string | null | undefined; seconds?: boolean }): VNode {
  return (
    <div class="two">
      <At at={at} zone={zone} seconds={seconds ?? false} />
      <small>
        <Ago at={at} />
      </small>
    </div>
  )
}
