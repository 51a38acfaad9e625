// Changes of counts in one commit: one inserted row for a series, however many of its occurrences moved.
import { isEnd, type OccurrenceState, occurrenceStates, stateAfter } from '../../../model/lifecycle.ts'
import type { TurnRecord } from '../../../model/occurrence.ts'

interface Delta {
  readonly states: Record<OccurrenceState, number>
  lastRunAt: number | null
  succeeded: boolean
  /** Since the last success, if there was one. */
  failures: number
}

type DeltaRow = readonly (number | boolean | null)[]

export class CountDeltas {
  readonly #bySeries = new Map<number, Delta>()

  /** Counts an occurrence that goes from one state to another; null stands for not being there. */
  move(series: number, from: OccurrenceState | null, to: OccurrenceState | null, count = 1): void {
    if (from === to) return
    const { states } = this.#of(series)
    if (from) states[from] -= count
    if (to) states[to] += count
  }

  end(series: number, { end, startedAt }: Pick<TurnRecord, 'end' | 'startedAt'>): void {
    const state = stateAfter[end]
    const isOver = isEnd(state) || state === 'dead'
    if (isOver && startedAt !== null) {
      const delta = this.#of(series)
      delta.lastRunAt = Math.max(delta.lastRunAt ?? startedAt, startedAt)
    }
    if (end === 'completed') Object.assign(this.#of(series), { succeeded: true, failures: 0 })
    else if (end === 'failed' || end === 'dead') this.#of(series).failures += 1
  }

  /** Rows in the order of `deltaColumns`. */
  rows(): DeltaRow[] {
    return [...this.#bySeries].map(([series, { states, lastRunAt, succeeded, failures }]) => [
      series,
      ...occurrenceStates.map((state) => states[state]),
      lastRunAt,
      succeeded,
      failures,
    ])
  }

  #of(series: number): Delta {
    const known = this.#bySeries.get(series)
    if (known) return known
    const states = Object.fromEntries(occurrenceStates.map((state) => [state, 0])) as Record<OccurrenceState, number>
    const delta = { states, lastRunAt: null, succeeded: false, failures: 0 }
    this.#bySeries.set(series, delta)
    return delta
  }
}

export const deltaColumns: Readonly<Record<string, string>> = {
  series: 'int',
  ...Object.fromEntries(occurrenceStates.map((state) => [state, 'int'])),
  last_run_at: 'float8',
  succeeded: 'boolean',
  failures: 'int',
}
