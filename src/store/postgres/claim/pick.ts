// Claims that choose among what is due: by the rules themselves, with the door locked.
import { type Pickable, picked } from '../../rules/pick.ts'
import type { ClaimPick, ClaimRequest, Hint, PassedOccurrence } from '../../store.ts'
import { column } from '../connection/arrays.ts'
import { each } from '../connection/by-key.ts'
import type { Context } from '../context.ts'
import { readNextDue } from '../peek.ts'
import { answerClaim, type Claimed, type ClaimRow } from './answer.ts'
import { doorClaim, lockDoor } from './door.ts'
import type { LaneStarts } from './lane-starts.ts'
import { reclaim } from './reclaim.ts'

interface DoorRow {
  readonly now: number
  readonly due_by: number
  readonly passed: readonly PassedOccurrence[]
  readonly asked: (string | null)[] | null
  readonly granted_from: number | null
}

/** A due row that a pick sees. */
interface Candidate extends Pickable {
  readonly ref: number
  /** It may not run, and is set aside or ended where a pick comes to it. */
  readonly is_barred: boolean
}

export async function claimPick(
  context: Context,
  laneStarts: LaneStarts,
  request: ClaimRequest,
  pick: ClaimPick,
): Promise<Claimed> {
  const { names, db } = context
  return db.transaction(async (session) => {
    await session.rows(lockDoor)
    const [existing] = await session.rows('SELECT id FROM punctual.claim WHERE id = $1', [request.id])
    if (existing) return { answer: await reclaim(context, session, request), hints: [] }
    const kinds = column(names.kindRefs(request.kinds))
    const [door] = (await session.rows<DoorRow>('SELECT * FROM punctual.let_in_1($1::float8, $2::float8)', [
      ...[context.now(), request.dueBy ?? null],
    ])) as [DoorRow]
    const due = await session.rows<Candidate>(selectCandidates, [kinds, door.due_by, request.limit, door.now])
    const chosen = choose(picked(due, pick), request.limit)
    const { sql, values } = doorClaim(context, request, { chosen })
    const { answer, hints } = await answerClaim(context, session, laneStarts, request, await session.rows<ClaimRow>(sql, values))
    const { now } = answer
    const places = new Map(chosen.map((ref, at) => [ref, at]))
    const members = answer.members.toSorted((a, b) => (places.get(a.ref) ?? 0) - (places.get(b.ref) ?? 0))
    const nextDue = answer.nextDue === null ? null : await readNextDue(context, session, request.kinds, { now, isLater: true })
    const asked = (door.asked ?? []).flatMap((node) => (node === null ? [] : { kind: 'cancel' as const, node }))
    const isLeft = door.granted_from !== null && members.length < due.length
    const left: Hint[] = isLeft ? [{ kind: 'due', at: Math.min(door.granted_from ?? now, now) }] : []
    return {
      answer: { ...answer, members, passed: [...door.passed, ...answer.passed], nextDue },
      hints: [...asked, ...hints, ...left],
    }
  })
}

/** The first that a pick comes to, until so many of them may run. */
function choose(rows: Iterable<Candidate>, limit: number): readonly number[] {
  const chosen: number[] = []
  let room = limit
  for (const { ref, is_barred: isBarred } of rows) {
    if (room === 0) break
    chosen.push(ref)
    if (!isBarred) room -= 1
  }
  return chosen
}

// lane: the series that have rows of a kind and priority, by skipping from one to the next. Of each, as many as there is room for, or
// all, where some may not run.
const selectCandidates = `WITH RECURSIVE lane (kind, priority, series) AS (
    SELECT k.ref, p.priority, (SELECT r.series FROM punctual.ready r WHERE NOT r.gate AND r.kind = k.ref AND r.priority = p.priority
      ORDER BY r.series LIMIT 1) FROM punctual.kind k CROSS JOIN unnest(k.priorities) p (priority) WHERE k.ref = ANY($1::int[])
    UNION ALL
    SELECT l.kind, l.priority, (SELECT r.series FROM punctual.ready r WHERE NOT r.gate AND r.kind = l.kind AND r.priority = l.priority
      AND r.series > l.series ORDER BY r.series LIMIT 1) FROM lane l WHERE l.series IS NOT NULL),
  g AS MATERIALIZED (SELECT EXISTS (SELECT 1 FROM punctual.pause WHERE NOT swept) AS has_pauses,
    EXISTS (SELECT 1 FROM punctual.ready WHERE expires_at < $4::float8) AS has_expired)
  SELECT r.ref, s.tenant, s.job, r.priority, r.is_barred
  FROM lane l CROSS JOIN g CROSS JOIN LATERAL (
    SELECT i.*, CASE WHEN g.has_pauses OR i.expires_at < $4::float8 THEN (punctual.verdict_1(i, $4::float8)).reason IS NOT NULL ELSE false END AS is_barred
    FROM punctual.ready i WHERE NOT i.gate AND i.kind = l.kind AND i.priority = l.priority AND i.series = l.series AND i.due_at <= $2::float8
    ORDER BY i.due_at, i.ref LIMIT CASE WHEN g.has_pauses OR g.has_expired THEN NULL ELSE $3::int END) r CROSS JOIN ${each('series e', 'e.ref = r.series')} s
  WHERE l.series IS NOT NULL ORDER BY r.priority, r.due_at, r.ref`
