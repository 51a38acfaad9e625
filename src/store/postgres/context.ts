import * as steps from '../rules/sql/steps.ts'
import type { Hint } from '../store.ts'
import type { Database } from './connection/database.ts'
import { runSteps, type Session } from './connection/session.ts'
import type { Names } from './names/names.ts'
import type { Versions } from './names/versions.ts'

export { storeNow } from '../rules/sql/steps.ts'

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

/** The answer of an act, and the hints that follow from it. */
export interface Acted<Answer> {
  readonly answer: Answer
  readonly hints: readonly Hint[]
}

/** The store's time, for decisions that are made here. */
export function readNow(session: Session, { now }: Pick<Context, 'now'>): Promise<number> {
  return runSteps(session, steps.readNow(now()))
}
