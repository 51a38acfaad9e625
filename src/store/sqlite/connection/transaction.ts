import type { SQLInputValue, StatementSync } from 'node:sqlite'
import type { Release } from '../../rules/door.ts'
import type { Due, Hint } from '../../store.ts'
import { writeReleases } from '../occurrence/keys.ts'
import { Refs } from '../occurrence/refs.ts'
import { Blocks } from '../schema/blocks.ts'
import { CountChanges } from '../schema/count-changes.ts'
import type { Names } from '../schema/names.ts'
import type { Connection } from './connection.ts'

type MetaName =
  | 'alive_since'
  | 'last_alive_at'
  | 'deleted_ref'
  | 'counted_ref'
  | 'pause_revision'
  | 'cluster_full'
  | 'cluster_ends'

/** Tables that few occurrences have a row in. */
type RareTable = 'punctual_start' | 'punctual_cancel_request' | 'punctual_tombstone'

/** The statements and the time of a verb, and all that is written or sent at its end. */
export class Transaction {
  readonly connection: Connection
  readonly names: Names
  readonly now: number
  readonly hints: Hint[] = []
  /** Slots that this transaction frees. A claim in it counts them itself; only what it leaves is written. */
  releases: (Release & { readonly ref: number | null })[] = []
  readonly refs = new Refs(this)
  readonly counts = new CountChanges(this)
  readonly blocks = new Blocks(this)
  readonly #hasRows = new Map<RareTable, boolean>()
  #deletedRef: number | null = null
  #isClusterFull: boolean | null = null

  constructor(connection: Connection, now: number) {
    this.connection = connection
    this.names = connection.names
    this.now = now
  }

  statement(sql: string): StatementSync {
    return this.connection.statement(sql)
  }

  all<Row extends object>(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.connection.all(sql, ...values)
  }

  one<Row extends object>(sql: string, ...values: SQLInputValue[]): Row | undefined {
    return this.connection.one(sql, ...values)
  }

  run(sql: string, ...values: SQLInputValue[]): number {
    return this.connection.run(sql, ...values)
  }

  /** Whether a table has rows, asked once: most are empty most of the time. Worth 1 to 2 µs for each ended turn. */
  has(table: RareTable): boolean {
    const known = this.#hasRows.get(table)
    if (known !== undefined) return known
    const has = this.one(`SELECT 1 FROM ${table} LIMIT 1`) !== undefined
    this.#hasRows.set(table, has)
    return has
  }

  /** This transaction adds a row to the table. */
  noteRow(table: RareTable): void {
    this.#hasRows.set(table, true)
  }

  meta(name: MetaName): number {
    return this.one<{ value: number }>('SELECT value FROM punctual_meta WHERE name = ?', name)?.value ?? 0
  }

  setMeta(name: MetaName, value: number): void {
    this.run('UPDATE punctual_meta SET value = ? WHERE name = ?', value, name)
  }

  dueAt(due: Due): number {
    return typeof due === 'number' ? due : this.now + due.in
  }

  hintDue(at: number): void {
    this.hints.push({ kind: 'due', at })
  }

  /** Whether an occurrence that existed is gone. Those newer than all that were ever deleted need no look. */
  wasDeleted(ref: number): boolean {
    this.#deletedRef ??= this.meta('deleted_ref')
    return ref <= this.#deletedRef && this.one('SELECT 1 FROM punctual_occurrence WHERE ref = ?', ref) === undefined
  }

  get isClusterFull(): boolean {
    this.#isClusterFull ??= this.meta('cluster_full') === 1
    return this.#isClusterFull
  }

  set isClusterFull(isFull: boolean) {
    if (this.isClusterFull === isFull) return
    this.#isClusterFull = isFull
    this.setMeta('cluster_full', isFull ? 1 : 0)
  }

  /** Writes what was gathered. */
  flush(): void {
    if (this.releases.length > 0) writeReleases(this)
    this.blocks.flush()
    this.counts.flush()
    this.refs.flush()
  }

  /** Called after the commit. */
  committed(): void {
    this.blocks.committed()
    this.names.keepNew()
  }
}
