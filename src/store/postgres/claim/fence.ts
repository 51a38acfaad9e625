// The fence of a turn: its claim stands under the lock, and the turn has not ended.
import type { MemberWrite } from '../../store.ts'
import { column } from '../connection/arrays.ts'
import { each, endOf, lacks } from '../connection/by-key.ts'
import type { Session } from '../connection/session.ts'

/** Locks the claims. Rows that were read before may be out of date: a later statement reads them anew. */
export async function lockClaims(session: Session, items: readonly MemberWrite[]): Promise<void> {
  await session.rows('SELECT id FROM punctual.claim WHERE id = ANY($1::text[]) ORDER BY id FOR SHARE', [
    column(items.map(({ claim }) => claim.id)),
  ])
}

/** The places of the items whose turns their claims still hold. */
export async function ownedOf(session: Session, items: readonly MemberWrite[]): Promise<ReadonlySet<number>> {
  const rows = await session.rows<{ at: number }>(
    `SELECT i.at FROM unnest($1::text[], $2::text[], $3::bigint[], $4::int[]) WITH ORDINALITY i (id, token, ref, turn, at)
      CROSS JOIN ${each('claim', 'id = i.id AND token = i.token')} c
      WHERE c.turns[array_position(c.refs, i.ref)] = i.turn
        AND ${lacks('turn', endOf('i'))}`,
    [
      column(items.map(({ claim }) => claim.id)),
      column(items.map(({ claim }) => claim.token)),
      column(items.map(({ member }) => member.ref)),
      column(items.map(({ member }) => member.turn)),
    ],
  )
  return new Set(rows.map(({ at }) => Number(at) - 1))
}

/** The places of the items whose cancel was requested. A cancel locks the claim first: under that lock, no other comes. */
export async function canceledOf(session: Session, items: readonly MemberWrite[]): Promise<ReadonlySet<number>> {
  const rows = await session.rows<{ at: number }>(
    `SELECT i.at FROM unnest($1::bigint[], $2::int[]) WITH ORDINALITY i (ref, turn, at)
      CROSS JOIN ${each('cancel_request', endOf('i'))} q`,
    [column(items.map(({ member }) => member.ref)), column(items.map(({ member }) => member.turn))],
  )
  return new Set(rows.map(({ at }) => Number(at) - 1))
}
