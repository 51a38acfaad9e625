// Claims that choose among what is due: by the rules themselves, with the door locked.
import type { Source } from '../../../model/lifecycle.ts'
import type { PauseRecord } from '../../../model/pause.ts'
import { bareEnd } from '../../../model/turn.ts'
import { defaultPromptMs } from '../../rules/door.ts'
import { picked } from '../../rules/pick.ts'
import { type PauseRow, pauseRecord } from '../../rules/sql/pause-row.ts'
import { type DueWork, verdictOn } from '../../rules/verdict.ts'
import type { ClaimPick, ClaimRequest, Hint, PassedOccurrence } from '../../store.ts'
import { Changes } from '../changes/changes.ts'
import type { Claimed } from '../claim.ts'
import { column } from '../connection/arrays.ts'
import { each } from '../connection/by-key.ts'
import type { Session } from '../connection/session.ts'
import type { Context } from '../context.ts'
import { takeIdle } from '../occurrence/idle.ts'
import { occurrenceColumns } from '../occurrence/record.ts'
import { readNextDue } from '../peek.ts'
import { describe, type MemberRow } from './members.ts'
import { countRunning, readJobFacts, reclaim, unknownNode } from './reclaim.ts'
import { startsBefore } from './take-due.ts'

interface DoorRow {
  readonly now: number
  readonly due_by: number
  readonly passed_refs: number[] | null
  readonly passed_states: string[] | null
  readonly passed_reasons: string[] | null
  readonly asked: (string | null)[] | null
  readonly granted_from: number | null
}

/** A due row that a pick sees. */
interface Candidate extends DueWork {
  readonly ref: number
  readonly id: string
  readonly priority: number
}

export async function claimPicked(context: Context, request: ClaimRequest, pick: ClaimPick): Promise<Claimed> {
  return context.db.transaction(async (session) => {
    await session.rows('SELECT one FROM punctual.door FOR UPDATE')
    const [node] = await session.rows('SELECT boot FROM punctual.node WHERE boot = $1 FOR KEY SHARE', [request.node])
    const [standing] = await session.rows('SELECT id FROM punctual.claim WHERE id = $1', [request.id])
    if (standing) return { answer: await reclaim(context, session, request), hints: [] }
    if (!node) throw unknownNode(request.node)
    const [door] = await session.rows<DoorRow>('SELECT * FROM punctual.open_door_1($1::float8, $2::float8)', [
      context.now(),
      request.dueBy ?? null,
    ])
    const { now, due_by: dueBy, asked, granted_from: grantedFrom } = door as DoorRow
    context.noteNow(now)
    const room = await roomOf(session, request)
    const pauses = await unsweptPauses(session)
    const due = await candidates(context, session, request, { dueBy, now, most: pauses.length > 0 ? null : room })
    const { taken, passed } = choose(picked(due, pick), { room, pauses, now })
    await pass(context, session, passed, now)
    const rows = await take(session, request, taken, now)
    const members = await describe(context, session, rows, {
      claim: request,
      now,
      jobs: await readJobFacts(
        session,
        rows.map(({ series }) => series),
      ),
    })
    const isFull = await noteFull(session, request)
    const nextDue = isFull ? null : await readNextDue(context, session, request.kinds, { now, isLater: true })
    const ended = await passedAtDoor(session, door as DoorRow)
    const hints: Hint[] = (asked ?? []).flatMap((one) => (one === null ? [] : { kind: 'cancel' as const, node: one }))
    if (grantedFrom !== null && taken.length < due.length) hints.push({ kind: 'due', at: Math.min(grantedFrom, now) })
    return { answer: { now, members, passed: [...ended, ...passed.flatMap(endOfPassed)], nextDue }, hints }
  })
}

async function roomOf(session: Session, { limit, clusterLimit }: ClaimRequest): Promise<number> {
  if (clusterLimit === undefined) return limit
  return Math.max(0, Math.min(limit, clusterLimit - (await runningInCluster(session))))
}

async function noteFull(session: Session, { clusterLimit }: ClaimRequest): Promise<boolean> {
  if (clusterLimit === undefined) return false
  const isFull = (await runningInCluster(session)) >= clusterLimit
  if (isFull) await session.rows('UPDATE punctual.door SET is_full = true WHERE NOT is_full')
  return isFull
}

async function runningInCluster(session: Session): Promise<number> {
  const [row] = await session.rows<{ running: number }>(countRunning)
  return row?.running ?? 0
}

async function unsweptPauses(session: Session): Promise<readonly PauseRecord[]> {
  return (await session.rows<PauseRow>('SELECT * FROM punctual.pause WHERE NOT swept ORDER BY id')).map(pauseRecord)
}

interface CandidateRow {
  readonly ref: number
  readonly id: string
  readonly series: number
  readonly priority: number
  readonly source: Source
  readonly scheduled_at: number
  readonly due_at: number
  readonly expires_at: number | null
  readonly begun: boolean
}

// lane: the series that have rows of a kind and priority, by skipping from one to the next.
const selectCandidates = `WITH RECURSIVE lane (kind, priority, series) AS (
    SELECT k.ref, p.priority, (SELECT r.series FROM punctual.ready r WHERE NOT r.gate AND r.kind = k.ref AND r.priority = p.priority
      ORDER BY r.series LIMIT 1) FROM punctual.kind k CROSS JOIN unnest(k.priorities) p (priority) WHERE k.ref = ANY($1::int[])
    UNION ALL
    SELECT l.kind, l.priority, (SELECT r.series FROM punctual.ready r WHERE NOT r.gate AND r.kind = l.kind AND r.priority = l.priority
      AND r.series > l.series ORDER BY r.series LIMIT 1) FROM lane l WHERE l.series IS NOT NULL)
  SELECT r.ref, o.id, r.series, r.priority, f.source, o.scheduled_at, r.due_at, r.expires_at, r.begun
  FROM lane l CROSS JOIN LATERAL (
    SELECT i.* FROM punctual.ready i WHERE NOT i.gate AND i.kind = l.kind AND i.priority = l.priority AND i.series = l.series AND i.due_at <= $2::float8
    ORDER BY i.due_at, i.ref LIMIT $3::int) r
  CROSS JOIN ${each('occurrence e', 'e.ref = r.ref')} o CROSS JOIN ${each('form g', 'g.ref = o.form')} f
  WHERE l.series IS NOT NULL ORDER BY r.priority, r.due_at, r.ref`

/** Due work in the order of a claim, of each job as many as there is room for. `most` null: all, since some may not run. */
async function candidates(
  context: Context,
  session: Session,
  { kinds }: ClaimRequest,
  { dueBy, now, most }: { dueBy: number; now: number; most: number | null },
): Promise<Candidate[]> {
  const { names } = context
  const read = (limit: number | null) =>
    session.rows<CandidateRow>(selectCandidates, [column(names.kindRefs(kinds)), dueBy, limit])
  let rows = await read(most)
  if (most !== null && rows.some((row) => row.expires_at !== null && row.expires_at < now)) rows = await read(null)
  await names.learn(session, { series: rows.map(({ series }) => series) })
  return rows.map((row) => {
    const { ref, id, priority, source, scheduled_at: scheduledAt, due_at: dueAt, begun: hasBegun } = row
    const { tenant, job } = names.seriesByRef(row.series)
    const startWithinMs = row.expires_at === null ? null : row.expires_at - dueAt
    return { ref, id, tenant, job, priority, source, scheduledAt, dueAt, startWithinMs, hasBegun }
  })
}

interface Passed {
  readonly row: Candidate
  readonly verdict: NonNullable<ReturnType<typeof verdictOn>>
}

function choose(
  rows: Iterable<Candidate>,
  { room, pauses, now }: { room: number; pauses: readonly PauseRecord[]; now: number },
): { readonly taken: Candidate[]; readonly passed: Passed[] } {
  const taken: Candidate[] = []
  const passed: Passed[] = []
  for (const row of rows) {
    if (taken.length >= room) break
    const verdict = verdictOn(row, pauses, now)
    if (verdict) passed.push({ row, verdict })
    else taken.push(row)
  }
  return { taken, passed }
}

/** Ends due work that may not run, or sets it aside. */
async function pass(context: Context, session: Session, passed: readonly Passed[], now: number): Promise<void> {
  if (passed.length === 0) return
  const changes = new Changes(now)
  const verdicts = new Map(passed.map(({ row, verdict }) => [row.ref, verdict]))
  for (const idle of await takeIdle(context, session, [...verdicts.keys()])) {
    const verdict = verdicts.get(idle.ref) as Passed['verdict']
    if ('state' in verdict) changes.endIdle(idle, { turn: idle.turn, ...bareEnd(verdict.state, now, { reason: verdict.reason }) })
    else changes.setAside(idle, 'pause', idle.isRetrying, verdict.wakeAt)
  }
  await changes.write(session)
}

function endOfPassed({ row: { id, tenant, job }, verdict }: Passed): PassedOccurrence[] {
  return 'state' in verdict ? [{ id, tenant, job, ...verdict }] : []
}

const takeRefs = `WITH taken AS (
    DELETE FROM punctual.ready WHERE ctid = ANY(ARRAY(
      SELECT r.ctid FROM unnest($5::bigint[]) k (ref) CROSS JOIN ${each('occurrence e', 'e.ref = k.ref')} o
      CROSS JOIN ${each('ready i', 'i.series = o.series AND i.ref = o.ref AND NOT i.gate', { columns: 'ctid', lock: 'FOR UPDATE SKIP LOCKED' })} r))
    RETURNING due_at, ref, series, turn, retrying, limits),
  made AS (
    INSERT INTO punctual.claim (id, token, node, refs, turns, dues)
    SELECT $2, $3, $4, array_agg(t.ref), array_agg(t.turn), array_agg(t.due_at)
    FROM (SELECT * FROM taken ORDER BY array_position($5::bigint[], ref)) t HAVING count(*) > 0),
  counted AS (
    INSERT INTO punctual.count_delta (series, pending, retrying, running)
    SELECT series, -count(*) FILTER (WHERE NOT retrying), -count(*) FILTER (WHERE retrying), count(*) FROM taken GROUP BY series),
  ${startsBefore},
  rates AS (
    INSERT INTO punctual.release (key, free_at, slots, ref)
    SELECT l.value ->> 'key', $1::float8 + (l.value ->> 'perMs')::float8 + $6::float8, 1, t.ref
    FROM taken t CROSS JOIN LATERAL jsonb_array_elements(t.limits) l (value) WHERE t.limits IS NOT NULL AND l.value ? 'perMs')
  SELECT ${occurrenceColumns}, t.due_at, t.turn FROM taken t CROSS JOIN ${each('occurrence i', 'i.ref = t.ref')} o
  ORDER BY array_position($5::bigint[], t.ref)`

async function take(
  session: Session,
  { id, token, node, promptMs = defaultPromptMs }: ClaimRequest,
  taken: readonly Candidate[],
  now: number,
): Promise<readonly MemberRow[]> {
  if (taken.length === 0) return []
  return session.rows<MemberRow>(takeRefs, [now, id, token, node, column(taken.map(({ ref }) => ref)), promptMs])
}

async function passedAtDoor(session: Session, door: DoorRow): Promise<PassedOccurrence[]> {
  const { passed_refs: refs, passed_states: states, passed_reasons: reasons } = door
  if (refs === null) return []
  return session.rows<PassedOccurrence>(
    `SELECT o.id, s.tenant, s.job, p.state, p.reason FROM unnest($1::bigint[], $2::text[], $3::text[]) p (ref, state, reason)
      CROSS JOIN ${each('occurrence e', 'e.ref = p.ref')} o JOIN punctual.series s ON s.ref = o.series WHERE p.state IS NOT NULL`,
    [column(refs), column(states ?? []), column(reasons ?? [])],
  )
}
