import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import type { JobSpec } from '../../../model/job.ts'
import { storeNow } from '../../rules/sql/steps.ts'
import type { Span } from '../list/ref-blocks.ts'
import { Names } from '../names/names.ts'
import { Cache } from './cache.ts'

/** Every text has the names of tables with this beginning; statements have the one of the options. */
export const defaultPrefix = 'punctual_'

/** The prepared statements on a database, and what was learned from its rows. */
export class Statements {
  readonly db: DatabaseSync
  readonly prefix: string
  readonly names = new Names(this)
  cache = new Cache()
  /** By block, what this connection has noted of it. */
  readonly blocks = new Map<number, Span>()
  /** Specs by series and version: versions never change. */
  readonly specs = new Map<string, JobSpec>()
  readonly #statements = new Map<string, StatementSync>()

  constructor(db: DatabaseSync, prefix: string) {
    this.db = db
    this.prefix = prefix
  }

  /**
   * The prepared statement of this text. A bare parameter after LIMIT, or anywhere else where the planner looks at its value, would
   * have SQLite compile the statement anew at each run: hence `LIMIT ? + 0`.
   */
  statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql)
    if (!statement) {
      statement = this.db.prepare(this.#named(sql))
      // The caller's connection may have other defaults.
      statement.setReadBigInts(false)
      statement.setReturnArrays?.(false)
      this.#statements.set(sql, statement)
    }
    return statement
  }

  all<Row extends object>(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.statement(sql).all(...values) as unknown as Row[]
  }

  one<Row extends object>(sql: string, ...values: SQLInputValue[]): Row | undefined {
    return this.statement(sql).get(...values) as unknown as Row | undefined
  }

  /** How many rows the statement changed. */
  run(sql: string, ...values: SQLInputValue[]): number {
    return this.statement(sql).run(...values).changes as number
  }

  /** Runs statements that are used once. */
  exec(sql: string): void {
    this.db.exec(this.#named(sql))
  }

  #named(sql: string): string {
    const own = sql.includes('punctual.') ? ofPostgres(sql) : sql
    return this.prefix === defaultPrefix ? own : own.replaceAll(defaultPrefix, this.prefix)
  }
}

/** A statement of rules/sql, which are written for PostgreSQL. The write lock stands in for locks of rows. */
function ofPostgres(sql: string): string {
  return sql
    .replaceAll(storeNow, '?1')
    .replaceAll('punctual.', defaultPrefix)
    .replaceAll('json_array_elements(', 'json_each(')
    .replace(/ FOR UPDATE( OF \w+)?/g, '')
    .replace(/= ANY\((\$\d+)::\w+\[\]\)/g, 'IN (SELECT value FROM json_each($1))')
    .replace(/::\w+/g, '')
    .replaceAll('$', '?')
}
