import type { Session } from '../connection/session.ts'
import type { Context } from '../context.ts'

/**
 * Runs `act` on one state of the database. Statements over many lanes look dear to the planner, which would compile them first,
 * and that takes far longer than to run them; but the best way depends on the filter.
 */
export async function onSnapshot<Answer>({ db }: Context, act: (session: Session) => Promise<Answer>): Promise<Answer> {
  return db.snapshot(async (session) => {
    const planned = session.rows(`SET LOCAL jit = off; SET LOCAL plan_cache_mode = auto; SET LOCAL enable_seqscan = on`)
    const [answer] = await Promise.all([act(session), planned])
    return answer
  })
}

const ways = {
  /** Along an index that has the rows in order, a few at a time. */
  'in order': { indexscan: 'on', indexonlyscan: 'on', bitmapscan: 'off', seqscan: 'off' },
  /** All rows of those parts of a table that may have any, which is what BRIN indexes know. */
  'in blocks': { indexscan: 'off', indexonlyscan: 'off', bitmapscan: 'on', seqscan: 'off' },
}

/**
 * How the next statements of a snapshot find their rows. The planner knows how many rows a series has on average: for one that has
 * a million of them, it would read and sort them all.
 */
export async function reading(session: Session, way: keyof typeof ways): Promise<void> {
  await session.rows(
    Object.entries(ways[way])
      .map(([name, value]) => `SET LOCAL enable_${name} = ${value}`)
      .join('; '),
  )
}
