import { figureWidth } from '../../model/figure-level.ts'
import type { JobRecord } from '../../model/job.ts'
import type { OccurrenceSummary } from '../../model/occurrence.ts'
import { covers } from '../../model/pause.ts'
import type { StateCounts } from '../../store/store.ts'
import type { WireJobMark, WireLane, WireMark, WireTimeline } from '../wire.ts'
import { type Board, type Facts, factKey, workOf } from './board.ts'
import { comingInstants } from './coming.ts'
import { inSteps, type Span } from './figures.ts'
import { marksOf, workMarks } from './job-line.ts'
import { errorLine, isLate, iso, isoOrNull } from './line.ts'

const mostMarks = 200
const mostInstants = 2000
const lanesShown = 20
const longestOutageMs = 7 * 86_400_000
const downtime = 'downtime'
const binsPerSpan = 240
const none = { items: [], cursor: null } as const
const attentionOrder: readonly WireJobMark[] = [
  'failing',
  'late',
  'missed',
  'running',
  'waiting',
  'orphaned',
  'paused',
  'disabled',
]

export async function timeline(board: Board, span: Span, lanes = lanesShown): Promise<WireTimeline> {
  const facts = await board.facts(span.tenant)
  const { jobs } = await board.jobs(span.tenant)
  const asked = span.job === undefined ? jobs : jobs.filter(({ name }) => name === span.job)
  const sorted = asked
    .map((job) => ({ job, rank: attentionRank(marksOf(job, facts)) }))
    .sort((a, b) => a.rank - b.rank || (a.job.nextAt ?? Infinity) - (b.job.nextAt ?? Infinity))
  const shown = sorted.slice(0, lanes).map(({ job }) => job)
  const rowMs = figureWidth(facts.now - span.from)
  const stepMs = Math.max(1, Math.ceil((span.to - span.from) / binsPerSpan / rowMs)) * rowMs
  const drawn = await lanesOf(board, shown, facts, span, stepMs)
  return {
    now: iso(facts.now),
    from: iso(span.from),
    to: iso(span.to),
    stepMs,
    lanes: drawn.toSorted((a, b) => attentionRank(a.marks) - attentionRank(b.marks)),
    more: Math.max(0, asked.length - lanes),
    outages: await outages(board, span),
  }
}

/** When no node ran, as far as instants were missed by it: from the missed instant until a node recorded it. */
async function outages(board: Board, { tenant, from, to }: Span): Promise<WireTimeline['outages']> {
  const scope = tenant === undefined ? {} : { tenant }
  // The newest are those of a span that reaches to the present.
  const past = to > board.now ? {} : { from: from - longestOutageMs, to }
  const [ranges, { items }] = await Promise.all([
    board.env.store.listRanges({ ...scope, limit: mostMarks }),
    board.env.store.list({ ...scope, ...past, states: ['missed'], limit: mostMarks }),
  ])
  const spans = [
    ...ranges.filter(({ reason }) => reason === downtime).map((range) => ({ from: range.from, to: range.recordedAt })),
    ...items.filter(({ reason }) => reason === downtime).map((line) => ({ from: line.scheduledAt, to: line.createdAt })),
  ]
  return joined(spans.filter((span) => span.from < to && span.to > from)).map((span) => ({
    from: iso(span.from),
    to: iso(span.to),
  }))
}

/** Spans that touch as one. */
function joined(spans: readonly { readonly from: number; readonly to: number }[]): { from: number; to: number }[] {
  const found: { from: number; to: number }[] = []
  for (const { from, to } of spans.toSorted((a, b) => a.from - b.from)) {
    const last = found.at(-1)
    if (last && from <= last.to) last.to = Math.max(last.to, to)
    else found.push({ from, to })
  }
  return found
}

function attentionRank(marks: readonly WireJobMark[]): number {
  const at = attentionOrder.findIndex((mark) => marks.includes(mark))
  return at === -1 ? attentionOrder.length : at
}

/** The reads of all lanes are sent at the same moment, since a store can answer them together. */
async function lanesOf(
  board: Board,
  jobs: readonly JobRecord[],
  facts: Facts,
  { from, to }: Span,
  stepMs: number,
): Promise<WireLane[]> {
  const past = { from, to: Math.min(to, facts.now) }
  const known = await Promise.all(
    jobs.map(async (job): Promise<Known> => {
      const own = workOf(job, facts)
      const bins = from < facts.now ? pastBins(board, own, past, stepMs) : []
      const [{ states }, counted] = await Promise.all([board.env.store.counts(own), bins])
      return { states, bins: counted }
    }),
  )
  return Promise.all(jobs.map((job, at) => lane(board, job, facts, { from, to, stepMs, ...(known[at] as Known) })))
}

interface Known {
  readonly states: StateCounts
  readonly bins: Bins
}

async function lane(
  board: Board,
  record: JobRecord,
  facts: Facts,
  { from, to, stepMs, states, bins }: Span & Known & { readonly stepMs: number },
): Promise<WireLane> {
  const { tenant, name, override } = record
  const { store } = board.env
  const own = workOf(record, facts)
  const { now } = facts
  const isIdle = states.pending + states.retrying === 0
  const [past, open, dues, coming, next] = await Promise.all([
    from < now ? pastOf(board, own, { from, to: Math.min(to, now) }, bins) : { items: [], bins: null },
    states.running + states.waiting === 0 ? none : store.list({ ...own, states: ['running', 'waiting'], limit: 20 }),
    to > now && !isIdle ? store.listDue({ ...own, to, limit: mostMarks + 1 }) : [],
    to > now
      ? comingInstants(board, record, { from: Math.max(now, from), to, most: mostInstants, pauses: facts.pauses })
      : { instants: [], isCut: false },
    board.nextRun(record, facts),
  ])
  const late = dues.filter((line) => isLate(line, now))
  const enqueued = dues.filter(({ source, dueAt }) => source !== 'schedule' && dueAt >= now)
  const instants = [
    ...coming.instants.map((at) => ({ at, id: null })),
    ...enqueued.map(({ dueAt, id }) => ({ at: dueAt, id })),
  ].sort((a, b) => a.at - b.at)
  const isFull = instants.length > mostMarks
  const marks = [...marksOf(record, facts), ...workMarks(states)]
  return {
    tenant,
    job: name,
    marks: marks.length === 0 ? ['on-time'] : marks,
    overridden: override !== null,
    nextRun: isoOrNull(next),
    missedAt: isoOrNull(facts.missed.get(factKey(record, facts))?.at),
    pending: states.pending,
    past: past.items?.filter(({ state }) => isOver(state)).map((line) => markOf(line, now)) ?? null,
    bins: past.bins,
    open: [
      ...open.items.map((line) => markOf(line, now)),
      ...late.slice(0, 20).map(({ id, dueAt, state, source }) => ({
        ...{ id, at: iso(dueAt), startedAt: null, endedAt: null, state, late: true, source, note: null },
      })),
    ],
    coming: isFull ? null : instants.map(({ at, id }) => ({ at: iso(at), id })),
    comingBins: isFull ? comingBins(instants, { from: Math.max(now, from), to }, stepMs, coming.isCut) : null,
    pauses: facts.pauses
      .filter((pause) => covers(pause, tenant, name))
      .map((pause) => ({ from: iso(pause.from), until: isoOrNull(pause.to) })),
  }
}

function isOver(state: string): boolean {
  return !['pending', 'waiting', 'running'].includes(state)
}

function markOf(
  { id, scheduledAt, startedAt, endedAt, state, source, error, reason, dueAt }: OccurrenceSummary,
  now: number,
): WireMark {
  return {
    id,
    at: iso(scheduledAt),
    startedAt: isoOrNull(startedAt),
    endedAt: isoOrNull(endedAt),
    state,
    late: isLate({ state, dueAt }, now),
    source,
    note: state === 'completed' ? null : (errorLine(error) ?? reason),
  }
}

type Bins = NonNullable<WireLane['bins']>

/** The past of a lane: its lines, or counts where there are too many. The counts are read first, since so many lines take longer. */
async function pastOf(
  board: Board,
  own: { readonly tenant?: string; readonly job: string },
  span: { readonly from: number; readonly to: number },
  bins: Bins,
): Promise<{ readonly items: readonly OccurrenceSummary[] | null; readonly bins: WireLane['bins'] }> {
  const runs = bins.reduce((sum, one) => sum + one.completed + one.failed + one.missed + one.skipped + one.canceled, 0)
  if (runs > mostMarks) return { items: null, bins }
  const { items, cursor } = await board.env.store.list({ ...own, ...span, limit: mostMarks })
  return cursor === null ? { items, bins: null } : { items: null, bins }
}

async function pastBins(
  board: Board,
  own: { readonly tenant?: string; readonly job: string },
  span: Span,
  stepMs: number,
): Promise<Bins> {
  const rows = await board.env.store.figures({ ...own, byJob: true, from: span.from, to: span.to, limit: 20_000 })
  return [...inSteps(rows, span, stepMs)].flatMap(([at, { completed = 0, failed = 0, missed = 0, skipped = 0, canceled = 0 }]) =>
    completed + failed + missed + skipped + canceled === 0 ? [] : [{ at: iso(at), completed, failed, missed, skipped, canceled }],
  )
}

/** Counts by step. Where instants were too many to list, the rest is filled up at the rate of those that were. */
function comingBins(
  instants: readonly { readonly at: number }[],
  span: Span,
  stepMs: number,
  isCut: boolean,
): WireLane['comingBins'] {
  const counts = new Map<number, number>()
  for (const { at } of instants) {
    const bin = Math.floor(at / stepMs) * stepMs
    counts.set(bin, (counts.get(bin) ?? 0) + 1)
  }
  const [first, last] = [instants[0]?.at ?? span.from, instants.at(-1)?.at ?? span.from]
  const perStep = isCut && last > first ? Math.round((instants.length / (last - first)) * stepMs) : 0
  for (let at = Math.floor(last / stepMs) * stepMs + (isCut ? 0 : stepMs); perStep > 0 && at < span.to; at += stepMs)
    counts.set(at, Math.max(counts.get(at) ?? 0, perStep))
  return [...counts].sort((a, b) => a[0] - b[0]).map(([at, count]) => ({ at: iso(at), count }))
}
