import { type Figure, spreadOf, sumFigures } from '../../model/figure.ts'
import type { FigureRow } from '../../store/store.ts'
import type { WireFigures } from '../wire.ts'
import type { Board } from './board.ts'
import { iso } from './line.ts'

const minuteMs = 60_000
const mostPoints = 1000
const steps = [1, 5, 15, 60, 240, 1440].map((minutes) => minutes * minuteMs)

export interface Span {
  readonly tenant?: string | undefined
  readonly job?: string | undefined
  readonly from: number
  readonly to: number
}

/** The finest step that gives few enough points: about 120 unless the request sets a step. */
function stepOf({ from, to }: Span, asked: number | undefined): number {
  const least = (to - from) / (asked === undefined ? 120 : mostPoints)
  const wanted = Math.max(asked ?? 0, least)
  return steps.find((step) => step >= wanted) ?? Math.ceil(wanted / (1440 * minuteMs)) * 1440 * minuteMs
}

/** The rows of a span in steps. A row that is wider than a step counts where it begins. */
export function inSteps(rows: readonly FigureRow[], { from, to }: Span, stepMs: number): Map<number, Figure> {
  const groups = Map.groupBy(rows, ({ at }) => Math.floor(Math.max(at, from) / stepMs) * stepMs)
  const first = Math.floor(from / stepMs) * stepMs
  const found = new Map<number, Figure>()
  for (let at = first; at < to; at += stepMs) found.set(at, sumFigures((groups.get(at) ?? []).map(({ figure }) => figure)))
  return found
}

export async function figures(board: Board, span: Span, asked: number | undefined): Promise<WireFigures> {
  const { tenant, job, from, to } = span
  const stepMs = stepOf(span, asked)
  const rows = await board.env.store.figures({
    ...(tenant !== undefined && { tenant }),
    ...(job !== undefined && { job }),
    ...{ from, to, limit: 50_000 },
  })
  const points = inSteps(rows, span, stepMs)
  return {
    now: iso(board.now),
    from: iso(from),
    to: iso(to),
    stepMs,
    points: [...points].map(([at, figure]) => ({
      at: iso(at),
      completed: figure.completed ?? 0,
      failed: figure.failed ?? 0,
      canceled: figure.canceled ?? 0,
      skipped: figure.skipped ?? 0,
      missed: figure.missed ?? 0,
      failedAttempts: figure.failedAttempts ?? 0,
      lateness: spreadOf(figure.lateness),
      wait: spreadOf(figure.wait),
      run: spreadOf(figure.run),
    })),
    gauges: [...points].flatMap(([at, { gauge }]) => {
      if (!gauge) return []
      const { oldestDueMs, ...states } = gauge
      return [{ at: iso(at), ...states, oldestDueMs: oldestDueMs > 0 ? oldestDueMs : null }]
    }),
  }
}
