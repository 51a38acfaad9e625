import { release } from '../ledger/care.ts'
import { nodeColumns, nodeValues } from '../rows/node-row.ts'
import type { Beat, BeatAnswer, CancelNotice, Hint, NodeInfo } from '../store.ts'
import { column } from './arrays.ts'
import { each, endOf, has, lacks } from './by-key.ts'
import { layLanes } from './candidates.ts'
import { writeStarts } from './checkpoint.ts'
import { type Context, storeNow } from './context.ts'
import type { Session } from './database.ts'
import { flush } from './flush.ts'
import { limitedToStrand, strand } from './places.ts'
import { Slice } from './slice.ts'

interface Beaten {
  readonly answer: BeatAnswer
  readonly hints: readonly Hint[]
}

type Look = [now: number, aliveSince: number, isKnown: boolean, isBreak: boolean]

const look = `SELECT t.now, m.alive_since, EXISTS (SELECT 1 FROM punctual.node WHERE boot = $2) AS is_known,
  NOT EXISTS (SELECT 1 FROM punctual.node WHERE beat_at + ttl_ms >= t.now) AS is_break
  FROM (SELECT ${storeNow} AS now) t, punctual.meta m`

// Nobody declares the node gone while it beats. From one that leaves no claim is taken any more, however late it comes.
const lockToStay = 'SELECT boot FROM punctual.node WHERE boot = $1 FOR NO KEY UPDATE'
const lockToLeave = 'SELECT boot FROM punctual.node WHERE boot = $1 FOR UPDATE'

export async function beat(context: Context, one: Beat): Promise<Beaten> {
  const { db, dictionary } = context
  const { node, claims, phase } = one
  const boot = await dictionary.addBoot(node.boot)
  if (phase === 'pulse') return { answer: await pulse(context, boot, claims), hints: [] }
  if (node.picks) {
    await dictionary.addKinds(node.kinds.map((kind) => ({ kind, priority: 5 })))
    await layLanes(context, node.kinds)
  }
  const quiet = phase === 'stay' && claims.length === 0 ? await beatQuietly(context, boot, node) : null
  if (quiet) return { answer: quiet, hints: [] }
  return db.transaction(async (session) => {
    // What is asked for at once is answered in this order, all of it after the lock was had.
    const [, [seen], standing, running] = await Promise.all([
      session.all(phase === 'leave' ? lockToLeave : lockToStay, [boot]),
      session.all<Look>(look, [context.now(), boot]),
      claimsOf(session, boot),
      heldBy(session, boot),
    ])
    const [now, before, isKnown, isBreak] = seen as Look
    context.noteNow(now)
    if (!isKnown && phase !== 'join')
      return { answer: { now, aliveSince: before, known: false, lost: claims, cancels: [] }, hints: [] }
    const broken = isBreak ? await findBreak(session, context, boot) : null
    const stray = strayAmong(standing, one)
    const isRight = !broken?.isSo && stray.length === 0
    const hints = isRight ? [] : await setRight(session, context, broken?.isSo ?? false, stray)
    const held = isRight ? running : await heldBy(session, boot)
    const [cancels] = await Promise.all([
      cancelNotices(session, held),
      noteLong(session, held, one),
      phase === 'leave' && held.length === 0 ? removeNode(session, boot) : putNode(session, boot, node, now, held.length),
    ])
    const lost = claims.filter((id) => !standing.has(id))
    return { answer: { now, aliveSince: broken?.aliveSince ?? before, known: true, lost, cancels }, hints }
  })
}

const changed = `name = $2, pid = $3, concurrency = $4, kinds = $5, version = $6, tz = $7, ttl_ms = $8, release = $9, declares = $10,
  picks = $11`

const beatAlone = `UPDATE punctual.node n SET ${changed}, beat_at = t.now, beats = n.beats + 1, running = 0
  FROM (SELECT coalesce($12::float8, punctual.now_ms()) AS now) t, punctual.meta m
  WHERE n.boot = $1 AND NOT EXISTS (SELECT 1 FROM punctual.claim WHERE node = $1)
    AND EXISTS (SELECT 1 FROM punctual.node o WHERE o.beat_at + o.ttl_ms >= t.now)
  RETURNING t.now, m.alive_since`

/** The beat of a node that is known, holds nothing and was not left alone by all: most of the time no other is sent. Null where it is none. */
async function beatQuietly(context: Context, boot: number, node: NodeInfo): Promise<BeatAnswer | null> {
  const [row] = await context.db.all<[now: number, aliveSince: number]>(beatAlone, [
    boot,
    ...nodeValues(node),
    node.picks,
    context.now(),
  ])
  if (!row) return null
  const [now, aliveSince] = row
  context.noteNow(now)
  return { now, aliveSince, known: true, lost: [], cancels: [] }
}

/** Says only that the node lives. */
async function pulse(context: Context, boot: number, claims: readonly string[]): Promise<BeatAnswer> {
  const [row] = await context.db.all<[now: number, aliveSince: number, isKnown: boolean]>(
    `WITH beaten AS (UPDATE punctual.node SET beat_at = ${storeNow}, beats = beats + 1 WHERE boot = $2 RETURNING boot)
      SELECT ${storeNow}, m.alive_since, EXISTS (SELECT 1 FROM beaten) FROM punctual.meta m`,
    [context.now(), boot],
  )
  const [now, aliveSince, known] = row as [number, number, boolean]
  context.noteNow(now)
  return { now, aliveSince, known, lost: known ? [] : claims, cancels: [] }
}

/** Whether nobody was there until now. */
async function findBreak(session: Session, context: Context, boot: number): Promise<{ isSo: boolean; aliveSince: number }> {
  // Of several nodes that come at once the first says so.
  await session.all('SELECT alive_since FROM punctual.meta FOR UPDATE')
  const [seen] = (await session.all<Look>(look, [context.now(), boot])) as [Look]
  const [now, before, , isSo] = seen
  if (isSo) await session.all('UPDATE punctual.meta SET alive_since = $1', [now])
  return { isSo, aliveSince: isSo ? now : before }
}

/** The claims of the node, the oldest first. */
async function claimsOf(session: Session, boot: number): Promise<ReadonlySet<string>> {
  const rows = await session.all<[string]>('SELECT id FROM punctual.claim WHERE node = $1 ORDER BY seq', [boot])
  return new Set(rows.map(([id]) => id))
}

/** Claims of the node that it does not know: their answers never reached it. */
function strayAmong(standing: ReadonlySet<string>, { claims, inFlight }: Beat): readonly string[] {
  const known = new Set([...claims, ...inFlight])
  return [...standing].filter((id) => !known.has(id))
}

/** After a break, what was planned and came due meanwhile waits for the planner's word. What is in stray claims is given back. */
async function setRight(
  session: Session,
  context: Context,
  isBreak: boolean,
  stray: readonly string[],
): Promise<readonly Hint[]> {
  const slice = await Slice.begin(session, context)
  const rows = await session.all<[number]>(
    'SELECT DISTINCT m.ref FROM punctual.claim c CROSS JOIN unnest(c.refs) m (ref) WHERE c.id = ANY($1::text[])',
    [column(stray)],
  )
  const members = rows.map(([ref]) => ref)
  await slice.prepareKeys([...members, ...(isBreak ? await limitedToStrand(session, slice.now) : [])])
  const stranded = isBreak ? await strand(session, slice.now) : []
  await slice.gather([...members, ...stranded], { claims: stray })
  for (const ref of stranded) {
    const entry = slice.ledger.entries.get(ref)
    if (entry) slice.ledger.passOn(entry)
  }
  for (const id of stray) {
    const claim = slice.ledger.claims.get(id)
    if (claim) release(slice.ledger, claim, slice.now)
  }
  await flush(slice)
  return slice.hints
}

interface Held {
  readonly ref: number
  readonly turn: number
}

async function heldBy(session: Session, boot: number): Promise<readonly Held[]> {
  const members = await session.all<[number, number]>(
    `SELECT m.ref, m.turn FROM punctual.claim c CROSS JOIN unnest(c.refs, c.turns) m (ref, turn) WHERE c.node = $1
      AND ${lacks('turn', endOf('m'))} AND ${has('occurrence', 'ref = m.ref')}`,
    [boot],
  )
  return members.map(([ref, turn]) => ({ ref, turn }))
}

/** Notes since when turns run that have run for long. One that ends just now leaves a note behind, which rescue sweeps. */
async function noteLong(session: Session, held: readonly Held[], { long }: Beat): Promise<void> {
  const running = new Map(held.map(({ ref, turn }) => [ref, turn]))
  await writeStarts(
    session,
    long.filter(({ ref, turn }) => running.get(ref) === turn),
  )
}

/** With the claims that have no members left. */
async function removeNode(session: Session, boot: number): Promise<void> {
  await session.all('DELETE FROM punctual.claim WHERE node = $1', [boot])
  await session.all('DELETE FROM punctual.node WHERE boot = $1', [boot])
}

async function cancelNotices(session: Session, held: readonly Held[]): Promise<CancelNotice[]> {
  if (held.length === 0) return []
  const rows = await session.all<[number, number, string | null]>(
    `SELECT q.ref, q.turn, q.reason FROM unnest($1::bigint[], $2::int[]) m (ref, turn)
      CROSS JOIN ${each('cancel_request', 'ref = m.ref AND turn = m.turn')} q`,
    [column(held.map(({ ref }) => ref)), column(held.map(({ turn }) => turn))],
  )
  return rows.map(([ref, turn, reason]) => ({ ref, turn, reason }))
}

async function putNode(session: Session, boot: number, node: NodeInfo, now: number, running: number): Promise<void> {
  await session.all(
    `INSERT INTO punctual.node
      (boot, ${nodeColumns.join(', ')})
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12, 1, $13)
      ON CONFLICT (boot) DO UPDATE SET ${changed}, beat_at = $12, beats = node.beats + 1, running = $13`,
    [boot, ...nodeValues(node), node.picks, now, running],
  )
}
