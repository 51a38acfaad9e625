/** The caller's transaction, as the stores with the ability `join` take it; the client only passes it on. */
export type CallerTransaction = Queryable | SqliteTransaction

/** An open transaction on SQLite: a `DatabaseSync` of node:sqlite on the file of the store, after `BEGIN IMMEDIATE`. */
export interface SqliteTransaction {
  readonly isTransaction: boolean
  prepare(sql: string): object
  exec(sql: string): void
}

/**
 * An open transaction on PostgreSQL. A store that takes part neither begins, ends nor repeats anything, and sends no hints: only the
 * caller knows whether and when it commits.
 */
export interface Queryable {
  /** Runs one statement with values for $1, $2 and so on. A row is an object, by the names of the columns. */
  query(text: string, values: unknown[]): PromiseLike<{ rows: unknown[] }>
}
