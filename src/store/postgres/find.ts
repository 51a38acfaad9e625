// Finds the handles of occurrences. Nothing here needs the dictionary, so that it also works in a transaction of the caller's.
import { keyedId } from '../../model/ids.ts'
import { isEnd, stateAfter, turnEnds } from '../../model/lifecycle.ts'
import type { Which } from '../store.ts'
import { each, lacks } from './by-key.ts'
import type { Context } from './context.ts'
import type { Session } from './database.ts'

type RefRow = [ref: number | string | bigint | null]

const byId = `SELECT o.ref FROM ${each('occurrence', 'id = $1::uuid')} o
  WHERE $2::text IS NULL OR (SELECT s.tenant FROM punctual.series s WHERE s.ref = o.series) = $2`

// Each part is only looked at when those before it have found nothing.
const byKey = `SELECT coalesce(
    (SELECT o.ref FROM punctual.occurrence o WHERE o.id = $1::uuid),
    (SELECT l.ref FROM punctual.series s JOIN punctual.live_key l ON l.series = s.ref AND l.key = $4
      WHERE s.tenant = $2 AND s.job = $3),
    (SELECT o.ref FROM punctual.occurrence o WHERE o.series = (SELECT s.ref FROM punctual.series s WHERE s.tenant = $2 AND s.job = $3)
      AND o.key = $4 ORDER BY o.ref DESC LIMIT 1)
  ) AS ref`

/** The handle of one occurrence. Of several with the same key: the one the key stands for, or else the newest. */
export async function findRef(session: Session, _: Context, which: Which): Promise<number | null> {
  if ('id' in which && !isUuid(which.id)) return null
  const [row] =
    'id' in which
      ? await session.all<RefRow>(byId, [which.id, which.tenant ?? null])
      : await session.all<RefRow>(byKey, [keyedId(which.tenant, which.job, which.key), which.tenant, which.job, which.key])
  const ref = row?.[0] ?? null
  return ref === null ? null : Number(ref)
}

// What has ended so is never followed by another turn.
const lastEnds = turnEnds.filter((end) => isEnd(stateAfter[end]))

const ofEntity = `SELECT o.ref FROM punctual.series s JOIN punctual.occurrence o ON o.series = s.ref AND o.entity = $3
  WHERE s.tenant = $1 AND s.job = $2
    AND ${lacks('dead', 'series = o.series AND ref = o.ref')}
    AND ${lacks('turn', `ref = o.ref AND "end" IN (${lastEnds.map((end) => `'${end}'`).join(', ')})`)}
  ORDER BY o.ref`

/** The handles of all that have not ended and are about an entity, the oldest first. */
export async function findOfEntity(
  session: Session,
  _: Context,
  { tenant, job, entity }: { readonly tenant: string; readonly job: string; readonly entity: string },
): Promise<number[]> {
  const rows = await session.all<RefRow>(ofEntity, [tenant, job, entity])
  return rows.map(([ref]) => Number(ref))
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Whether a text can be the id of an occurrence at all: the server refuses to compare others. */
function isUuid(text: string): boolean {
  return uuid.test(text)
}
