// Places of the bars of an occurrence on a time axis whose long waits may be folded.
import type { WireOccurrence } from '../../../src/http/wire.ts'

export type BarKind = 'wait' | 'turn' | 'turn-lost' | 'park' | 'ok' | 'bad' | 'lost' | 'can' | 'now'

export interface WaterfallBar {
  readonly kind: BarKind
  readonly from: number
  readonly to: number
  readonly text: string
}

export interface WaterfallRow {
  readonly name: string
  readonly bars: readonly WaterfallBar[]
  readonly tookMs: number | null
}

export interface Segment {
  readonly from: number
  readonly to: number
  readonly x: number
  readonly width: number
  readonly isFolded: boolean
}

/** Waits longer than this are folded. */
const foldMs = 4000
const foldPx = 74

export function turnBars(occurrence: WireOccurrence, now: number): WaterfallBar[] {
  const bars: WaterfallBar[] = []
  let at = Date.parse(occurrence.scheduledAt)
  for (const turn of occurrence.turns) {
    const from = turn.startedAt === null ? Date.parse(turn.endedAt) : Date.parse(turn.startedAt)
    if (turn.startedAt === null && turn.end !== 'lost') continue
    if (from > at) bars.push({ kind: bars.length === 0 ? 'wait' : 'park', from: at, to: from, text: '' })
    at = Math.max(from, Date.parse(turn.endedAt))
    bars.push({ kind: turn.end === 'lost' || turn.end === 'stale' ? 'turn-lost' : 'turn', from, to: at, text: String(turn.turn) })
  }
  if (occurrence.state === 'running') {
    const started = occurrence.turns.length === 0 && occurrence.startedAt ? Date.parse(occurrence.startedAt) : at
    if (started > at) bars.push({ kind: bars.length === 0 ? 'wait' : 'park', from: at, to: started, text: '' })
    bars.push({ kind: 'now', from: started, to: Math.max(started + 1, now), text: String(occurrence.turns.length + 1) })
  } else if (occurrence.endedAt === null) {
    const until = Date.parse(occurrence.dueAt)
    const end = occurrence.state === 'retrying' ? until : Math.max(now, at)
    if (end > at) bars.push({ kind: bars.length === 0 ? 'wait' : 'park', from: at, to: end, text: '' })
  }
  return bars
}

const attemptKinds: Readonly<Record<string, BarKind>> = {
  succeeded: 'ok',
  failed: 'bad',
  timeout: 'bad',
  canceled: 'can',
  lost: 'lost',
  stale: 'lost',
  running: 'now',
}

export function taskRows(occurrence: WireOccurrence, now: number): WaterfallRow[] {
  const current = turnBars(occurrence, now).at(-1)
  return occurrence.tasks.map((task) => {
    const bars = task.attempts.flatMap(({ startedAt, endedAt, state, n }) =>
      startedAt === null
        ? []
        : [
            {
              kind: attemptKinds[state] ?? ('can' as const),
              from: Date.parse(startedAt),
              to: endedAt === null ? now : Date.parse(endedAt),
              text: String(n),
            },
          ],
    )
    if (task.state === 'running' && current?.kind === 'now' && bars.at(-1)?.kind !== 'now')
      bars.push({ kind: 'now', from: readyAt(task, occurrence, current.from), to: now, text: String(bars.length + 1) })
    const took = bars.reduce((sum, { from, to, kind }) => (kind === 'lost' ? sum : sum + to - from), 0)
    return { name: task.name, bars, tookMs: bars.length > 0 ? took : null }
  })
}

/** An attempt is on record once it has ended: one that runs began when the tasks before it were over. */
function readyAt({ name, after }: WireOccurrence['tasks'][number], { tasks }: WireOccurrence, turnFrom: number): number {
  const before =
    after ??
    tasks
      .slice(
        0,
        tasks.findIndex((task) => task.name === name),
      )
      .map((task) => task.name)
  const ends = tasks.flatMap((task) => (before.includes(task.name) && task.endedAt ? [Date.parse(task.endedAt)] : []))
  return Math.max(turnFrom, ...ends)
}

/** Parts the axis: what runs is drawn to scale, long waits get a fixed width. */
export function segments(bars: readonly WaterfallBar[], width: number, isFolded: boolean, foldWidth = foldPx): Segment[] {
  const [first] = bars
  const last = bars.at(-1)
  if (!first || !last) return []
  const parts = bars.map(({ kind, from, to }) => ({
    from,
    to,
    isFolded: isFolded && (kind === 'park' || kind === 'wait' || kind === 'turn-lost') && to - from > foldMs,
  }))
  const folded = parts.filter((part) => part.isFolded).length
  const each = Math.min(foldWidth, folded > 0 ? (width * 0.7) / folded : 0)
  const free = parts.reduce((sum, part) => (part.isFolded ? sum : sum + part.to - part.from), 0)
  const scale = (width - folded * each) / Math.max(1, free)
  let x = 0
  return parts.map((part) => {
    const segment = { ...part, x, width: part.isFolded ? each : (part.to - part.from) * scale }
    x += segment.width
    return segment
  })
}

/** The place of an instant on a parted axis. */
export function placeOf(at: number, parts: readonly Segment[]): number {
  const part = parts.find(({ to }) => at <= to) ?? parts.at(-1)
  if (!part) return 0
  const share = part.to === part.from ? 0 : (Math.min(Math.max(at, part.from), part.to) - part.from) / (part.to - part.from)
  return part.x + share * part.width
}
