import { defaultPromptMs } from '../rules/door.ts'
import type { ClaimAnswer, ClaimRequest, Hint, PassedOccurrence } from '../store.ts'
import type { Floors } from './claim/floors.ts'
import { describe, inOrder, type JobFacts, type MemberRow } from './claim/members.ts'
import { claimPicked } from './claim/picked.ts'
import { reclaim, unknownNode } from './claim/reclaim.ts'
import { takeDue } from './claim/take-due.ts'
import { column } from './connection/arrays.ts'
import type { Session, Statement } from './connection/session.ts'
import type { Context } from './context.ts'

export interface Claimed {
  readonly answer: ClaimAnswer
  readonly hints: readonly Hint[]
}

/** The facts that the statement found, beside the rows that it took. */
interface Head {
  readonly now: number
  readonly isJoined: boolean
  readonly stands: boolean
  /** False: nothing was taken, since limits, pauses or deadlines play a part. */
  readonly isPlain: boolean
  /** When a row that is not ready is worth a look. */
  readonly wakeAt: number | null
  /** The next due of each lane, for the next claim to begin at. */
  readonly lanes: readonly [kind: number, priority: number, nextDue: number | null][]
  readonly jobs: readonly JobFacts[]
  // Of a claim that has been at the door:
  readonly isFull?: boolean
  readonly asked?: readonly (string | null)[] | null
  /** Work that was let in is left. */
  readonly isLeft?: boolean
  /** The earliest due of work that was let in. */
  readonly grantedFrom?: number | null
  readonly passed?: readonly [id: string, tenant: string, job: string, state: PassedOccurrence['state'], reason: string][]
}

/**
 * Takes due work: by one statement where nothing but due times and priorities decides. Where work is due at the door, the
 * statement takes nothing, and one call of a function lets work in and takes it in the same commit.
 */
export async function claim(context: Context, floors: Floors, request: ClaimRequest): Promise<Claimed> {
  const { db, names } = context
  await names.addKinds(request.kinds)
  if (request.pick) return claimPicked(context, request, request.pick)
  if (request.clusterLimit === undefined) {
    const plain = await claimPlain(context, db, floors, request)
    if (plain) return plain
  }
  return claimAtDoor(context, db, floors, request)
}

/** Null: something is due at the door, and nothing was taken. */
export async function claimPlain(
  context: Context,
  session: Session,
  floors: Floors,
  request: ClaimRequest,
): Promise<Claimed | null> {
  const { id, token, node, limit, dueBy, promptMs = defaultPromptMs } = request
  const kinds = context.names.kindRefs(request.kinds)
  const rows = await session.rows<ClaimRow>(takePlain, [
    ...[context.now(), id, token, node, limit, dueBy ?? null, column(kinds)],
    ...floors.columns(kinds),
    promptMs,
  ])
  const head = headOf(rows)
  if (!head.stands && head.isJoined && !head.isPlain) return null
  return answer(context, session, floors, request, head, rows)
}

/** Lets in what may come in, and takes due work. */
export async function claimAtDoor(context: Context, session: Session, floors: Floors, request: ClaimRequest): Promise<Claimed> {
  const { id, token, node, limit, dueBy, clusterLimit, promptMs = defaultPromptMs } = request
  const kinds = column(context.names.kindRefs(request.kinds))
  const rows = await session.rows<ClaimRow>(takeAtDoor, [
    ...[context.now(), id, token, node, limit, dueBy ?? null, kinds, clusterLimit ?? null, promptMs],
  ])
  return answer(context, session, floors, request, headOf(rows), rows)
}

const takePlain = takeDue({
  now: 'coalesce($1::float8, punctual.now_ms())',
  id: '$2::text',
  token: '$3::text',
  node: '$4::text',
  limit: '$5::int',
  dueBy: '$6::float8',
  kinds: '$7::int[]',
  floors: 'unnest($8::int[], $9::smallint[], $10::float8[])',
  promptMs: '$11::float8',
})

const takeAtDoor = `SELECT * FROM punctual.claim_1($1::float8, $2::text, $3::text, $4::text, $5::int, $6::float8, $7::int[], $8::int, $9::float8)`

/** A member, or the head, whose payload is JSON. */
type ClaimRow = MemberRow | { readonly ref: null; readonly payload: string }

function headOf(rows: readonly ClaimRow[]): Head {
  const head = rows.find(({ ref }) => ref === null)
  return JSON.parse(head?.payload as string) as Head
}

async function answer(
  context: Context,
  session: Session,
  floors: Floors,
  request: ClaimRequest,
  head: Head,
  rows: readonly ClaimRow[],
): Promise<Claimed> {
  const { now, isJoined, stands, lanes, jobs, isFull = false, grantedFrom = null } = head
  context.noteNow(now)
  if (stands) return { answer: await reclaim(context, session, request), hints: [] }
  if (!isJoined) throw unknownNode(request.node)
  floors.note(now, lanes)
  if (grantedFrom !== null) floors.lower(grantedFrom)
  const taken = rows.filter((row): row is MemberRow => row.ref !== null)
  const members = await describe(context, session, taken, { claim: request, now, jobs })
  const passed = (head.passed ?? []).map(([id, tenant, job, state, reason]) => ({ id, tenant, job, state, reason }))
  const hints: Hint[] = (head.asked ?? []).flatMap((node) => (node === null ? [] : { kind: 'cancel' as const, node }))
  // Work let in that this node has no room for, or cannot run, is another's to take.
  if (grantedFrom !== null && head.isLeft) hints.push({ kind: 'due', at: Math.min(grantedFrom, now) })
  return { answer: { now, members: members.sort(inOrder), passed, nextDue: isFull ? null : nextDueOf(head) }, hints }
}

function nextDueOf({ wakeAt, lanes }: Head): number | null {
  const dues = [wakeAt, ...lanes.map(([, , due]) => due)].filter((due) => due !== null)
  return dues.length === 0 ? null : Math.min(...dues)
}

/** A claim for a node that is not there. */
export const claimNothing: Statement = { sql: takePlain, values: [0, '', '', '', 0, null, '{}', '{}', '{}', '{}', 0] }
