// Transactions on a connection of the store.
import type pg from 'pg'
import { isAborted, isAway, withDeadline } from './failure.ts'
import type { Session } from './session.ts'

/** A connection that takes longer to undo what it has done is given up, and the server undoes it. */
const undoMs = 1_000

/**
 * After a wait for a lock, a second statement reads the current rows. Under another isolation level, which the database may have
 * as its default, that statement would see the rows as they were before.
 */
export const begin = 'BEGIN ISOLATION LEVEL READ COMMITTED'
export const beginSnapshot = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'

/** A connection for as long as it is ours. */
export interface Held {
  readonly client: pg.PoolClient
  readonly session: Session
  /** Whether it is in an unknown state, and has to be thrown away. */
  isBroken: boolean
}

export async function inTransaction<Answer>(
  beginning: string,
  held: Held,
  act: (session: Session) => Promise<Answer>,
  isKept: (answer: Answer) => boolean = () => true,
): Promise<Answer> {
  const { session, causeOf } = withCauses(held.session)
  // The connection answers in order, so nothing waits for the answer to BEGIN.
  const begun = session.rows(beginning)
  begun.catch(() => {})
  try {
    const answer = await act(session)
    if (isKept(answer)) await session.rows('COMMIT')
    else await undo(held)
    await begun
    return answer
  } catch (error) {
    const cause = causeOf(error)
    if (!isAway(cause)) await undo(held)
    throw cause
  }
}

/** The same for statements that `act` sends all at once: the end of the transaction is sent along. */
export async function inBatch<Answer>(held: Held, act: (session: Session) => Promise<Answer>): Promise<Answer> {
  const { session, causeOf } = withCauses(held.session)
  const sent = [session.rows(begin), act(session), session.rows('COMMIT')] as const
  try {
    const [, answer] = await Promise.all(sent)
    return answer
  } catch (error) {
    await Promise.allSettled(sent)
    const cause = causeOf(error)
    if (!isAway(cause)) await undo(held)
    throw cause
  }
}

/**
 * Keeps the first error of a transaction. The server refuses every statement after it with an error that says no more than that, and of
 * statements sent together the caller may meet such a one first.
 */
function withCauses(session: Session): { readonly session: Session; readonly causeOf: (error: unknown) => unknown } {
  let first: { readonly error: unknown } | null = null
  return {
    session: {
      rows(sql, values) {
        const answer = session.rows<never>(sql, values)
        answer.catch((error: unknown) => {
          first ??= { error }
        })
        return answer
      },
    },
    causeOf: (error) => (isAborted(error) && first ? first.error : error),
  }
}

async function undo(held: Held): Promise<void> {
  try {
    await withDeadline(held.client.query('ROLLBACK'), undoMs)
  } catch {
    held.isBroken = true
  }
}
