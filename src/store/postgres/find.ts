// Finds the numbers of occurrences. Nothing here needs names that were learned, so it also works in a caller's transaction.
import type { Which } from '../store.ts'
import { column } from './connection/arrays.ts'
import { each, lacks } from './connection/by-key.ts'
import type { Session } from './connection/session.ts'
import { currentRows, currentState, lastEnds } from './occurrence/current-rows.ts'

/** In a caller's transaction the library decides what a number looks like. */
interface RefRow {
  readonly ref: number | string | bigint
}

const byId = `SELECT o.ref FROM ${each('occurrence', 'id = $1::uuid')} o
  WHERE $2::text IS NULL OR (SELECT s.tenant FROM punctual.series s WHERE s.ref = o.series) = $2`

/** Older ones than these have ended: only the newest of a key can be live, but for some that a person has revived. */
const mostOfKey = 50

const byKey = `SELECT o.ref FROM (
    SELECT i.ref, i.series FROM punctual.occurrence i JOIN punctual.form f ON f.ref = i.form
    WHERE i.series = (SELECT s.ref FROM punctual.series s WHERE s.tenant = $1 AND s.job = $2) AND i.key = $3
      AND ($4::text IS NULL OR f.uniqueness = $4::text::punctual.uniqueness)
    ORDER BY i.ref DESC LIMIT ${mostOfKey}) o ${currentRows}
  ORDER BY ${currentState} IN ('pending', 'retrying', 'waiting', 'running') DESC, o.ref DESC LIMIT 1`

/** One occurrence. Of several with the same key: the live one, or else the newest. */
export async function findRef(session: Session, which: Which): Promise<number | null> {
  if ('id' in which && !isUuid(which.id)) return null
  const [row] =
    'id' in which
      ? await session.rows<RefRow>(byId, [which.id, which.tenant ?? null])
      : await session.rows<RefRow>(byKey, [which.tenant, which.job, which.key, which.unique ?? null])
  return row ? Number(row.ref) : null
}

/** Whether an occurrence `o` has not ended. */
const isUnended = `${lacks('dead', 'series = o.series AND ref = o.ref')} AND ${lacks('turn', `ref = o.ref AND "end" IN (${lastEnds})`)}`

const ofEntity = `SELECT o.ref FROM punctual.series s CROSS JOIN ${each('occurrence e', 'e.entity = $3 AND e.series = s.ref')} o
  WHERE s.tenant = $1 AND s.job = $2
    AND ${isUnended}
  ORDER BY o.ref`

/** All that have not ended and are about an entity, the oldest first. */
export async function findOfEntity(
  session: Session,
  { tenant, job, entity }: { readonly tenant: string; readonly job: string; readonly entity: string },
): Promise<number[]> {
  const rows = await session.rows<RefRow>(ofEntity, [tenant, job, entity])
  return rows.map(({ ref }) => Number(ref))
}

const descendants = `WITH RECURSIVE tree (ref, series, id, is_root) AS (
    SELECT ref, series, id, true FROM punctual.occurrence WHERE ref = ANY($1::bigint[])
    UNION SELECT o.ref, o.series, o.id, false FROM tree t
      CROSS JOIN LATERAL (SELECT ref, series, id FROM punctual.occurrence WHERE parent = t.id OFFSET 0) o)
  SELECT o.ref FROM tree o WHERE o.is_root OR ${isUnended}
  GROUP BY o.ref ORDER BY o.ref`

/** These, and all below them that have not ended, in the order of their creation. */
export async function withDescendants(session: Session, roots: readonly number[]): Promise<number[]> {
  const rows = await session.rows<RefRow>(descendants, [column(roots)])
  return rows.map(({ ref }) => Number(ref))
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Whether a text can be the id of an occurrence at all: the server refuses to compare others. */
export function isUuid(text: string): boolean {
  return uuid.test(text)
}
