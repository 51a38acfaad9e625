import { useComputed, useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import type { WireOccurrence } from '../../../src/http/wire.ts'
import { counted } from '../data/count.ts'
import { into } from '../data/into.ts'
import { occurrenceMark } from '../data/marks.ts'
import { Segments as Choice } from '../part/button.tsx'
import { Glyph } from '../part/glyph.tsx'
import type { Mark } from '../part/mark.ts'
import { duration } from '../time/duration.ts'
import { now, pageZone } from '../time/zone.ts'
import { clockText } from '../time/zoned.ts'
import { Sign } from './legend.tsx'
import { px } from './shapes.tsx'
import { placeOf, type Segment, segments, taskRows, turnBars, type WaterfallBar } from './waterfall-layout.ts'
import { useWidth } from './width.ts'

export const taskMarks: Readonly<Record<string, Mark>> = {
  pending: 'pending',
  running: 'running',
  succeeded: 'completed',
  failed: 'failed',
  timeout: 'failed',
  canceled: 'canceled',
}

/** Turns first, tasks below: when it waited, ran, was parked and ended. */
export function Waterfall({ occurrence }: { occurrence: WireOccurrence }): VNode | null {
  const mode = useSignal<'folded' | 'scale'>('folded')
  const { ref, width } = useWidth<HTMLDivElement>()
  const isOver = occurrence.endedAt !== null
  const at = useComputed(() => (isOver ? Date.parse(occurrence.endedAt!) : now.value)).value
  const turns = turnBars(occurrence, at)
  if (turns.length === 0) return null
  const rows = taskRows(occurrence, at)
  const isNarrow = width < 420
  const parts = segments(turns, Math.max(1, width - 8), mode.value === 'folded', isNarrow ? 37 : 74)
  const first = turns[0]!.from
  const end = turns.at(-1)!.to
  const active = turns.reduce((sum, { kind, from, to }) => (kind === 'wait' || kind === 'park' ? sum : sum + to - from), 0)
  const count = turns.filter(({ kind }) => kind === 'turn' || kind === 'turn-lost' || kind === 'now').length
  return (
    <section class="card" aria-label="Waterfall">
      <header>
        <h2>Waterfall</h2>
        <span class="dim only-desk">
          {duration(end - first)} from due to {isOver ? 'end' : 'now'}: {duration(active)} in turns,{' '}
          {duration(Math.max(0, end - first - active))} waiting
        </span>
        <div class="end">
          <Choice
            label="Waits"
            value={mode.value}
            values={[
              ['folded', 'Waits folded'],
              ['scale', 'To scale'],
            ]}
            onChange={into(mode)}
          />
        </div>
      </header>
      <div class="wf">
        <div class="ax">
          <div class="l" />
          <div class="c" ref={ref}>
            {width > 0 && <Axis parts={parts} first={first} isNarrow={isNarrow} />}
          </div>
          <div class="r">took</div>
        </div>
        <div>
          <div class="l">
            <Glyph mark={occurrenceMark(occurrence)} />
            <span class="ell">{counted(count, 'turn')}</span>
          </div>
          <div class="c">
            {width > 0 && <Bars bars={turns} parts={parts} wait={waitWord(occurrence)} label={`${counted(count, 'turn')}`} />}
          </div>
          <div class="r">{duration(end - first)}</div>
        </div>
        {rows.map((row, index) => (
          <div class="in1" key={row.name}>
            <div class="l">
              <Glyph mark={taskMarks[occurrence.tasks[index]!.state] ?? 'pending'} label={occurrence.tasks[index]!.state} />
              <span class="ell">{row.name}</span>
            </div>
            <div class="c">
              {width > 0 && (
                <Bars bars={row.bars} parts={parts} wait="" label={`${row.name}, ${counted(row.bars.length, 'attempt')}`} />
              )}
            </div>
            <div class="r">{row.tookMs === null ? occurrence.tasks[index]!.state : duration(row.tookMs)}</div>
          </div>
        ))}
      </div>
      <div class="legend card-foot" aria-hidden="true">
        <Sign text="waiting to start">
          <rect class="b-wait" x="0.7" y="1" width="12.6" height="10" rx="2" />
        </Sign>
        <Sign text="turn on a node">
          <rect class="b-turn" x="0.7" y="1" width="12.6" height="10" rx="2" />
        </Sign>
        <Sign text="parked, no slot taken">
          <path class="b-park" d="M1 6h12" />
        </Sign>
        <Sign text="succeeded">
          <rect class="b-ok" y="0.5" width="14" height="11" rx="2" />
        </Sign>
        <Sign text="failed">
          <rect class="b-bad" y="0.5" width="14" height="11" rx="2" />
        </Sign>
        <Sign text="lost with its node">
          <rect class="b-lost" x="0.7" y="1" width="12.6" height="10" rx="2" />
        </Sign>
      </div>
    </section>
  )
}

function waitWord({ wait }: WireOccurrence): string {
  return wait?.reason ?? ''
}

function Axis({ parts, first, isNarrow }: { parts: readonly Segment[]; first: number; isNarrow: boolean }): VNode {
  const zone = pageZone.value
  let free = -100
  const ticks = parts.filter(({ isFolded }, at) => at === 0 || !isFolded)
  const last = parts.at(-1)!
  return (
    <>
      <svg class="under" width="100%" height="2000" aria-hidden="true">
        {parts
          .filter(({ isFolded }) => isFolded)
          .map((part) => (
            <rect key={part.from} class="fold" x={px(part.x)} y={30} width={px(part.width)} height={2000} />
          ))}
      </svg>
      <svg width="100%" height={30} aria-hidden="true">
        {ticks.map((part) => {
          if (part.x - free < (isNarrow ? 58 : 66)) return null
          free = part.x
          const isAtEnd = part.x > last.x + last.width - 52
          return (
            <text
              key={part.from}
              class="t"
              x={px(isAtEnd ? last.x + last.width : part.x + 1)}
              y={19}
              text-anchor={isAtEnd ? 'end' : 'start'}
            >
              {part.from === first ? clockText(first, zone, true) : `+${duration(part.from - first)}`}
            </text>
          )
        })}
        {last.x + last.width - free > 130 && (
          <text class="t" x={px(last.x + last.width)} y={19} text-anchor="end">
            +{duration(last.to - first)}
          </text>
        )}
      </svg>
    </>
  )
}

const classes = {
  wait: 'b-wait',
  turn: 'b-turn',
  'turn-lost': 'b-lost',
  ok: 'b-ok',
  bad: 'b-bad',
  lost: 'b-lost',
  can: 'b-can',
  now: 'm-running',
  park: 'b-park',
} as const
const mid = 17

function Bars({
  bars,
  parts,
  wait,
  label,
}: {
  bars: readonly WaterfallBar[]
  parts: readonly Segment[]
  wait: string
  label: string
}): VNode {
  return (
    <svg width="100%" height={34} role="img" aria-label={label}>
      {bars.map((bar) => {
        const x = placeOf(bar.from, parts)
        const width = Math.max(4, placeOf(bar.to, parts) - x)
        const text = barText(bar, width, wait)
        return (
          <g key={`${bar.kind}${bar.from}`}>
            {bar.kind === 'park' ? (
              <path class="b-park" d={`M${px(x + 4)} ${mid}H${px(Math.max(x + 5, x + width - 4))}`} />
            ) : (
              <rect class={classes[bar.kind]} x={px(x)} y={mid - 8} width={px(width)} height={16} rx={3} />
            )}
            {text && (
              <text class={textClass(bar)} x={px(x + width / 2)} y={mid + 4} text-anchor="middle">
                {text}
              </text>
            )}
          </g>
        )
      })}
    </svg>
  )
}

function barText({ kind, from, to, text }: WaterfallBar, width: number, wait: string): string {
  if (kind === 'park') return width > 66 ? `${duration(to - from)} backoff` : width > 40 ? duration(to - from) : ''
  if (kind === 'wait') return width > 34 ? wait || (width > 60 ? duration(to - from) : '') : ''
  if (kind === 'turn-lost') return width > 70 ? `turn ${text} lost` : width > 12 ? text : ''
  if (kind === 'turn') return width > 64 ? `turn ${text}` : width > 12 ? text : ''
  if (kind === 'lost') return width > 50 ? `${text} lost` : ''
  return width > 12 ? text : ''
}

function textClass({ kind }: WaterfallBar): string {
  if (kind === 'bad' || kind === 'ok' || kind === 'now') return 'tw'
  if (kind === 'wait') return 't t-active'
  if (kind === 'turn-lost' || kind === 'lost') return 't t-fault'
  return kind === 'park' ? 't on-fold' : 't t-plain'
}
