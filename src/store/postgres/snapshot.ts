import type { Context } from './context.ts'
import type { Session } from './database.ts'

/**
 * Runs `act` on one state of the database. Statements over many lanes look dear to the planner, which would compile them first,
 * and that takes far longer than to run them.
 */
export async function onSnapshot<Answer>({ db, isCompat }: Context, act: (session: Session) => Promise<Answer>): Promise<Answer> {
  return db.snapshot(async (session) => {
    const uncompiled = isCompat ? [] : session.all('SET LOCAL jit = off')
    const [answer] = await Promise.all([act(session), uncompiled])
    return answer
  })
}
