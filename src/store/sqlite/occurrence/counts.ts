import type { OccurrenceState } from '../../../model/lifecycle.ts'
import type { Transaction } from '../connection/transaction.ts'
import { type CountedState, countedStates } from '../schema/tables.ts'

interface Changes {
  readonly states: Map<CountedState, number>
  present: number
  lastRunAt: number | null
  hasSucceeded: boolean
  /** Since the last success, if there was one. */
  failures: number
}

/** The changes of counts in a transaction: one row for each job, however many of its occurrences it touches. */
export class CountChanges {
  readonly #tx: Transaction
  readonly #changes = new Map<number, Changes>()

  constructor(tx: Transaction) {
    this.#tx = tx
  }

  /** Counts an occurrence that comes into a state (1) or leaves it (-1). `pending` and `running` are not counted. */
  add(series: number, state: OccurrenceState, by: 1 | -1): void {
    if (state === 'pending' || state === 'running') return
    const { states } = this.#of(series)
    states.set(state, (states.get(state) ?? 0) + by)
  }

  /** An occurrence is deleted. Its creation has been counted: see `foldCreated`. */
  delete(series: number): void {
    this.#of(series).present -= 1
  }

  noteSuccess(series: number): void {
    const changes = this.#of(series)
    changes.hasSucceeded = true
    changes.failures = 0
  }

  noteFailure(series: number): void {
    this.#of(series).failures += 1
  }

  noteRun(series: number, startedAt: number): void {
    const changes = this.#of(series)
    changes.lastRunAt = Math.max(startedAt, changes.lastRunAt ?? startedAt)
    const { lastRuns } = this.#tx.cache
    const known = lastRuns.get(series)
    if (known !== undefined) lastRuns.set(series, Math.max(startedAt, known ?? startedAt))
  }

  /** The latest run that this transaction has noted. */
  lastRunAt(series: number): number | null {
    return this.#changes.get(series)?.lastRunAt ?? null
  }

  flush(): void {
    for (const [series, { states, present, lastRunAt, hasSucceeded, failures }] of this.#changes) {
      const values = countedStates.map((state) => states.get(state) ?? 0)
      this.#tx.run(update, ...values, present, lastRunAt, lastRunAt, hasSucceeded ? 0 : 1, failures, series)
    }
  }

  #of(series: number): Changes {
    const known = this.#changes.get(series)
    if (known) return known
    const changes = { states: new Map(), present: 0, lastRunAt: null, hasSucceeded: false, failures: 0 }
    this.#changes.set(series, changes)
    return changes
  }
}

const update = `UPDATE punctual_series SET ${countedStates.map((state) => `${state} = ${state} + ?`).join(', ')}, present = present + ?,
  last_run_at = max(coalesce(last_run_at, ?), coalesce(?, last_run_at)), failures_in_row = failures_in_row * ? + ? WHERE ref = ?`

/** Counts the occurrences that were created since the last time, up to `ref`. */
export function foldCreated(tx: Transaction, ref = tx.refs.last): void {
  const counted = tx.meta('counted_ref')
  if (ref <= counted) return
  for (const { series, count } of createdAfter(tx, counted, ref))
    tx.run('UPDATE punctual_series SET present = present + ? WHERE ref = ?', count, series)
  tx.setMeta('counted_ref', ref)
}

/** The occurrences of each series beyond a ref. */
export function createdAfter(tx: Transaction, after: number, to: number): { series: number; count: number }[] {
  return tx.all('SELECT series, count(*) AS count FROM punctual_occurrence WHERE ref > ? AND ref <= ? GROUP BY series', after, to)
}
