import { mostCounted } from '../rules/pick.ts'
import type { BacklogGroup } from '../store.ts'
import { nextWaits, nextWake } from './claim/take-due.ts'
import { column } from './connection/arrays.ts'
import type { Session } from './connection/session.ts'
import { type Context, storeNow } from './context.ts'
import { onSnapshot } from './list/snapshot.ts'

interface NextRow {
  readonly now: number
  readonly next: number | null
}

/** Lanes: one range of an index for each kind and priority. */
const lanes = 'punctual.kind k CROSS JOIN unnest(k.priorities) p (priority)'

const selectNext = `SELECT ${storeNow} AS now, least(
    (SELECT min((SELECT r.due_at FROM punctual.ready r WHERE NOT r.gate AND r.kind = k.ref AND r.priority = p.priority
      ORDER BY r.due_at, r.ref LIMIT 1)) FROM ${lanes} WHERE k.ref = ANY($2::int[])),
    ${nextWake('$2::int[]')}) AS next`

const selectLater = `SELECT $1::float8 AS now, least(
    (SELECT min((SELECT r.due_at FROM punctual.ready r WHERE NOT r.gate AND r.kind = k.ref AND r.priority = p.priority AND r.due_at > $1::float8
      ORDER BY r.due_at, r.ref LIMIT 1)) FROM ${lanes} WHERE k.ref = ANY($2::int[])),
    (SELECT min(n.at) FROM (
      SELECT (SELECT r.due_at FROM punctual.ready r WHERE r.gate AND r.kind = k.kind AND r.due_at > $1::float8
        ORDER BY r.due_at, r.ref LIMIT 1) AS at FROM unnest($2::int[]) k (kind)
      UNION ALL ${nextWaits('$2::int[]')}) n)) AS next`

/** When a claim of these kinds is worth a try. `isLater`: without what is due already. */
export async function readNextDue(
  context: Context,
  session: Session,
  kinds: readonly string[],
  { now, isLater }: { readonly now: number; readonly isLater: boolean },
): Promise<number | null> {
  const refs = column(context.names.kindRefs(kinds))
  const [row] = await session.rows<NextRow>(isLater ? selectLater : selectNext, [isLater ? now : context.now(), refs])
  return (row as NextRow).next
}

export async function peek(
  context: Context,
  { kinds }: { kinds: readonly string[] },
): Promise<{ now: number; nextDue: number | null }> {
  const { db, names } = context
  await names.findKinds(db, kinds)
  const [row] = await db.rows<NextRow>(selectNext, [context.now(), column(names.kindRefs(kinds))])
  const { now, next } = row as NextRow
  return { now, nextDue: next }
}

const countDue = `SELECT s.tenant, s.job, r.priority, least(count(*), ${mostCounted}) AS count FROM punctual.ready r
  JOIN punctual.series s ON s.ref = r.series WHERE r.kind = ANY($2::int[]) AND r.due_at <= ${storeNow} GROUP BY s.tenant, s.job, r.priority`

export async function backlog(context: Context, { kinds }: { kinds: readonly string[] }): Promise<readonly BacklogGroup[]> {
  const { names } = context
  const groups = await onSnapshot(context, async (session) => {
    await names.findKinds(session, kinds)
    return session.rows<BacklogGroup>(countDue, [context.now(), column(names.kindRefs(kinds))])
  })
  const text = ({ tenant, job, priority }: BacklogGroup) => JSON.stringify([tenant, job, priority])
  return groups.sort((a, b) => (text(a) < text(b) ? -1 : 1))
}
