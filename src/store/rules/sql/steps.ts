// Acts that are the same in every SQL store, each written once as the statements that it sends. A store runs them in its own way: SQLite
// at once, PostgreSQL waiting for each. The texts are PostgreSQL's; SQLite replaces a few words in them (connection/statements.ts).

export type Value = string | number | null | readonly (string | number)[]

export interface Step {
  readonly sql: string
  readonly values: readonly Value[]
}

/** Yields statements, and gets the rows of each. */
export type Steps<Answer> = Generator<Step, Answer, readonly object[]>

/** The store's time as a statement's first value: null where the server's clock decides. */
export type Clock = number | null

/** The store's time inside a statement whose first value is a `Clock`. Asked for once, so an index can be read by it. */
export const storeNow = '(SELECT coalesce($1::float8, punctual.now_ms()))'

/** Sends one statement. A list stands for an array: `= ANY($1::text[])`. */
export function* rows<Row extends object>(sql: string, values: readonly Value[] = []): Steps<readonly Row[]> {
  return (yield { sql, values }) as readonly Row[]
}

/** The store's time, for decisions that are made here. */
export function* readNow(clock: Clock): Steps<number> {
  const [row] = yield* rows<{ now: number }>(`SELECT ${storeNow} AS now`, [clock])
  return (row as { now: number }).now
}

/** So many placeholders, the first of which is number 1. */
export function marks(count: number): string {
  return Array.from({ length: count }, (_, at) => `$${at + 1}`).join(', ')
}

/** Rows to insert, as one value: `FROM json_array_elements($1::json) e`, whose fields are `e.value ->> 'name'`. */
export function asJson(given: readonly object[]): string {
  // Half of a pair of surrogates is no text for PostgreSQL.
  return JSON.stringify(given, (_, value: unknown) => (typeof value === 'string' ? value.toWellFormed() : value))
}
