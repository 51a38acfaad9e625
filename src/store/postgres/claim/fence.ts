// The fence of a turn: its claim stands under the lock, and the turn has not ended.
import type { MemberWrite } from '../../store.ts'
import { column } from '../connection/arrays.ts'
import { each, endOf, lacks } from '../connection/by-key.ts'
import type { Session } from '../connection/session.ts'

/** Locks claims in order, and returns the tokens of those that stand. Later statements see rows as new as the locks. */
export async function lockClaims(
  session: Session,
  ids: readonly string[],
  mode: 'SHARE' | 'UPDATE',
): Promise<ReadonlyMap<string, string>> {
  const sql = `SELECT id, token FROM punctual.claim WHERE id = ANY($1::text[]) ORDER BY id FOR ${mode}`
  const rows = await session.rows<{ id: string; token: string }>(sql, [column([...new Set(ids)])])
  return new Map(rows.map(({ id, token }) => [id, token]))
}

/** Locks the claims of items against their end. */
export async function shareClaims(session: Session, items: readonly MemberWrite[]): Promise<void> {
  await lockClaims(
    session,
    items.map(({ claim }) => claim.id),
    'SHARE',
  )
}

interface Fence {
  /** Its claim still holds the turn. */
  readonly is_owned: boolean
  /** A cancel of it was requested. A cancel locks the claim first: under that lock, no other comes. */
  readonly is_canceled: boolean
}

const readFences = `SELECT coalesce(c.turns[array_position(c.refs, i.ref)] = i.turn AND ${lacks('turn', endOf('i'))}, false) AS is_owned,
    NOT ${lacks('cancel_request', endOf('i'))} AS is_canceled
  FROM unnest($1::text[], $2::text[], $3::bigint[], $4::int[]) WITH ORDINALITY i (id, token, ref, turn, at)
  LEFT JOIN ${each('claim', 'id = i.id AND token = i.token')} c ON true ORDER BY i.at`

/** The fence of each item. */
export function fencesOf(session: Session, items: readonly MemberWrite[]): Promise<readonly Fence[]> {
  return session.rows<Fence>(readFences, [
    column(items.map(({ claim }) => claim.id)),
    column(items.map(({ claim }) => claim.token)),
    column(items.map(({ member }) => member.ref)),
    column(items.map(({ member }) => member.turn)),
  ])
}
