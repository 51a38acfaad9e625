// One set of rules for two databases. A transaction of SQLite is synchronous, one of PostgreSQL is not: so a rule is a generator that
// yields its statements, and the database runs it at its own pace.
import { DatabaseSync } from 'node:sqlite'
import type { ClientBase } from 'pg'

export type Row = Readonly<Record<string, string | number | null>>
type Value = string | number | null

/** A statement with `?1`, `?2` and so on for its values. */
export interface Query {
  readonly sql: string
  readonly values: readonly Value[]
}

/** Yields statements, gets their rows, and returns how many changes it made. */
export type Rule<Result = number> = Generator<Query, Result, readonly Row[]>

/** The argument of the work of `ctx.transaction`: the connection of the store. */
export type Transaction = DatabaseSync | ClientBase

export function query(sql: string, ...values: Value[]): Query {
  return { sql, values }
}

/** Runs a rule inside a transaction, at once on SQLite. */
export function run<Result>(tx: Transaction, rule: Rule<Result>): Result | Promise<Result> {
  if (!(tx instanceof DatabaseSync)) return runLater(tx, rule)
  let step = rule.next()
  while (!step.done) step = rule.next(rowsOf(tx, step.value))
  return step.value
}

async function runLater<Result>(tx: ClientBase, rule: Rule<Result>): Promise<Result> {
  let step = rule.next()
  while (!step.done) {
    const { sql, values } = step.value
    step = rule.next((await tx.query(sql.replaceAll('?', '$'), [...values])).rows)
  }
  return step.value
}

export function rowsOf(db: DatabaseSync, { sql, values }: Query): readonly Row[] {
  return db.prepare(sql).all(...values) as Row[]
}
