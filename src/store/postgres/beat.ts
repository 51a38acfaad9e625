import type { TurnRecord } from '../../model/occurrence.ts'
import { bareEnd } from '../../model/turn.ts'
import { pulseBeat, unknownBeat } from '../rules/node.ts'
import { nextTurnDue } from '../rules/settle.ts'
import type { Beat, BeatAnswer, CancelNotice, Hint, NodeInfo } from '../store.ts'
import { Changes } from './changes/changes.ts'
import { putStarts } from './checkpoint.ts'
import { lockDoor } from './claim/door.ts'
import { column } from './connection/arrays.ts'
import { each, endOf, lacks } from './connection/by-key.ts'
import type { Session } from './connection/session.ts'
import { type Acted, type Context, storeNow } from './context.ts'
import { removeNode, updateServedKinds } from './nodes.ts'
import { type RunningMember, readRunning } from './occurrence/running-members.ts'
import { takeIdleWhere } from './occurrence/take-idle.ts'

interface Look {
  readonly now: number
  readonly alive_since: number
  /** Null for a node that is not known. */
  readonly draining: boolean | null
  readonly is_break: boolean
  readonly last_alive_at: number
}

const look = `SELECT t.now, l.alive_since, (SELECT draining FROM punctual.node WHERE boot = $2) AS draining,
  NOT EXISTS (SELECT 1 FROM punctual.node WHERE beat_at + ttl_ms >= t.now) AS is_break, l.last_alive_at
  FROM (SELECT ${storeNow} AS now) t, punctual.life l`

export async function beat(context: Context, one: Beat): Promise<Acted<BeatAnswer>> {
  const { db, names } = context
  if (one.phase === 'pulse') return { answer: await pulse(context, one), hints: [] }
  await names.addKinds(one.node.kinds)
  if (one.phase === 'join' && one.node.picks) await addPickIndex(context)
  const quiet = one.phase === 'stay' ? await beatAlone(context, one) : null
  if (quiet) return { answer: quiet, hints: [] }
  return db.transaction((session) => beatWithCare(session, context, one))
}

/** Nodes that pick read the first rows of each job: they need an index by job, which others need not pay for. */
async function addPickIndex({ db }: Context): Promise<void> {
  try {
    await db.rows('CREATE INDEX IF NOT EXISTS ready_pick ON punctual.ready (kind, priority, series, due_at, ref) WHERE NOT gate')
  } catch {
    // It is only about speed: the role may lack the right, or another node makes it at the same moment.
  }
}

interface AloneRow {
  readonly now: number
  readonly alive_since: number
  readonly own_claims: string[] | null
  readonly cancels: readonly CancelNotice[] | null
  readonly draining: boolean
  readonly over: BeatAnswer['over'] | null
}

const changed = `name = $2, pid = $3, concurrency = $4, kinds = $5, version = $6, tz = $7, ttl_ms = $8, release = $9, declares = $10,
  picks = $11`

// own_claims: the node's claims. member: what it runs. One row means that all of it was written.
const updateAlone = `WITH t AS MATERIALIZED (SELECT coalesce($12::float8, punctual.now_ms()) AS now),
  own_claims AS MATERIALIZED (SELECT id, refs, turns FROM punctual.claim WHERE node = $1),
  member AS MATERIALIZED (
    SELECT m.ref, m.turn FROM own_claims s CROSS JOIN LATERAL unnest(s.refs, s.turns) m (ref, turn) WHERE ${lacks('turn', endOf('m'))}),
  beaten AS (
    UPDATE punctual.node n SET ${changed}, beat_at = t.now, beats = n.beats + 1, running = (SELECT count(*) FROM member),
      draining = n.draining OR $18::boolean, parts = $19
    FROM t WHERE n.boot = $1 AND n.kinds = $5 AND EXISTS (SELECT 1 FROM punctual.node o WHERE o.beat_at + o.ttl_ms >= t.now)
      AND NOT EXISTS (SELECT 1 FROM own_claims WHERE NOT id = ANY($13::text[])) RETURNING n.boot, n.draining),
  alive AS (UPDATE punctual.life SET last_alive_at = t.now FROM t, beaten RETURNING life.alive_since),
  long AS (
    INSERT INTO punctual.start (ref, turn, started_at, deadline_at)
    SELECT l.ref, l.turn, l.started_at, l.deadline_at FROM beaten, unnest($14::bigint[], $15::int[], $16::float8[], $17::float8[])
      l (ref, turn, started_at, deadline_at) WHERE EXISTS (SELECT 1 FROM member m WHERE m.ref = l.ref AND m.turn = l.turn)
    ON CONFLICT (ref) DO UPDATE SET turn = excluded.turn, started_at = excluded.started_at, deadline_at = excluded.deadline_at)
  SELECT t.now, a.alive_since, (SELECT array_agg(id) FROM own_claims) AS own_claims,
    (SELECT json_agg(json_build_object('ref', q.ref, 'turn', q.turn, 'reason', q.reason)) FROM member m
      CROSS JOIN ${each('cancel_request', endOf('m'))} q) AS cancels, (SELECT draining FROM beaten) AS draining,
    (SELECT json_agg(json_build_object('ref', l.ref, 'turn', l.turn)) FROM unnest($14::bigint[], $15::int[]) l (ref, turn)
      WHERE NOT EXISTS (SELECT 1 FROM member m WHERE m.ref = l.ref AND m.turn = l.turn)) AS over
  FROM t, alive a`

/** The beat of a node that is known, knows its claims and was not left alone by all: nearly all beats. Null: it needs care. */
async function beatAlone(context: Context, { node, claims, inFlight, long }: Beat): Promise<BeatAnswer | null> {
  const [row] = await context.db.rows<AloneRow>(updateAlone, [
    ...[node.boot, ...nodeValues(node), node.picks, context.now(), column([...claims, ...inFlight])],
    // Of two turns of the same work one at most goes on.
    ...startColumns([...new Map(long.map((one) => [`${one.ref} ${one.turn}`, one])).values()]),
    node.isDraining,
    JSON.stringify(node.parts),
  ])
  if (!row) return null
  const { now } = row
  context.noteNow(now)
  const held = new Set(row.own_claims ?? [])
  const lost = claims.filter((id) => !held.has(id))
  return {
    now,
    aliveSince: row.alive_since,
    known: true,
    lost,
    cancels: row.cancels ?? [],
    isDraining: row.draining,
    over: row.over ?? [],
  }
}

interface PulseRow {
  readonly now: number
  readonly alive_since: number
  /** Null for a node that is not known. */
  readonly draining: boolean | null
}

/** Says only that the node lives. */
async function pulse(context: Context, one: Beat): Promise<BeatAnswer> {
  const [row] = await context.db.rows<PulseRow>(
    `WITH beaten AS (UPDATE punctual.node SET beat_at = ${storeNow}, beats = beats + 1 WHERE boot = $2 RETURNING draining),
        alive AS (UPDATE punctual.life SET last_alive_at = ${storeNow} FROM beaten)
      SELECT ${storeNow} AS now, l.alive_since, (SELECT draining FROM beaten) AS draining FROM punctual.life l`,
    [context.now(), one.node.boot],
  )
  const { now, alive_since: aliveSince, draining } = row as PulseRow
  context.noteNow(now)
  return draining === null ? unknownBeat(one, now, aliveSince) : pulseBeat(now, aliveSince, draining)
}

/** The values of the columns from `name` to `declares`. */
function nodeValues(node: NodeInfo): (string | number | null)[] {
  const { name, pid, concurrency, kinds, version, tz, ttlMs, release, declares } = node
  return [name, pid, concurrency, JSON.stringify(kinds), version, tz, ttlMs, release, JSON.stringify(declares)]
}

function startColumns(long: Beat['long']): (string | null)[] {
  return [
    column(long.map(({ ref }) => ref)),
    column(long.map(({ turn }) => turn)),
    column(long.map(({ startedAt }) => startedAt)),
    column(long.map(({ deadlineAt }) => deadlineAt)),
  ]
}

/** Joins, leaves, gives back claims whose answer never arrived, and notes a time without nodes. The door is locked first. */
async function beatWithCare(session: Session, context: Context, one: Beat): Promise<Acted<BeatAnswer>> {
  const { node, claims, inFlight, phase } = one
  await session.rows(lockDoor)
  await session.rows('SELECT boot FROM punctual.node WHERE boot = $1 FOR UPDATE', [node.boot])
  await session.rows('SELECT one FROM punctual.life FOR UPDATE')
  const [seen] = (await session.rows<Look>(look, [context.now(), node.boot])) as [Look]
  const { now, alive_since: before, is_break: isBreak } = seen
  context.noteNow(now)
  if (seen.draining === null && phase !== 'join') return { answer: unknownBeat(one, now, before), hints: [] }
  const hints: Hint[] = []
  if (isBreak) await noteBreak(context, session, seen.last_alive_at, now)
  const ownClaims = await claimsOf(session, node.boot)
  const known = new Set([...claims, ...inFlight])
  const stray = ownClaims.filter((id) => !known.has(id))
  if (stray.length > 0) hints.push(...(await giveBack(context, session, stray, now)))
  const held = await runningOf(session, node.boot)
  const over = await writeLong(session, held, one)
  const isNodeGone = phase === 'leave' && held.length === 0
  if (isNodeGone) hints.push(...(await removeNode(context, session, node.boot, now)))
  const isDraining = isNodeGone ? seen.draining || node.isDraining : await putNode(context, session, node, now, held.length)
  await session.rows(
    'UPDATE punctual.life SET last_alive_at = $1, alive_since = CASE WHEN $2::boolean THEN $1 ELSE alive_since END',
    [now, isBreak],
  )
  const left = new Set(ownClaims)
  const lost = claims.filter((id) => !left.has(id))
  const cancels = await cancelsOf(session, held)
  return { answer: { now, aliveSince: isBreak ? now : before, known: true, lost, cancels, isDraining, over }, hints }
}

/** No node was there until now: planned work that came due meanwhile waits for the planner. */
async function noteBreak(context: Context, session: Session, lastAliveAt: number, now: number): Promise<void> {
  const where = 'p.planned AND NOT p.begun AND p.due_at > $1::float8 AND p.due_at <= $2::float8'
  const stranded = await takeIdleWhere(context, session, where, [lastAliveAt, now], ['ready'])
  if (stranded.length === 0) return
  const changes = new Changes(now)
  for (const idle of stranded) changes.setAside(idle, 'stranded', idle.isRetrying)
  await changes.write(session)
  await session.rows(
    'UPDATE punctual.job SET next_at = least(coalesce(next_at, $2::float8), $2::float8) WHERE series = ANY($1::int[])',
    [column([...new Set(stranded.map(({ series }) => series))]), now],
  )
}

/** The claims of the node, the oldest first, locked. */
async function claimsOf(session: Session, boot: string): Promise<readonly string[]> {
  const rows = await session.rows<{ id: string; seq: number }>(
    'SELECT id, seq FROM punctual.claim WHERE node = $1 ORDER BY id FOR UPDATE',
    [boot],
  )
  return rows.sort((a, b) => a.seq - b.seq).map(({ id }) => id)
}

/** Claims whose answer never reached their node: nothing of them was started. */
async function giveBack(context: Context, session: Session, claims: readonly string[], now: number): Promise<Hint[]> {
  const changes = new Changes(now)
  const hints = (await readRunning(context, session, claims)).flatMap((member) => endInPlace(changes, member, now))
  changes.dropClaims(claims)
  if (await changes.write(session)) hints.push({ kind: 'due', at: now })
  return hints
}

/** Ends the turn of running work in the place of its node, and puts it back for its next one. The claim is locked. */
export function endInPlace(changes: Changes, member: RunningMember, now: number, more: Partial<TurnRecord> = {}): Hint[] {
  const { node, turn, cancel } = member
  if (cancel) {
    changes.endIdle(member, { turn, ...bareEnd('canceled', now, { ...more, node, reason: cancel.reason }) })
    return []
  }
  const end = { turn, ...bareEnd('released', now, { ...more, node }) }
  const dueAt = nextTurnDue({ end, delayMs: 0 }, member, now)
  changes.endTurn(member, end)
  changes.nextTurn(member, end, dueAt)
  return [{ kind: 'due', at: dueAt }]
}

interface Held {
  readonly ref: number
  readonly turn: number
}

async function runningOf(session: Session, boot: string): Promise<readonly Held[]> {
  return session.rows<Held>(
    `SELECT m.ref, m.turn FROM punctual.claim c CROSS JOIN unnest(c.refs, c.turns) m (ref, turn) WHERE c.node = $1
      AND ${lacks('turn', endOf('m'))}`,
    [boot],
  )
}

/** Notes since when turns run that have run for long. Returns those that are over. */
async function writeLong(session: Session, held: readonly Held[], { long }: Beat): Promise<readonly Held[]> {
  const running = new Map(held.map(({ ref, turn }) => [ref, turn]))
  const kept = new Map(long.filter(({ ref, turn }) => running.get(ref) === turn).map((one) => [one.ref, one]))
  const over = long.filter(({ ref, turn }) => running.get(ref) !== turn).map(({ ref, turn }) => ({ ref, turn }))
  if (kept.size === 0) return over
  await session.rows(putStarts, startColumns([...kept.values()]))
  return over
}

async function cancelsOf(session: Session, held: readonly Held[]): Promise<CancelNotice[]> {
  if (held.length === 0) return []
  return session.rows<CancelNotice>(
    `SELECT q.ref, q.turn, q.reason FROM unnest($1::bigint[], $2::int[]) m (ref, turn)
      CROSS JOIN ${each('cancel_request', endOf('m'))} q`,
    [column(held.map(({ ref }) => ref)), column(held.map(({ turn }) => turn))],
  )
}

/** Returns whether the node drains. */
async function putNode(context: Context, session: Session, node: NodeInfo, now: number, running: number): Promise<boolean> {
  const kinds = column(context.names.kindRefs(node.kinds))
  const [row] = await session.rows<{ draining: boolean }>(
    `INSERT INTO punctual.node (boot, name, pid, concurrency, kinds, version, tz, ttl_ms, release, declares, picks, started_at, beat_at, beats,
        running, kind_refs, draining, parts)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12, 1, $13, $14::int[], $15, $16)
      ON CONFLICT (boot) DO UPDATE SET ${changed}, beat_at = $12, beats = node.beats + 1, running = $13, kind_refs = $14::int[],
        draining = node.draining OR $15, parts = $16 RETURNING draining`,
    [node.boot, ...nodeValues(node), node.picks, now, running, kinds, node.isDraining, JSON.stringify(node.parts)],
  )
  await updateServedKinds(session)
  return row?.draining ?? node.isDraining
}
