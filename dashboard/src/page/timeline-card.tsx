import { useComputed, useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useLocation } from 'preact-iso'
import type { WireLane, WireTimeline } from '../../../src/http/wire.ts'
import { api, type JobRef } from '../data/api.ts'
import { counted } from '../data/count.ts'
import { jobShape, mainMark, occurrenceMark } from '../data/marks.ts'
import { useQuery } from '../data/query.ts'
import { pagePath } from '../data/root.ts'
import { tenant } from '../data/session.ts'
import type { LaneBin, LaneMark } from '../drawing/lane.ts'
import { Legend } from '../drawing/legend.tsx'
import { Ribbon, type RibbonLane } from '../drawing/ribbon.tsx'
import { Button, Segments } from '../part/button.tsx'
import { Glyph } from '../part/glyph.tsx'
import { Icon } from '../part/icon.tsx'
import { markWord } from '../part/mark.ts'
import { reasonText } from '../part/message.tsx'
import { Failure } from '../part/screen.tsx'
import { Ago } from '../part/time.tsx'
import { useKeys } from '../shell/keys.ts'
import { now, zoneOf } from '../time/zone.ts'
import { clockText } from '../time/zoned.ts'
import { laneAway, laneNote, type View } from './lane-words.ts'

const minute = 60_000
const spanMs = {
  '15m': 15 * minute,
  '1h': 60 * minute,
  '6h': 360 * minute,
  '24h': 1440 * minute,
  '7d': 7 * 1440 * minute,
  '30d': 30 * 1440 * minute,
}
export type SpanName = keyof typeof spanMs
const spanText: Readonly<Record<SpanName, string>> = {
  '15m': '15 m',
  '1h': '1 h',
  '6h': '6 h',
  '24h': '24 h',
  '7d': '7 d',
  '30d': '30 d',
}
/** The place of now on the axis. */
const nowShare = 0.69
const shownJobs = 30
/** The part of a lane that a word at its start takes. */
const wordShare = 0.4

interface TimelineProps {
  readonly spans: readonly SpanName[]
  readonly fallback: SpanName
  /** One job instead of all. */
  readonly job?: Partial<Pick<JobRef, 'tenant'>> & Pick<JobRef, 'name'> & { readonly timezone: string | null }
}

/** The signature of the dashboard: past solid, future hollow, one lane for each job. Zoom and place are kept in the address. */
export function TimelineCard({ spans, fallback, job }: TimelineProps): VNode {
  const { query, path, route } = useLocation()
  const narrow = innerWidth <= 960 && fallback === '24h' ? '6h' : fallback
  const span = spans.find((one) => one === query.zoom) ?? narrow
  const moved = Number(query.shift ?? 0) || 0
  const width = spanMs[span]
  const set = (zoom: SpanName, shift: number) => {
    const rest = new URLSearchParams(Object.entries(query).filter(([name]) => name !== 'zoom' && name !== 'shift'))
    if (zoom !== narrow) rest.set('zoom', zoom)
    if (shift !== 0) rest.set('shift', String(shift))
    route(`${path}${rest.size > 0 ? `?${rest}` : ''}`, true)
  }
  const pan = (by: number) => set(span, Math.round((moved + by) * 100) / 100)
  const zoom = (by: number) => {
    const next = spans[spans.indexOf(span) + by]
    if (next) set(next, 0)
  }
  useKeys({
    '[': () => pan(-0.25),
    ']': () => pan(0.25),
    '-': () => zoom(1),
    '+': () => zoom(-1),
    '=': () => zoom(-1),
    '.': () => set(span, 0),
  })
  // The view moves in steps of about a pixel: nothing is drawn again in between, and one read serves for a while.
  const step = Math.max(1000, width / 1000)
  const tick = useComputed(() => Math.floor(now.value / step) * step).value
  const anchor = tick + moved * width
  const from = anchor - nowShare * width
  const to = from + width
  const timeline = useQuery({
    key: ['timeline', tenant.value, job?.tenant, job?.name, span, moved, Math.floor(anchor / Math.max(step, 30_000))],
    read: (signal) =>
      api.timeline(
        {
          from: new Date(from - width * 0.02).toISOString(),
          to: new Date(to + width * 0.02).toISOString(),
          ...(job
            ? { job: job.name, ...(job.tenant && { tenant: job.tenant }) }
            : { jobs: shownJobs, ...(tenant.value && { tenant: tenant.value }) }),
        },
        signal,
      ),
    keepsLast: true,
  })
  const zone = zoneOf(job?.timezone)
  const showsQuiet = useSignal(false)
  const lanes = (timeline.data?.lanes ?? []).map((lane) =>
    ribbonLane(lane, timeline.data!, { from, to, zone, now: tick, isAlone: Boolean(job) }),
  )
  const quiet = lanes.filter(({ isQuiet }) => isQuiet).length
  return (
    <section class="card" aria-label="Timeline">
      <header>
        <h2>Timeline</h2>
        <Legend />
        <div class="end">
          <span class="only-desk row gap-0">
            <Button kind="ghost" isSmall icon="left" label="Earlier" onClick={() => pan(-0.25)} />
            <Button kind="ghost" isSmall onClick={() => set(span, 0)}>
              Now
            </Button>
            <Button kind="ghost" isSmall icon="chev" label="Later" onClick={() => pan(0.25)} />
          </span>
          <Segments
            label="Span"
            value={span}
            values={spans.map((one) => [one, spanText[one]] as const)}
            onChange={(next) => set(next, 0)}
          />
        </div>
      </header>
      {timeline.error && !timeline.data && <Failure error={timeline.error} onRetry={() => void timeline.refetch()} />}
      {timeline.data ? (
        <Ribbon
          from={from}
          to={to}
          now={tick}
          zone={zone}
          head={job ? zone : `${counted(timeline.data.lanes.length + timeline.data.more, 'job')}, attention first`}
          lanes={showsQuiet.value ? lanes.map((lane) => ({ ...lane, isQuiet: false })) : lanes}
          outages={timeline.data.outages.map((outage) => ({ from: Date.parse(outage.from), to: Date.parse(outage.to) }))}
          isTall={Boolean(job)}
        />
      ) : (
        <div class="ribbon-room" />
      )}
      {quiet > 0 && (
        <p class="more-lanes only-phone">
          <Button
            kind="ghost"
            onClick={() => {
              showsQuiet.value = !showsQuiet.value
            }}
          >
            {showsQuiet.value ? 'Hide quiet jobs' : `Show ${counted(quiet, 'quiet job')}`}
          </Button>
        </p>
      )}
      {!job && timeline.data && timeline.data.more > 0 && (
        <p class="more-lanes">
          <a class="link hint" href={pagePath('jobs')}>
            {counted(timeline.data.more, 'more job')}
          </a>
        </p>
      )}
    </section>
  )
}

function ribbonLane(lane: WireLane, timeline: WireTimeline, view: View): RibbonLane {
  const marks = laneMarks(lane)
  const main = mainMark(lane.marks)
  const isSeen = (from: number, to: number) => marks.some(({ at, endAt }) => (endAt ?? at) >= from && at <= to)
  const isCounted = lane.bins?.some(({ completed, failed }) => completed + failed > 0) ?? false
  return {
    id: `${lane.tenant}/${lane.job}`,
    job: lane.job,
    name: <LaneName lane={lane} isAlone={view.isAlone} />,
    next: <LaneNext lane={lane} zone={view.zone} />,
    marks,
    counts: lane.bins || lane.comingBins ? { stepMs: timeline.stepMs, bins: laneBins(lane, timeline.stepMs) } : null,
    pauses: lane.pauses.map(({ from, until }) => ({ from: Date.parse(from), to: until === null ? null : Date.parse(until) })),
    note: laneNote(lane, marks, view),
    away: laneAway(lane, view, {
      isEmpty: !isCounted && !isSeen(view.from, view.to),
      isClear: !isCounted && !isSeen(view.from, view.from + (view.to - view.from) * wordShare),
    }),
    isQuiet:
      !view.isAlone &&
      (main === 'on-time' || main === 'paused' || main === 'orphaned' || main === 'disabled') &&
      !lane.overridden,
  }
}

function laneMarks(lane: WireLane): LaneMark[] {
  const past = [...(lane.past ?? []), ...lane.open].map((mark) => ({
    id: mark.id,
    at: Date.parse(mark.startedAt ?? mark.at),
    endAt: mark.endedAt === null ? (mark.state === 'running' || mark.late ? now.peek() : null) : Date.parse(mark.endedAt),
    mark: occurrenceMark(mark),
    text: mark.note && reasonText(mark.note),
  }))
  const coming = (lane.coming ?? []).map(({ at, id }) => ({ id, at: Date.parse(at), endAt: null, mark: 'pending' as const }))
  return [...past, ...coming]
}

function laneBins({ bins, comingBins }: WireLane, stepMs: number): LaneBin[] {
  const none = { done: 0, failed: 0, coming: 0 }
  const span = (at: string) => ({ from: Date.parse(at), to: Date.parse(at) + stepMs })
  const before = (bins ?? []).map((bin) => ({ ...none, ...span(bin.at), done: bin.completed, failed: bin.failed }))
  const after = (comingBins ?? []).map((bin) => ({ ...none, ...span(bin.at), coming: bin.count }))
  return [...before, ...after]
}

function LaneName({ lane, isAlone }: { lane: WireLane; isAlone: boolean }): VNode {
  const mark = jobShape(mainMark(lane.marks))
  return (
    <>
      <Glyph mark={mark} label={markWord(mark)} />
      {isAlone ? (
        <span class="ell">{lane.job}</span>
      ) : (
        <a class="ell" href={pagePath(`jobs/${encodeURIComponent(lane.tenant)}/${encodeURIComponent(lane.job)}`)}>
          {lane.job}
        </a>
      )}
      {lane.tenant !== 'default' && <span class="tag">{lane.tenant}</span>}
      {lane.overridden && (
        <span class="tag" title="Changed by hand">
          <Icon name="edit" size={10} />
          hand
        </span>
      )}
    </>
  )
}

function LaneNext({ lane, zone }: { lane: WireLane; zone: string }): VNode | null {
  if (lane.nextRun) {
    const at = Date.parse(lane.nextRun)
    return (
      <>
        <b>{clockText(at, zone)}</b> <Ago at={at} isRough isAhead />
      </>
    )
  }
  if (lane.pending > 0)
    return (
      <>
        <b>{lane.pending.toLocaleString('en-US')}</b> to come
      </>
    )
  return <span>—</span>
}
