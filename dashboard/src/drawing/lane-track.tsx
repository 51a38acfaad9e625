import type { VNode } from 'preact'
import { pagePath } from '../data/root.ts'
import {
  binHeights,
  binsOf,
  isCrowded,
  isNotable,
  isPlain,
  type LaneBin,
  type LaneCounts,
  type LaneMark,
  type Scale,
  visibleMarks,
} from './lane.ts'
import { hide, show } from './popover.ts'
import { Cross, px, Ring, Slash, Triangle } from './shapes.tsx'

export interface TrackProps {
  readonly job: string
  readonly view: Scale
  readonly now: number
  readonly height: number
  readonly marks: readonly LaneMark[]
  /** Counts instead of marks, where the server has counted. */
  readonly counts?: LaneCounts | null
  readonly pauses?: readonly { readonly from: number; readonly to: number | null }[]
}

/** The marks of one job: past solid, future hollow. */
export function LaneTrack({ job, view, now, height, marks, counts = null, pauses = [] }: TrackProps): VNode {
  const shown = visibleMarks(marks, view)
  const isDense = counts !== null || isCrowded(shown, view, now)
  const drawn = isDense ? shown.filter(isNotable) : shown
  return (
    <svg width={view.width} height={height} role="group" aria-label={`${job}, ${shown.length} on the timeline`}>
      {pauses.map(({ from, to }) => (
        <Pause key={from} from={Math.max(0, view.x(from))} to={Math.min(view.width, view.x(to ?? view.to))} mid={height / 2} />
      ))}
      {isDense && <Density bins={binsOf(shown, counts, view, now)} view={view} now={now} height={height} job={job} />}
      {drawn.map((mark) => (
        <MarkShape key={`${mark.id}${mark.at}`} job={job} mark={mark} view={view} now={now} mid={height / 2} />
      ))}
    </svg>
  )
}

function Pause({ from, to, mid }: { from: number; to: number; mid: number }): VNode | null {
  if (to <= from) return null
  const box = { x: px(from), y: mid - 9, width: px(to - from), height: 18, rx: 3 }
  return (
    <g>
      <rect {...box} fill="url(#hatch)" />
      <rect {...box} fill="none" class="rule rule-day" />
    </g>
  )
}

interface ShapeProps {
  readonly job: string
  readonly mark: LaneMark
  readonly view: Scale
  readonly now: number
  readonly mid: number
}

function MarkShape({ job, mark, view, now, mid }: ShapeProps): VNode {
  const shape = <Shape mark={mark} view={view} now={now} mid={mid} />
  const on = {
    onMouseEnter: (event: MouseEvent) => show(event.currentTarget as Element, { job, mark }),
    onMouseLeave: hide,
    onFocus: (event: FocusEvent) => show(event.currentTarget as Element, { job, mark }),
    onBlur: hide,
  }
  if (mark.id === null) return <g {...on}>{shape}</g>
  return (
    <a href={pagePath(`occurrences/${mark.id}`)} tabIndex={isPlain(mark) ? -1 : 0} aria-label={`${job}, ${mark.mark}`} {...on}>
      {shape}
    </a>
  )
}

function Shape({ mark: { at, endAt, mark }, view, now, mid }: Omit<ShapeProps, 'job'>): VNode | null {
  const x = view.x(at)
  const nowX = Math.min(view.width, view.x(now))
  const left = Math.max(0, x)
  switch (mark) {
    case 'completed':
      return (
        <rect
          class="m-completed"
          x={px(left)}
          y={mid - 6}
          width={px(Math.max(3, Math.min(view.width, view.x(endAt ?? at)) - left))}
          height={12}
          rx={1.5}
        />
      )
    case 'pending':
      return <rect class="m-pending" x={px(x - 2)} y={mid - 5.4} width={4.4} height={10.8} rx={1.5} />
    case 'failed':
    case 'dead':
      return <Cross x={x + 1} y={mid} />
    case 'skipped':
      return <Slash x={x} y={mid} />
    case 'canceled':
      return <rect class="k-skipped" x={px(x - 3.5)} y={mid - 3.5} width={7} height={7} rx={1.5} />
    case 'missed':
      return <Triangle x={x} y={mid} kind="k-missed" size={5.4} />
    case 'waiting':
      return (
        <g>
          <circle class="card-fill" cx={px(x)} cy={mid} r={6.6} />
          <Ring x={x} y={mid} kind="k-waiting" size={4.8} />
          <circle class="k-dotfill" cx={px(x)} cy={mid} r={1.7} />
        </g>
      )
    case 'retrying':
      return (
        <g>
          <Cross x={x} y={mid} />
          <path class="retry-line" d={`M${px(x + 6)} ${mid}H${px(Math.max(x + 10, nowX - 6))}`} />
          <rect class="m-retry" x={px(Math.max(x + 11, nowX - 5))} y={mid - 5.4} width={4.4} height={10.8} rx={1.5} />
        </g>
      )
    case 'running': {
      const width = Math.max(5, nowX - left)
      return (
        <g>
          <rect class="m-running" x={px(left)} y={mid - 6} width={px(width)} height={12} rx={1.5} />
          {width > 14 && (
            <path class="moving" d={`M${px(left + width - 9)} ${mid - 6}v12M${px(left + width - 5)} ${mid - 6}v12`} />
          )}
        </g>
      )
    }
    case 'late': {
      const box = { x: px(left), y: mid - 6, width: px(Math.max(2, nowX - left)), height: 12, rx: 1.5 }
      return (
        <g>
          <rect {...box} class="m-late" />
          <rect {...box} fill="url(#hatch-late)" />
          <Triangle x={left} y={mid} kind="k-late" size={6} />
        </g>
      )
    }
    default:
      return null
  }
}

/** Successes rise from the floor, failures hang from the ceiling: legible without colour. */
function Density({
  bins,
  view,
  now,
  height,
  job,
}: {
  bins: readonly LaneBin[]
  view: Scale
  now: number
  height: number
  job: string
}): VNode {
  const heights = binHeights(bins)
  const isFailing = bins.some(({ failed }) => failed > 0)
  const room = isFailing ? height - 17 : height - 11
  const floor = height - 5
  return (
    <g>
      {bins.map((bin, at) => {
        const x = view.x(bin.from)
        const width = view.x(bin.to) - x
        const tall = heights[at]!
        const done = bin.done > 0 ? Math.max(2.5, tall.done * room) : 0
        const coming = bin.coming > 0 ? Math.max(2.5, tall.coming * room) : 0
        return (
          <g key={bin.from} onMouseEnter={(event) => show(event.currentTarget, { job, bin, now })} onMouseLeave={hide}>
            <rect class="hit" x={px(x)} y={0} width={px(Math.max(1, width))} height={height} />
            {done > 0 && (
              <rect
                class="m-completed"
                x={px(x + 0.5)}
                y={px(floor - done)}
                width={px(Math.max(1, width - 1.2))}
                height={px(done)}
                rx={1}
              />
            )}
            {coming > 0 && (
              <rect
                class="m-pending"
                x={px(x + 0.6)}
                y={px(floor - coming)}
                width={px(Math.max(2, width - 2.2))}
                height={px(coming)}
                rx={1.2}
              />
            )}
            {bin.failed > 0 && (
              <rect
                class="m-failed"
                x={px(x + 0.5)}
                y={2}
                width={px(Math.max(1.5, width - 1.2))}
                height={px(4 + tall.failed * 5)}
                rx={1}
              />
            )}
          </g>
        )
      })}
    </g>
  )
}
