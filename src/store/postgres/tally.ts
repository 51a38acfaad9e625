// Counts. A commit inserts what it changed in them (a tally) beside the change itself; from time to time tallies are folded into
// their series. What stands where is always both together.
import { occurrenceStates } from '../../model/lifecycle.ts'
import type { Context } from './context.ts'

/**
 * Tallies of each series summed up, from a table with their columns. In their order, a success ends the failures before it:
 * `succeeded` says that there was one, `failures` are those that came with it or after it.
 */
export function sumTallies(from: string): string {
  const sums = occurrenceStates.map((state) => `sum(t.${state}) AS ${state}`).join(', ')
  return `SELECT t.series, ${sums}, max(t.last_run_at) AS last_run_at, max(t.reset) IS NOT NULL AS succeeded,
      sum(CASE WHEN t.seq >= coalesce(t.reset, 0) THEN t.failures ELSE 0 END) AS failures
    FROM (SELECT u.*, max(CASE WHEN u.succeeded THEN u.seq END) OVER (PARTITION BY u.series) AS reset FROM ${from} u) t
    GROUP BY t.series`
}

/** Failures in a row of a series `s` together with its tallies `t`, of which there may be none. */
export const failuresInRow = '(CASE WHEN t.succeeded THEN 0 ELSE s.failures_in_row END + coalesce(t.failures, 0))'

const mostFolded = 5000
const mostSteps = 20

// What is added is what was deleted, and nothing else: tallies that are committed meanwhile, whatever their number, stay.
const foldSome = `WITH taken AS (
    DELETE FROM punctual.tally WHERE seq = ANY(ARRAY(SELECT seq FROM punctual.tally ORDER BY seq LIMIT ${mostFolded})) RETURNING *
  ),
  summed AS (${sumTallies('taken')}),
  added AS (
    UPDATE punctual.series s SET ${occurrenceStates.map((state) => `${state} = s.${state} + t.${state}`).join(', ')},
      last_run_at = greatest(s.last_run_at, t.last_run_at), failures_in_row = ${failuresInRow}
    FROM summed t WHERE s.ref = t.series
  )
  SELECT count(*) FROM taken`

/** Moves the oldest tallies into their series, one node at a time. The answer is how many; 0 also when another is at it. */
export async function fold({ db, isCompat }: Context): Promise<number> {
  return db.transaction(async (session) => {
    const lock = await session.all(`SELECT one FROM punctual.meta FOR NO KEY UPDATE ${isCompat ? '' : 'SKIP LOCKED'}`)
    if (lock.length === 0) return 0
    const [[folded]] = (await session.all<[number]>(foldSome)) as [[number]]
    return folded
  })
}

/** Folds what has gathered, in steps, for as long as a step finds a full load. */
export async function foldAll(context: Context): Promise<void> {
  for (let steps = 0; steps < mostSteps; steps++) if ((await fold(context)) < mostFolded) return
}
