import type { ComponentChildren, VNode } from 'preact'
import { zoneName } from '../time/zone.ts'
import { clockChanges, clockText, dayStart, wallTime } from '../time/zoned.ts'
import type { LaneCounts, LaneMark, Scale, Span } from './lane.ts'
import { scale } from './lane.ts'
import { LaneTrack } from './lane-track.tsx'
import { px } from './shapes.tsx'
import { ticks } from './ticks.ts'
import { useWidth } from './width.ts'

export interface RibbonLane {
  readonly id: string
  readonly job: string
  readonly name: ComponentChildren
  readonly next: ComponentChildren
  readonly marks: readonly LaneMark[]
  readonly counts: LaneCounts | null
  readonly pauses: readonly { readonly from: number; readonly to: number | null }[]
  /** A word beside a mark. */
  readonly note: {
    readonly at: number
    readonly text: string
    readonly kind: 't' | 't-time' | 't-fault'
    readonly side: 'start' | 'end'
  } | null
  /** Shown where nothing is in view. */
  readonly away: { readonly text: string; readonly isAhead: boolean; readonly kind: 't' | 't-time' } | null
  /** Left out on a narrow screen. */
  readonly isQuiet: boolean
}

interface RibbonProps {
  readonly from: number
  readonly to: number
  readonly now: number
  readonly zone: string
  readonly head: ComponentChildren
  readonly lanes: readonly RibbonLane[]
  readonly outages: readonly Span[]
  readonly isTall?: boolean
}

const laneHeight = 28
const tallHeight = 44
const pillWidth = 74
/** A note keeps clear of its mark, and its ground as well. */
const besidePx = 14

/** Past and future of many jobs on one axis, with an accent line for now. */
export function Ribbon({ from, to, now, zone, head, lanes, outages, isTall = false }: RibbonProps): VNode {
  const { ref, width } = useWidth<HTMLDivElement>()
  const view = scale(from, to, Math.max(1, width))
  return (
    <div class={`ribbon ${isTall ? 'tall' : ''}`}>
      <div class="axis">
        <span>{head}</span>
        <div class="track" ref={ref}>
          {width > 0 && <Axis view={view} now={now} zone={zone} outages={outages} />}
        </div>
        <span>next</span>
      </div>
      {lanes.map((lane) => (
        <div class={`lane ${lane.isQuiet ? 'quiet' : ''}`} key={lane.id}>
          <div class="nm">{lane.name}</div>
          <div class="track">
            {width > 0 && (
              <>
                <LaneTrack
                  job={lane.job}
                  view={view}
                  now={now}
                  height={isTall ? tallHeight : laneHeight}
                  marks={lane.marks}
                  counts={lane.counts}
                  pauses={lane.pauses}
                />
                <LaneNote lane={lane} view={view} now={now} height={isTall ? tallHeight : laneHeight} />
              </>
            )}
          </div>
          <div class="nx">{lane.next}</div>
        </div>
      ))}
      <div class="bottom" />
    </div>
  )
}

function LaneNote({ lane, view, now, height }: { lane: RibbonLane; view: Scale; now: number; height: number }): VNode | null {
  const { note, away } = lane
  if (note) {
    const x = view.x(note.at)
    if (x < 20 || x > view.width - 20) return null
    return (
      <svg class="over" width={view.width} height={height} aria-hidden="true">
        <text
          class={`t ${note.kind} ${note.at > now ? 'on-future' : 'on-past'}`}
          x={px(x + (note.side === 'end' ? -besidePx : besidePx))}
          y={height / 2 + 4}
          text-anchor={note.side}
        >
          {note.text}
        </text>
      </svg>
    )
  }
  if (!away) return null
  const x = away.isAhead ? view.width - 4 : 4
  const turn = away.isAhead ? 'l4 4l-4 4' : 'l-4 4l4 4'
  return (
    <svg class="over" width={view.width} height={height} aria-hidden="true">
      <path class={`chevron ${away.kind}`} d={`M${x} ${height / 2 - 4}${turn}`} />
      <text
        class={`t ${away.kind} ${away.isAhead ? 'on-future' : 'on-past'}`}
        x={away.isAhead ? x - 8 : x + 8}
        y={height / 2 + 4}
        text-anchor={away.isAhead ? 'end' : 'start'}
      >
        {away.text}
      </text>
    </svg>
  )
}

/** The grid, the future's ground, spans without a node and the line for now reach over all lanes. */
function Axis({ view, now, zone, outages }: { view: Scale; now: number; zone: string; outages: readonly Span[] }): VNode {
  const { from, to, width, x } = view
  const nowX = x(now)
  const isDays = to - from > 3 * 86_400_000
  const marks = ticks(from, to, width, zone)
  const changes = clockChanges(from, to, zone)
  return (
    <>
      <svg class="under" width={width} height="100%" aria-hidden="true">
        <rect class="future" x={px(Math.max(0, nowX))} y={30} width={px(Math.max(0, width - Math.max(0, nowX)))} height="100%" />
        {marks.map(({ at, isDay }) => (
          <line
            key={at}
            class={`rule ${isDay ? 'rule-day' : ''}`}
            x1={Math.round(x(at)) + 0.5}
            x2={Math.round(x(at)) + 0.5}
            y1={30}
            y2="100%"
          />
        ))}
        {outages.map((outage) => (
          <rect
            key={outage.from}
            class="band"
            x={px(Math.max(0, x(outage.from)))}
            y={26}
            width={px(Math.max(2, x(outage.to) - Math.max(0, x(outage.from))))}
            height="100%"
          />
        ))}
        {changes.map(({ at }) => (
          <line key={at} class="now clock-change" x1={px(x(at))} x2={px(x(at))} y1={30} y2="100%" />
        ))}
        {isDays ? (
          <DayLabels view={view} zone={zone} nowX={nowX} />
        ) : (
          marks.map(({ at, isDay }) => <TickLabel key={at} at={at} isDay={isDay} view={view} zone={zone} nowX={nowX} />)
        )}
        {changes.map(({ at, byMs }) => (
          <ChangeLabel key={at} x={x(at)} width={width} byMs={byMs} />
        ))}
      </svg>
      <svg class="over-all" width={width} height="100%" aria-hidden="true">
        {nowX >= 0 && nowX <= width && (
          <>
            <line class="now" x1={px(nowX)} x2={px(nowX)} y1={24} y2="100%" />
            <rect
              class="now-f"
              x={px(Math.min(width - pillWidth, Math.max(0, nowX - pillWidth / 2)))}
              y={6}
              width={pillWidth}
              height={18}
              rx={4}
            />
            <text
              class="t t-now"
              x={px(Math.min(width - pillWidth / 2, Math.max(pillWidth / 2, nowX)))}
              y={19}
              text-anchor="middle"
            >
              {isDays ? wallTime(now, zone).weekday : 'now'} {clockText(now, zone)}
            </text>
          </>
        )}
      </svg>
      <span class="sr">Times in {zoneName(zone)}</span>
    </>
  )
}

function TickLabel({
  at,
  isDay,
  view,
  zone,
  nowX,
}: {
  at: number
  isDay: boolean
  view: Scale
  zone: string
  nowX: number
}): VNode | null {
  const x = view.x(at)
  if (Math.abs(x - nowX) <= 58 || x <= 14 || x >= view.width - 12) return null
  const { weekday, day } = wallTime(at, zone)
  return (
    <text class={`t ${isDay ? 't-strong' : ''}`} x={px(x)} y={19} text-anchor="middle">
      {isDay ? `${weekday} ${day}` : clockText(at, zone)}
    </text>
  )
}

/** Days are named in their middle. */
function DayLabels({ view, zone, nowX }: { view: Scale; zone: string; nowX: number }): VNode {
  const days: number[] = []
  for (let at = dayStart(view.from, zone); at < view.to; at = dayStart(at + 26 * 3_600_000, zone)) days.push(at)
  const each = Math.max(1, Math.ceil(46 / (view.width / days.length)))
  return (
    <>
      {days.map((at, index) => {
        const x = view.x(at + 12 * 3_600_000)
        const { weekday, day, monthName } = wallTime(at, zone)
        if (index % each !== 0 || Math.abs(x - nowX) < 62 || x < 16 || x > view.width - 16) return null
        return (
          <text key={at} class="t" x={px(x)} y={19} text-anchor="middle">
            {each > 1 ? `${day} ${monthName}` : `${weekday} ${day}`}
          </text>
        )
      })}
    </>
  )
}

function ChangeLabel({ x, width, byMs }: { x: number; width: number; byMs: number }): VNode {
  const isAtEnd = x > width - 90
  return (
    <text class="t" x={px(x + (isAtEnd ? -6 : 6))} y={42} text-anchor={isAtEnd ? 'end' : 'start'}>
      clock {byMs < 0 ? 'back' : 'forward'} {Math.abs(byMs) / 3_600_000} h
    </text>
  )
}
