import type { Database } from './connection/database.ts'
import type { Session } from './connection/session.ts'
import type { Names } from './names/names.ts'
import type { Versions } from './names/versions.ts'

/** The common means of all verbs. */
export interface Context {
  readonly db: Database
  readonly names: Names
  readonly versions: Versions
  /** The time where a clock other than the server's decides, as in tests; null for the server's own. */
  now(): number | null
  /** An estimate of the store's time: good for choosing, never for deciding. */
  guessNow(): number
  /** Takes note of a time that the server has just returned. */
  noteNow(now: number): void
}

/** The store's time inside a statement whose first value is `Context.now`. Asked for once, so an index can be read by it. */
export const storeNow = '(SELECT coalesce($1::float8, punctual.now_ms()))'

/** The store's time, for decisions that are made here. */
export async function readNow(session: Session, { now }: Pick<Context, 'now'>): Promise<number> {
  const [row] = await session.rows<{ now: number }>(`SELECT ${storeNow} AS now`, [now()])
  return (row as { now: number }).now
}
