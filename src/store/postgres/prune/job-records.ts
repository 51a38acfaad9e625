// Records of jobs that go after their time.
import type { Session } from '../connection/session.ts'
import type { Context } from '../context.ts'

const mostRanges = 1000

/** Deletes ranges and takes them out of the counts. */
export async function removeRanges(session: Session, which: string, values: readonly (string | number)[]): Promise<void> {
  await session.rows(
    `WITH gone AS (DELETE FROM punctual.range WHERE ${which} RETURNING series, state, count)
      INSERT INTO punctual.count_delta (series, missed, skipped)
      SELECT series, -coalesce(sum(count) FILTER (WHERE state = 'missed'), 0), -coalesce(sum(count) FILTER (WHERE state = 'skipped'), 0)
      FROM gone GROUP BY series`,
    values,
  )
}

/** Ranges are recorded in their order: the first ones are the oldest. */
export async function dropRanges({ db }: Context, before: number | null): Promise<void> {
  if (before === null) return
  await removeRanges(
    db,
    `seq = ANY(ARRAY(SELECT r.seq FROM (SELECT seq, recorded_at FROM punctual.range ORDER BY seq LIMIT ${mostRanges}) r
      WHERE r.recorded_at < $1::float8))`,
    [before],
  )
}
