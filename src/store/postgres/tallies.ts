// What a commit changes in the counts of each series: one inserted row for a series, however many of its occurrences moved.
import { isEnd, type OccurrenceState, occurrenceStates, stateAfter } from '../../model/lifecycle.ts'
import type { TurnRecord } from '../../model/occurrence.ts'
import { column } from './arrays.ts'
import type { Session } from './database.ts'

interface Tally {
  readonly deltas: Record<OccurrenceState, number>
  lastRunAt: number | null
  succeeded: boolean
  /** Since the last success, if there was one. */
  failures: number
}

export class Tallies {
  readonly #bySeries = new Map<number, Tally>()

  /** Counts occurrences that go from one state to another; null stands for not being there. */
  move(series: number, from: OccurrenceState | null, to: OccurrenceState | null, count = 1): void {
    if (from === to) return
    const { deltas } = this.#of(series)
    if (from) deltas[from] -= count
    if (to) deltas[to] += count
  }

  ended(series: number, { end, startedAt }: TurnRecord): void {
    const tally = this.#of(series)
    const state = stateAfter[end]
    if (startedAt !== null && (isEnd(state) || state === 'dead'))
      tally.lastRunAt = Math.max(tally.lastRunAt ?? startedAt, startedAt)
    if (end === 'completed') {
      tally.succeeded = true
      tally.failures = 0
    } else if (end === 'failed' || end === 'dead') tally.failures += 1
  }

  async write(session: Session): Promise<void> {
    const rows = [...this.#bySeries].filter(([, tally]) => !isEmpty(tally))
    if (rows.length === 0) return
    await session.all(insertTallies, [
      column(rows.map(([series]) => series)),
      ...occurrenceStates.map((state) => column(rows.map(([, { deltas }]) => deltas[state]))),
      column(rows.map(([, { lastRunAt }]) => lastRunAt)),
      column(rows.map(([, { succeeded }]) => succeeded)),
      column(rows.map(([, { failures }]) => failures)),
    ])
  }

  #of(series: number): Tally {
    const known = this.#bySeries.get(series)
    if (known) return known
    const deltas = Object.fromEntries(occurrenceStates.map((state) => [state, 0])) as Record<OccurrenceState, number>
    const tally = { deltas, lastRunAt: null, succeeded: false, failures: 0 }
    this.#bySeries.set(series, tally)
    return tally
  }
}

function isEmpty({ deltas, lastRunAt, succeeded, failures }: Tally): boolean {
  return lastRunAt === null && !succeeded && failures === 0 && Object.values(deltas).every((delta) => delta === 0)
}

const columns = ['series', ...occurrenceStates, 'last_run_at', 'succeeded', 'failures']
const types = ['int', ...occurrenceStates.map(() => 'int'), 'float8', 'boolean', 'int']
const insertTallies = `INSERT INTO punctual.tally (${columns.join(', ')})
  SELECT * FROM unnest(${types.map((type, at) => `$${at + 1}::${type}[]`).join(', ')})`
