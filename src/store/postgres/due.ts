// What is ready, and of that what is due. Rows of a kind and priority lie in lanes, mostly in one.
import type { WaitingGroup } from '../store.ts'
import { column } from './arrays.ts'
import { type Context, storeNow } from './context.ts'
import type { Session } from './database.ts'
import { onSnapshot } from './snapshot.ts'

const first = 'ORDER BY r.lane, r.due_at LIMIT 1'

/**
 * Common tables, of which `head` has the first row of each lane of these kinds, by skipping from one to the next. No other row is
 * read. Only kinds that some node picks from have lanes beside the first.
 * @param kinds An array of their numbers, in SQL.
 */
export const headsOf = (kinds: string) => `further (kind, priority, lane, due_at) AS (
    SELECT k.ref, p.priority, f.lane, f.due_at FROM punctual.kind k CROSS JOIN unnest(k.priorities) p (priority)
      CROSS JOIN LATERAL (
        SELECT r.lane, r.due_at FROM punctual.ready r WHERE r.kind = k.ref AND r.priority = p.priority AND r.lane > 0 ${first}
      ) f
      WHERE k.ref = ANY(${kinds}) AND k.laned
    UNION ALL
    SELECT l.kind, l.priority, n.lane, n.due_at FROM further l
      CROSS JOIN LATERAL (
        SELECT r.lane, r.due_at FROM punctual.ready r WHERE r.kind = l.kind AND r.priority = l.priority AND r.lane > l.lane ${first}
      ) n
  ),
  head (kind, priority, lane, due_at) AS (
    SELECT k.ref, p.priority, f.lane, f.due_at FROM punctual.kind k CROSS JOIN unnest(k.priorities) p (priority)
      CROSS JOIN LATERAL (
        SELECT r.lane, r.due_at FROM punctual.ready r WHERE r.kind = k.ref AND r.priority = p.priority AND r.lane = 0 ${first}
      ) f
      WHERE k.ref = ANY(${kinds})
    UNION ALL
    SELECT kind, priority, lane, due_at FROM further
  )`

const withHeads = `RECURSIVE ${headsOf('$2::int[]')}`

const nextWakes = `SELECT w.wake_at FROM unnest($2::int[]) k (kind)
  CROSS JOIN LATERAL (
    SELECT i.wake_at FROM punctual.waiting i WHERE i.kind = k.kind AND i.wake_at IS NOT NULL ORDER BY i.wake_at LIMIT 1
  ) w`

type NextRow = [now: number, next: number | null]

const selectNext = `WITH ${withHeads}
  SELECT ${storeNow} AS now, (SELECT min(n.at) FROM (SELECT due_at FROM head UNION ALL ${nextWakes}) n (at)) AS next`

const selectLater = `WITH ${withHeads}
  SELECT $1::float8 AS now, (SELECT min(n.at) FROM (
    SELECT l.due_at FROM head h CROSS JOIN LATERAL (
      SELECT r.due_at FROM punctual.ready r
      WHERE r.kind = h.kind AND r.priority = h.priority AND r.lane = h.lane AND r.due_at > $1::float8 ORDER BY r.due_at LIMIT 1
    ) l
    UNION ALL ${nextWakes}
  ) n (at)) AS next`

/** When something of these kinds is due, or is looked at again by itself. */
export async function nextDue(session: Session, context: Context, kinds: readonly number[]): Promise<number | null> {
  const [[, next]] = (await session.all<NextRow>(selectNext, [context.now(), column(kinds)])) as [NextRow]
  return next
}

/** The same without what is due already. */
export async function nextDueLater(session: Session, _: Context, kinds: readonly number[], now: number): Promise<number | null> {
  const [[, next]] = (await session.all<NextRow>(selectLater, [now, column(kinds)])) as [NextRow]
  return next
}

export async function peek(
  context: Context,
  { kinds }: { kinds: readonly string[] },
): Promise<{ now: number; nextDue: number | null }> {
  const refs = await kindRefs(context, kinds)
  const [[now, next]] = (await context.db.all<NextRow>(selectNext, [context.now(), column(refs)])) as [NextRow]
  return { now, nextDue: next }
}

const mostCounted = 1000

const dueInLane = `FROM punctual.ready r
  WHERE r.kind = h.kind AND r.priority = h.priority AND r.lane = h.lane AND r.due_at <= (SELECT now FROM clock)`

// Before any node picks, all rows lie in lane 0 and everything that is due is counted. Other lanes are those of a series each.
const countDue = `WITH ${withHeads}, clock (now) AS (SELECT ${storeNow}),
    due AS (SELECT * FROM head WHERE due_at <= (SELECT now FROM clock))
  SELECT c.series, h.priority, c.count FROM due h
    CROSS JOIN LATERAL (SELECT r.series, count(*) ${dueInLane} GROUP BY r.series) c (series, count) WHERE h.lane = 0
  UNION ALL
  SELECT h.lane, h.priority, c.count FROM due h
    CROSS JOIN LATERAL (SELECT count(*) FROM (SELECT 1 ${dueInLane} ORDER BY r.due_at LIMIT ${mostCounted}) f) c (count) WHERE h.lane <> 0`

export async function waiting(context: Context, { kinds }: { kinds: readonly string[] }): Promise<readonly WaitingGroup[]> {
  const { dictionary } = context
  const refs = await kindRefs(context, kinds)
  const rows = await onSnapshot(context, async (session) => {
    const found = await session.all<[series: number, priority: number, count: number]>(countDue, [context.now(), column(refs)])
    await dictionary.learn(session, { series: found.map(([series]) => series) })
    return found
  })
  const groups = new Map<string, WaitingGroup>()
  for (const [series, priority, found] of rows) {
    const { tenant, job } = dictionary.seriesByRef(series)
    const name = JSON.stringify([tenant, job, priority])
    const count = Math.min(mostCounted, found + (groups.get(name)?.count ?? 0))
    groups.set(name, { tenant, job, priority, count })
  }
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => group)
}

async function kindRefs({ db, dictionary }: Context, kinds: readonly string[]): Promise<number[]> {
  await dictionary.lookUpKinds(db, kinds)
  return dictionary.kindRefs(kinds)
}
