import type { Database } from './database.ts'
import type { Dictionary } from './dictionary.ts'
import type { Facts } from './facts.ts'

/** What every verb works with. */
export interface Context {
  readonly db: Database
  readonly dictionary: Dictionary
  readonly facts: Facts
  readonly isCompat: boolean
  /** The time where a clock other than the server's decides, as in tests; null for the server's own. */
  now(): number | null
  /** What the store's time should be by now: good for choosing, never for deciding. */
  guessNow(): number
  /** Takes note of a time that the server has just told. */
  noteNow(now: number): void
}

/** The store's time inside a statement whose first value is `Context.now`. Asked for once, so that an index can be read by it. */
export const storeNow = '(SELECT coalesce($1::float8, punctual.now_ms()))'
