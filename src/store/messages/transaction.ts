/**
 * The caller's transaction, as SQL stores with the ability `join` take it; the client only passes it on. A store that takes part neither
 * begins, ends nor repeats anything, and sends no hints: only the caller knows whether and when it commits.
 */
export interface Queryable {
  /** Runs one statement with values for $1, $2 and so on. A row is an object or an array, in the order of the columns. */
  query(text: string, values: unknown[]): PromiseLike<{ rows: unknown[] }>
}
