import type { SQLInputValue, StatementSync } from 'node:sqlite'
import { type OccurrenceState, occurrenceStates } from '../../model/lifecycle.ts'
import type { Due, Hint } from '../store.ts'
import { Blocks } from './blocks.ts'
import type { Connection } from './connection.ts'
import type { Dictionary } from './dictionary.ts'

/** What a verb works with: the statements, the time, and what is to be counted and told once its commit stands. */
export class Transaction {
  readonly connection: Connection
  readonly dictionary: Dictionary
  readonly now: number
  readonly hints: Hint[] = []
  readonly blocks = new Blocks(this)
  /** How often keys are held, as far as was asked. */
  readonly held = new Map<string, number>()
  /** Rows of ready and waiting that went elsewhere because of another: what was read of them before may no longer be so. */
  readonly stirred: number[] = []
  /** Whether anything that waits may wake by itself; null while nobody has looked. */
  hasWakes: boolean | null = null
  readonly #tallies = new Map<number, Tally>()
  readonly #filled = new Map<string, boolean>()
  #lanes: number | null = null
  #laned: ReadonlySet<number> | null = null
  #lastRef: number | null = null
  #prunedThrough: number | null = null

  constructor(connection: Connection, now: number) {
    this.connection = connection
    this.dictionary = connection.dictionary
    this.now = now
  }

  statement(sql: string): StatementSync {
    return this.connection.statement(sql)
  }

  all<Row extends unknown[]>(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.connection.all(sql, ...values)
  }

  one<Row extends unknown[]>(sql: string, ...values: SQLInputValue[]): Row | undefined {
    return this.connection.one(sql, ...values)
  }

  run(sql: string, ...values: SQLInputValue[]): number {
    return this.connection.run(sql, ...values)
  }

  dueAt(due: Due): number {
    return typeof due === 'number' ? due : this.now + due.in
  }

  /** A handle for a new occurrence. None is ever given twice, so that a late write cannot hit another occurrence than the one it meant. */
  newRef(): number {
    if (this.#lastRef === null) {
      const [lastRef, lanes] = this.one<[number, number]>(
        "SELECT value, (SELECT value FROM punctual_meta WHERE name = 'lanes') FROM punctual_meta WHERE name = 'last_ref'",
      ) as [number, number]
      this.#lastRef = lastRef
      this.noteLanes(lanes)
    }
    return ++this.#lastRef
  }

  /** Whether a table had any row when first asked: it spares one look-up for each occurrence in the tables that are mostly empty. */
  has(table: 'punctual_start' | 'punctual_cancel_request' | 'punctual_tombstone' | 'punctual_waiting'): boolean {
    const known = this.#filled.get(table)
    if (known !== undefined) return known
    const filled = this.one(`SELECT 1 FROM ${table} LIMIT 1`) !== undefined
    this.#filled.set(table, filled)
    return filled
  }

  /** Whether any kind is kept by lanes too, for nodes that pick. Mostly none is, and then nothing more is asked. */
  get hasLanes(): boolean {
    this.#lanes ??= (this.one<[number]>("SELECT value FROM punctual_meta WHERE name = 'lanes'") as [number])[0]
    return this.#lanes > 0
  }

  isLaned(kind: number): boolean {
    if (!this.hasLanes) return false
    this.#laned ??= new Set(this.all<[number]>('SELECT ref FROM punctual_kind WHERE laned = 1').map(([ref]) => ref))
    return this.#laned.has(kind)
  }

  /** Spares the look for those who have read it along with something else. */
  noteLanes(lanes: number): void {
    this.#lanes ??= lanes
  }

  /** Keeps the rows of a kind by lanes from now on. */
  layLanes(kind: number): void {
    if (this.isLaned(kind)) return
    this.run('UPDATE punctual_kind SET laned = 1 WHERE ref = ?', kind)
    this.run("UPDATE punctual_meta SET value = value + 1 WHERE name = 'lanes'")
    this.run('INSERT INTO punctual_lane SELECT kind, priority, series, due_at, ref FROM punctual_ready WHERE kind = ?', kind)
    this.#lanes = null
    this.#laned = null
  }

  /** Whether an occurrence that was there once is gone. Those newer than all that were ever pruned need not be looked for. */
  wasPruned(ref: number): boolean {
    this.#prunedThrough ??= this.one<[number]>("SELECT value FROM punctual_meta WHERE name = 'pruned_through'")?.[0] ?? 0
    return ref <= this.#prunedThrough && this.one('SELECT 1 FROM punctual_occurrence WHERE ref = ?', ref) === undefined
  }

  notePruned(ref: number): void {
    this.run(
      `INSERT INTO punctual_meta (name, value) VALUES ('pruned_through', ?)
        ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)`,
      ref,
    )
  }

  /** Counts an occurrence that goes from one state to another; null stands for not being there. */
  tally(series: number, from: OccurrenceState | null, to: OccurrenceState | null): void {
    const { deltas } = this.#tallyOf(series)
    if (from) deltas[from]--
    if (to) deltas[to]++
  }

  /** Counts failures since the last success. */
  noteSuccess(series: number, isSuccess: boolean): void {
    const tally = this.#tallyOf(series)
    if (isSuccess) {
      tally.succeeded = true
      tally.failures = 0
    } else {
      tally.failures++
    }
  }

  noteRun(series: number, startedAt: number): void {
    const tally = this.#tallyOf(series)
    if (startedAt > tally.lastRunAt) tally.lastRunAt = startedAt
  }

  /** Writes what was gathered. Counts: one row for each job that was touched, however many of its occurrences were. */
  flush(): void {
    this.blocks.flush()
    if (this.#lastRef !== null) this.run("UPDATE punctual_meta SET value = ? WHERE name = 'last_ref'", this.#lastRef)
    for (const [series, { deltas, lastRunAt, succeeded, failures }] of this.#tallies) {
      const changes = occurrenceStates.map((state) => deltas[state])
      this.run(addTally, ...changes, lastRunAt, lastRunAt, succeeded ? 0 : 1, failures, series)
    }
  }

  #tallyOf(series: number): Tally {
    const known = this.#tallies.get(series)
    if (known) return known
    const tally = { deltas: noStates(), lastRunAt: -1, succeeded: false, failures: 0 }
    this.#tallies.set(series, tally)
    return tally
  }
}

interface Tally {
  readonly deltas: Record<OccurrenceState, number>
  lastRunAt: number
  succeeded: boolean
  /** Since the last success, if there was one. */
  failures: number
}

export function noStates(): Record<OccurrenceState, number> {
  return Object.fromEntries(occurrenceStates.map((state) => [state, 0])) as Record<OccurrenceState, number>
}

const addTally = `UPDATE punctual_series SET ${occurrenceStates.map((state) => `${state} = ${state} + ?`).join(', ')},
  last_run_at = CASE WHEN ? >= 0 THEN max(coalesce(last_run_at, 0), ?) ELSE last_run_at END, failures_in_row = failures_in_row * ? + ?
  WHERE ref = ?`
