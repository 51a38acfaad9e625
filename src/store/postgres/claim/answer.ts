// The answer to a claim, from the rows that its statement returned.

import { unknownNode } from '../../rules/node.ts'
import type { ClaimAnswer, ClaimRequest, Hint, PassedOccurrence } from '../../store.ts'
import type { Session } from '../connection/session.ts'
import type { Acted, Context } from '../context.ts'
import type { CurrentJob } from './current-jobs.ts'
import type { Lane, LaneStarts } from './lane-starts.ts'
import { describe, inOrder, type MemberRow } from './members.ts'
import { reclaim } from './reclaim.ts'

export type Claimed = Acted<ClaimAnswer>

/** The facts that the statement found, beside the rows that it took. */
interface Head {
  readonly now: number
  readonly isJoined: boolean
  readonly stands: boolean
  /** False: nothing was taken, since limits, pauses or deadlines play a part. */
  readonly isPlain: boolean
  /** When a row that is not ready is worth a look. */
  readonly wakeAt: number | null
  /** For the next claim to begin at. */
  readonly lanes: readonly Lane[]
  readonly jobs: readonly CurrentJob[]
  // Of a claim that has been at the door:
  readonly isFull?: boolean
  readonly asked?: readonly (string | null)[] | null
  /** Work that was let in is left. */
  readonly isLeft?: boolean
  /** The earliest due of work that was let in. */
  readonly grantedFrom?: number | null
  readonly passed?: readonly PassedOccurrence[]
}

/** A member, or the head, whose payload is JSON. */
export type ClaimRow = MemberRow | { readonly ref: null; readonly payload: string }

function headOf(rows: readonly ClaimRow[]): Head {
  const head = rows.find(({ ref }) => ref === null)
  return JSON.parse(head?.payload as string) as Head
}

/** Whether the statement took nothing, since the door has to be opened first. */
export function hasLeftAll(rows: readonly ClaimRow[]): boolean {
  const { stands, isJoined, isPlain } = headOf(rows)
  return !stands && isJoined && !isPlain
}

export async function answerClaim(
  context: Context,
  session: Session,
  laneStarts: LaneStarts,
  request: ClaimRequest,
  rows: readonly ClaimRow[],
): Promise<Claimed> {
  const head = headOf(rows)
  const { now, isJoined, stands, lanes, jobs, isFull = false, grantedFrom = null } = head
  context.noteNow(now)
  if (stands) return { answer: await reclaim(context, session, request), hints: [] }
  if (!isJoined) throw unknownNode(request)
  laneStarts.note(now, lanes)
  if (grantedFrom !== null) laneStarts.lower(grantedFrom)
  const taken = rows.filter((row): row is MemberRow => row.ref !== null)
  const members = await describe(context, session, taken, { claim: request, now, jobs })
  const hints: Hint[] = (head.asked ?? []).flatMap((node) => (node === null ? [] : { kind: 'cancel' as const, node }))
  // Work let in that this node has no room for, or cannot run, is another's to take.
  if (grantedFrom !== null && head.isLeft) hints.push({ kind: 'due', at: Math.min(grantedFrom, now) })
  return {
    answer: { now, members: members.sort(inOrder), passed: head.passed ?? [], nextDue: isFull ? null : nextDueOf(head) },
    hints,
  }
}

function nextDueOf({ wakeAt, lanes }: Head): number | null {
  const dues = [wakeAt, ...lanes.map(({ nextDue }) => nextDue)].filter((due) => due !== null)
  return dues.length === 0 ? null : Math.min(...dues)
}
