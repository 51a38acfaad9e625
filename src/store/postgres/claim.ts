import { defaultPromptMs } from '../rules/door.ts'
import type { ClaimRequest } from '../store.ts'
import { answerClaim, type Claimed, type ClaimRow, hasLeftAll } from './claim/answer.ts'
import { doorClaim } from './claim/door.ts'
import type { LaneStarts } from './claim/lane-starts.ts'
import { claimPick } from './claim/pick.ts'
import { takeDue } from './claim/take-due.ts'
import { column } from './connection/arrays.ts'
import type { Session, Statement } from './connection/session.ts'
import type { Context } from './context.ts'

/**
 * Takes due work: by one statement where nothing but due times and priorities decides. Where work is due at the door, the
 * statement takes nothing, and one call of a function lets work in and takes it in the same commit.
 */
export async function claim(context: Context, laneStarts: LaneStarts, request: ClaimRequest): Promise<Claimed> {
  const { db, names } = context
  await names.addKinds(request.kinds)
  if (request.pick) return claimPick(context, laneStarts, request, request.pick)
  if (request.clusterLimit === undefined) {
    const plain = await claimPlain(context, db, laneStarts, request)
    if (plain) return plain
  }
  return claimAtDoor(context, db, laneStarts, request)
}

/** Null: something is due at the door, and nothing was taken. */
export async function claimPlain(
  context: Context,
  session: Session,
  laneStarts: LaneStarts,
  request: ClaimRequest,
): Promise<Claimed | null> {
  const { id, token, node, limit, dueBy, promptMs = defaultPromptMs } = request
  const kinds = context.names.kindRefs(request.kinds)
  const rows = await session.rows<ClaimRow>(takePlain, [
    ...[context.now(), id, token, node, limit, dueBy ?? null, column(kinds)],
    ...laneStarts.columns(kinds),
    promptMs,
  ])
  if (hasLeftAll(rows)) return null
  return answerClaim(context, session, laneStarts, request, rows)
}

/** Lets in what may come in, and takes due work. */
async function claimAtDoor(context: Context, session: Session, laneStarts: LaneStarts, request: ClaimRequest): Promise<Claimed> {
  const { sql, values } = doorClaim(context, request)
  return answerClaim(context, session, laneStarts, request, await session.rows<ClaimRow>(sql, values))
}

const takePlain = takeDue({
  now: 'coalesce($1::float8, punctual.now_ms())',
  id: '$2::text',
  token: '$3::text',
  node: '$4::text',
  limit: '$5::int',
  dueBy: '$6::float8',
  kinds: '$7::int[]',
  laneStarts: 'unnest($8::int[], $9::smallint[], $10::float8[])',
  promptMs: '$11::float8',
})

/** A claim for a node that is not there. */
export const claimNothing: Statement = { sql: takePlain, values: [0, '', '', '', 0, null, '{}', '{}', '{}', '{}', 0] }
