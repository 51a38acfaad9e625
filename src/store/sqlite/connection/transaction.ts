import type { SQLInputValue, StatementSync } from 'node:sqlite'
import type { Release } from '../../rules/door.ts'
import type { Steps } from '../../rules/sql/steps.ts'
import type { Due, Hint } from '../../store.ts'
import { RefBlocks } from '../list/ref-blocks.ts'
import type { Names } from '../names/names.ts'
import { CountChanges } from '../occurrence/counts.ts'
import { writeReleases } from '../occurrence/keys.ts'
import { Refs } from '../occurrence/refs.ts'
import type { Cache, MetaName, RareTable } from './cache.ts'
import type { Statements } from './statements.ts'

/** The statements and the time of a verb, and all that is written or sent at its end. */
export class Transaction {
  readonly connection: Statements
  readonly names: Names
  readonly cache: Cache
  readonly now: number
  readonly hints: Hint[] = []
  /** Slots that this transaction frees. A claim in it counts them itself; only what it leaves is written. */
  releases: (Release & { readonly ref: number | null })[] = []
  readonly refs = new Refs(this)
  readonly counts = new CountChanges(this)
  readonly blocks = new RefBlocks(this)

  constructor(connection: Statements, now: number) {
    this.connection = connection
    this.names = connection.names
    this.cache = connection.cache
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

  /** Runs an act of rules/sql. */
  runSteps<Answer>(steps: Steps<Answer>): Answer {
    let step = steps.next([])
    while (!step.done) {
      const { sql, values } = step.value
      const sent = values.map((value) => (typeof value === 'object' && value !== null ? JSON.stringify(value) : value))
      step = steps.next(this.all(sql, ...sent))
    }
    return step.value
  }

  /** Whether a table has rows: most are empty most of the time. */
  has(table: RareTable): boolean {
    if (this.cache.emptyTables.has(table)) return false
    const has = this.one(`SELECT 1 FROM ${table} LIMIT 1`) !== undefined
    if (!has) this.cache.emptyTables.add(table)
    return has
  }

  /** This transaction adds a row to the table. */
  noteRow(table: RareTable): void {
    this.cache.emptyTables.delete(table)
  }

  meta(name: MetaName): number {
    const known = this.cache.meta.get(name)
    if (known !== undefined) return known
    const value = this.one<{ value: number }>('SELECT value FROM punctual_meta WHERE name = ?', name)?.value ?? 0
    this.cache.meta.set(name, value)
    return value
  }

  setMeta(name: MetaName, value: number): void {
    this.cache.meta.set(name, value)
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
    return ref <= this.meta('deleted_ref') && this.one('SELECT 1 FROM punctual_occurrence WHERE ref = ?', ref) === undefined
  }

  get isClusterFull(): boolean {
    return this.meta('cluster_full') === 1
  }

  set isClusterFull(isFull: boolean) {
    if (this.isClusterFull !== isFull) this.setMeta('cluster_full', isFull ? 1 : 0)
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
