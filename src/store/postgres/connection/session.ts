import type { Steps } from '../../rules/sql/steps.ts'
import { column } from './arrays.ts'

/** Runs statements on a connection of the store or in the caller's transaction. */
export interface Session {
  /** Rows as objects, by the names of their columns. */
  rows<Row extends object>(sql: string, values?: readonly unknown[]): Promise<Row[]>
}

/** A statement and its values. */
export interface Statement {
  readonly sql: string
  readonly values: readonly unknown[]
}

/**
 * Sends one statement after the other, for clients that do not take the next before they have answered the last. After one that
 * failed none is sent any more: its transaction may be over by then, and what follows would be in no transaction or in another's.
 */
export function inTurn(session: Session): Session {
  let last: Promise<unknown> = Promise.resolve()
  return {
    rows<Row extends object>(sql: string, values?: readonly unknown[]) {
      const answer = last.then(() => session.rows<Row>(sql, values))
      last = answer
      last.catch(() => {})
      return answer
    },
  }
}

/** Runs an act of rules/sql. */
export async function runSteps<Answer>(session: Session, steps: Steps<Answer>): Promise<Answer> {
  let step = steps.next([])
  while (!step.done) {
    const { sql, values } = step.value
    const sent = values.map((value) => (Array.isArray(value) ? column(value) : value))
    step = steps.next(await session.rows(sql, sent))
  }
  return step.value
}

/** Whether this transaction now holds a lock that one at a time may hold. It never waits. Each schema has its own. */
export async function tryLock(session: Session, name: 'audit' | 'count_delta' | 'figure'): Promise<boolean> {
  // In a statement, `punctual.` becomes the schema's name.
  const sql = `SELECT pg_try_advisory_xact_lock(hashtext('punctual.${name}')) AS is_ours`
  const [row] = await session.rows<{ is_ours: boolean }>(sql)
  return row?.is_ours === true
}
