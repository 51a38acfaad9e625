import { isNodeGone } from '../rules/node.ts'
import { recoverMember } from '../rules/recover.ts'
import { notInTime, specFor } from '../rules/verdict.ts'
import type { Hint, PassedOccurrence, RescueAnswer, RescueRequest } from '../store.ts'
import { Changes } from './changes/changes.ts'
import { lockDoor } from './claim/door.ts'
import { lockClaims } from './claim/fence.ts'
import { column } from './connection/arrays.ts'
import { each, endOf, lacks } from './connection/by-key.ts'
import type { Session } from './connection/session.ts'
import { type Acted, type Context, storeNow } from './context.ts'
import { hasFreeHook, isExpiring, isStale, isUnswept, lateRows, mostAtOnce, removeNode } from './nodes.ts'
import { type RunningMember, readRunning } from './occurrence/running-members.ts'
import { sweepPauses } from './pause.ts'

type Rescued = RescueAnswer['rescued'][number]

const look = `SELECT t.now, ${isStale('t.now')} AS is_stale, ${isExpiring('t.now')} AS is_expiring, ${hasFreeHook('t.now')} AS has_free_hook,
  ${isUnswept('t.now')} AS is_unswept FROM (SELECT ${storeNow} AS now) t`

interface Look {
  readonly now: number
  readonly is_stale: boolean
  readonly is_expiring: boolean
  readonly has_free_hook: boolean
  readonly is_unswept: boolean
}

/** Ends the turns of gone nodes and of those past their deadline, what was not started in time, and hands out hooks. */
export async function rescue(context: Context, request: RescueRequest): Promise<Acted<RescueAnswer>> {
  const { db } = context
  const [seen] = (await db.rows<Look>(look, [context.now()])) as [Look]
  const { now } = seen
  context.noteNow(now)
  const rescued: Rescued[] = []
  const removed: string[] = []
  const hints: Hint[] = []
  let left = request.limit
  let more = false
  for (const gone of request.gone) {
    const done = await db.transaction((session) => rescueNode(context, session, request, { ...gone, left }))
    if (!done) continue
    rescued.push(...done.rescued)
    hints.push(...done.hints)
    left -= done.claims
    if (done.isRemoved) removed.push(gone.boot)
    else more = true
  }
  if (seen.is_stale) {
    const done = await db.transaction((session) => rescueStale(context, session, request, now))
    rescued.push(...done.rescued)
    hints.push(...done.hints)
  }
  // Work that was just put back or ended may be late, or have a hook to run, as well.
  const isMore = rescued.length + removed.length > 0
  const expired = seen.is_expiring || isMore ? await expire(context, now) : []
  if (expired.length > 0) hints.push({ kind: 'due', at: now })
  if (seen.is_unswept) await sweepPauses(db, now)
  const openHooks = seen.has_free_hook || isMore ? await handOutHooks(context, request) : []
  return { answer: { rescued, removed, more, expired, openHooks }, hints }
}

interface Done {
  readonly rescued: readonly Rescued[]
  readonly hints: readonly Hint[]
}

/** Null: the node is not gone. Its row is locked before its claims: its claim in flight has committed by then, or fails. */
async function rescueNode(
  context: Context,
  session: Session,
  request: RescueRequest,
  { boot, beats, left }: { boot: string; beats: number; left: number },
): Promise<(Done & { readonly claims: number; readonly isRemoved: boolean }) | null> {
  await session.rows(lockDoor)
  const [node] = await session.rows<{ beats: number; beat_at: number; ttl_ms: number; now: number }>(
    `SELECT beats, beat_at, ttl_ms, ${storeNow} AS now FROM punctual.node WHERE boot = $2 FOR UPDATE`,
    [context.now(), boot],
  )
  if (!node) return null
  const { now } = node
  if (!isNodeGone({ beats: node.beats, beatAt: node.beat_at, ttlMs: node.ttl_ms }, beats, now)) return null
  const existing = await session.rows<{ id: string }>('SELECT id FROM punctual.claim WHERE node = $1 ORDER BY seq', [boot])
  const ids = existing.slice(0, left).map(({ id }) => id)
  await lockClaims(session, ids, 'UPDATE')
  const done = await recoverAll(context, session, await readRunning(context, session, ids), {
    ...request,
    by: 'lost',
    now,
    drop: ids,
  })
  const isRemoved = ids.length === existing.length
  const freed = isRemoved ? await removeNode(context, session, boot, now) : []
  return { rescued: done.rescued, hints: [...done.hints, ...freed], claims: ids.length, isRemoved }
}

/** Turns past their deadline whose nodes may be alive. */
async function rescueStale(context: Context, session: Session, request: RescueRequest, now: number): Promise<Done> {
  const late = await session.rows<{ ref: number; claim: string | null }>(
    `SELECT s.ref, (SELECT c.id FROM punctual.claim c CROSS JOIN LATERAL unnest(c.refs, c.turns) m (ref, turn)
        WHERE c.refs @> ARRAY[s.ref] AND m.ref = s.ref AND m.turn = s.turn AND ${lacks('turn', endOf('m'))} LIMIT 1) AS claim
      FROM punctual.start s WHERE s.deadline_at < $1::float8 ORDER BY s.deadline_at LIMIT ${mostAtOnce}`,
    [now],
  )
  // Notes of turns that have ended are of no more use.
  const over = late.flatMap(({ ref, claim }) => (claim === null ? [ref] : []))
  if (over.length > 0)
    await session.rows('DELETE FROM punctual.start WHERE ref = ANY($1::bigint[]) AND deadline_at < $2::float8', [
      column(over),
      now,
    ])
  const claims = [...new Set(late.flatMap(({ claim }) => claim ?? []))]
  await lockClaims(session, claims, 'UPDATE')
  const refs = late.flatMap(({ ref, claim }) => (claim === null ? [] : [ref]))
  const members = await readRunning(context, session, claims, refs)
  return recoverAll(context, session, members, { ...request, by: 'stale', now, drop: [] })
}

interface Recovering extends RescueRequest {
  readonly by: 'lost' | 'stale'
  readonly now: number
  /** Claims that go with their members. */
  readonly drop: readonly string[]
}

async function recoverAll(
  context: Context,
  session: Session,
  members: readonly RunningMember[],
  recovering: Recovering,
): Promise<Done> {
  const { now, drop } = recovering
  const { versions } = context
  await versions.refresh(
    session,
    members.map(({ series }) => series),
  )
  const changes = new Changes(now)
  const hints: Hint[] = []
  const rescued = members.map((member) => recoverOne(context, changes, hints, member, recovering))
  changes.dropClaims(drop)
  if (await changes.write(session)) hints.push({ kind: 'due', at: now })
  return { rescued, hints }
}

function recoverOne(
  { versions }: Context,
  changes: Changes,
  hints: Hint[],
  member: RunningMember,
  recovering: Recovering,
): Rescued {
  const { by, now } = recovering
  const spec = specFor(versions.of(member.series), member.record, now)
  const { answer, row, dueAt } = recoverMember({ ...member, by, spec }, recovering, now)
  changes.endTurn(member, row)
  if (dueAt !== null) {
    changes.nextTurn(member, row, dueAt)
    hints.push({ kind: 'due', at: dueAt })
  } else changes.note(member)
  return answer
}

const endLate = `WITH ended AS MATERIALIZED (SELECT unnest(punctual.end_idle_1($1::float8, ARRAY(
    SELECT ref FROM ${lateRows('ready', '$1::float8')} a UNION ALL SELECT ref FROM ${lateRows('waiting', '$1::float8', "AND p.reason <> 'stranded'")} b),
    $2::text, $3::text, false)) AS ref)
  SELECT o.id, s.tenant, s.job FROM ended n CROSS JOIN ${each('occurrence e', 'e.ref = n.ref')} o JOIN punctual.series s ON s.ref = o.series`

/** Ends what has not started in time, whether or not a node could have run it. */
async function expire({ db }: Context, now: number): Promise<PassedOccurrence[]> {
  const rows = await db.rows<Omit<PassedOccurrence, 'state' | 'reason'>>(endLate, [now, notInTime.state, notInTime.reason])
  return rows.map((row) => ({ ...row, ...notInTime }))
}

const handOut = `UPDATE punctual.hook_note h SET node = NULL, free_at = ${storeNow} + $2::float8 WHERE h.ref = ANY(ARRAY(
    SELECT n.ref FROM punctual.hook_note n WHERE n.kind = ANY($3::int[]) AND n.free_at <= ${storeNow} ORDER BY n.free_at, n.ref
    LIMIT $4::int FOR UPDATE SKIP LOCKED)) RETURNING h.ref, (SELECT o.id FROM punctual.occurrence o WHERE o.ref = h.ref) AS id`

/** Gives hooks that have not run to the rescuer, and keeps other nodes from them for a while. */
async function handOutHooks(context: Context, { kinds, hookMs, limit }: RescueRequest): Promise<RescueAnswer['openHooks']> {
  const { db, names } = context
  await names.findKinds(db, kinds)
  return db.rows(handOut, [context.now(), hookMs, column(names.kindRefs(kinds)), limit])
}
