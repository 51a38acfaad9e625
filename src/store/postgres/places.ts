// Rows that go from waiting to ready or back as they are, many in one statement.
import type { Session } from './database.ts'

const columns = 'kind, priority, lane, due_at, ref, series, turn, planned, retrying, limited'

/** Lets the rows of waiting that meet a condition be looked at again. */
export async function moveToReady(session: Session, where: string, values: readonly unknown[] = []): Promise<void> {
  await session.all(
    `WITH w AS (DELETE FROM punctual.waiting WHERE ${where} RETURNING ${columns}),
      r AS (INSERT INTO punctual.ready (${columns}) SELECT ${columns} FROM w)
      INSERT INTO punctual.tally (series, waiting, pending, retrying)
        SELECT series, -count(*), count(*) FILTER (WHERE NOT retrying), count(*) FILTER (WHERE retrying) FROM w GROUP BY series`,
    values,
  )
}

/** Those of the rows that `strand` holds back that limits apply to. */
export async function limitedToStrand(session: Session, now: number): Promise<number[]> {
  const rows = await session.all<[number]>('SELECT ref FROM punctual.ready WHERE planned AND due_at <= $1 AND limited', [now])
  return rows.map(([ref]) => ref)
}

/** Holds back the planned rows that came due while nobody was there; returns those that limits apply to. */
export async function strand(session: Session, now: number): Promise<number[]> {
  const rows = await session.all<[number, boolean]>(
    `WITH r AS (DELETE FROM punctual.ready WHERE planned AND due_at <= $1 RETURNING ${columns}),
      w AS (INSERT INTO punctual.waiting (${columns}, reason) SELECT ${columns}, 'stranded' FROM r ORDER BY ref),
      j AS (UPDATE punctual.job SET next_at = least(next_at, $1) WHERE series IN (SELECT series FROM r)),
      t AS (INSERT INTO punctual.tally (series, pending, waiting) SELECT series, -count(*), count(*) FROM r GROUP BY series)
      SELECT ref, limited FROM r ORDER BY ref`,
    [now],
  )
  return rows.filter(([, isLimited]) => isLimited).map(([ref]) => ref)
}
