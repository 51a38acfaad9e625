import { rescue as rescueInLedger } from '../ledger/care.ts'
import type { NodeRecord, RescueAnswer, RescueRequest } from '../store.ts'
import { column } from './arrays.ts'
import { deleteRows } from './batch.ts'
import type { Context } from './context.ts'
import { storeNow } from './context.ts'
import type { Session } from './database.ts'
import { flush } from './flush.ts'
import { Slice } from './slice.ts'

/** How many turns over their deadline, and how many late starts, one call works off. */
const mostAtOnce = 1000

const nothing: RescueAnswer = { rescued: [], removed: [], more: false, expired: [] }

/** Every node asks for this every now and then, and mostly there is nothing to do. */
export async function rescue(context: Context, request: RescueRequest) {
  const { db, dictionary } = context
  const boots = request.gone.map(({ boot }) => boot)
  await dictionary.lookUpBoots(db, boots)
  const [look] = await db.all<[boolean]>(
    `SELECT EXISTS (SELECT 1 FROM punctual.start WHERE deadline_at < t.now) OR EXISTS (SELECT 1 FROM punctual.expiry WHERE expires_at < t.now)
      AS is_late FROM (SELECT ${storeNow} AS now) t`,
    [context.now()],
  )
  if (boots.length === 0 && !look?.[0]) return { answer: nothing, hints: [] }
  return db.transaction(async (session) => {
    const slice = await Slice.begin(session, context)
    const limit = await claimsThatFit(slice, request)
    const held = await heldByGone(slice, { ...request, limit })
    const late = await overdue(slice)
    const expired = await expiries(slice)
    const members = [...held, ...late.members]
    const claims = [...new Set(members.map(({ claim }) => claim))]
    await slice.gather([...new Set([...members.flatMap(({ ref }) => ref ?? []), ...expired.map(({ ref }) => ref)])], {
      claims,
      onlyFree: true,
    })
    // Somebody is just writing under such a claim: its node stays until the next call.
    const busy = new Set(held.filter(({ claim }) => !slice.ledger.claims.has(claim)).map(({ node }) => node))
    const answer = rescueInLedger(slice.ledger, { ...request, limit })
    const removed = answer.removed.filter((boot) => !busy.has(boot))
    await removeNodes(session, context, removed)
    await deleteRows(
      session,
      'expiry',
      { expires_at: 'float8', ref: 'bigint' },
      expired.map(({ ref, at }) => [at, ref]),
    )
    await flush(slice)
    const isCut = late.isCut || expired.length === mostAtOnce
    return { answer: { ...answer, removed, more: answer.more || isCut }, hints: slice.hints }
  })
}

/** How many claims of gone nodes one call works off: no more than it can write in good time, however large they are. */
async function claimsThatFit({ session, context }: Slice, { gone, limit }: RescueRequest): Promise<number> {
  if (gone.length === 0) return limit
  const [row] = await session.all<[number]>(
    `SELECT count(*) AS many FROM (SELECT sum(cardinality(refs)) OVER (ORDER BY seq) AS members FROM (
        SELECT seq, refs FROM punctual.claim WHERE node = ANY($1::int[]) ORDER BY seq LIMIT $2::int) c) s WHERE members <= ${mostAtOnce}`,
    [column(gone.flatMap(({ boot }) => context.dictionary.boot(boot) ?? [])), limit],
  )
  return Math.max(1, row?.[0] ?? 1)
}

/** A turn that is to be ended, and the claim that has it; `ref` is null for a claim without any left. */
interface Member {
  readonly claim: string
  readonly node: string
  readonly ref: number | null
}

type NodeRow = [boot: number, beats: number, beatAt: number, ttlMs: number]

/**
 * Locks the nodes that are said to be gone, and finds what they hold: one claim more than is worked off, to know that there is more.
 * A node that another rescues, or that does something itself, is left alone.
 */
async function heldByGone({ session, context, ledger }: Slice, { gone, limit }: RescueRequest): Promise<readonly Member[]> {
  if (gone.length === 0) return []
  const { dictionary, isCompat } = context
  const nodes = await session.all<NodeRow>(
    `SELECT boot, beats, beat_at, ttl_ms FROM punctual.node WHERE boot = ANY($1::int[]) ORDER BY boot
      FOR UPDATE ${isCompat ? '' : 'SKIP LOCKED'}`,
    [column(gone.flatMap(({ boot }) => dictionary.boot(boot) ?? []))],
  )
  for (const [boot, beats, beatAt, ttlMs] of nodes) {
    const name = dictionary.bootName(boot)
    ledger.nodes.set(name, { boot: name, beats, beatAt, ttlMs } as NodeRecord)
  }
  const rows = await session.all<[claim: string, node: number, ref: number | null]>(
    `SELECT c.id, c.node, m.ref FROM unnest($1::int[]) b CROSS JOIN LATERAL
        (SELECT id, node, refs, turns FROM punctual.claim WHERE node = b ORDER BY seq LIMIT $2::int) c
      LEFT JOIN LATERAL (
        SELECT m.ref FROM unnest(c.refs, c.turns) m (ref, turn)
        WHERE (SELECT true FROM punctual.turn t WHERE t.ref = m.ref AND t.turn = m.turn) IS NULL
      ) m ON true`,
    [column(nodes.map(([boot]) => boot)), limit + 1],
  )
  return rows.map(([claim, node, ref]) => ({ claim, node: dictionary.bootName(node), ref }))
}

/** Turns that run on beyond their deadline. What is noted of turns that have ended is deleted on the way. */
async function overdue({
  session,
  context,
  now,
}: Slice): Promise<{ readonly members: readonly Member[]; readonly isCut: boolean }> {
  const [[found, ended]] = (await session.all<[number, number]>(
    `WITH late AS MATERIALIZED (
        SELECT s.ref, (SELECT true FROM punctual.turn t WHERE t.ref = s.ref AND t.turn = s.turn) IS NOT NULL
          OR (SELECT true FROM punctual.occurrence o WHERE o.ref = s.ref) IS NULL AS is_over
        FROM punctual.start s WHERE s.deadline_at < $1 ORDER BY s.deadline_at LIMIT ${mostAtOnce}),
      gone AS (DELETE FROM punctual.start WHERE ref = ANY(ARRAY(SELECT ref FROM late WHERE is_over)) RETURNING ref)
      SELECT (SELECT count(*) FROM late), (SELECT count(*) FROM gone) AS gone`,
    [now],
  )) as [[number, number]]
  if (found === ended) return { members: [], isCut: found === mostAtOnce }
  const rows = await session.all<[claim: string, node: number, ref: number]>(
    `SELECT c.id, c.node, s.ref FROM punctual.claim c CROSS JOIN unnest(c.refs, c.turns) m (ref, turn)
      CROSS JOIN LATERAL (
        SELECT ref FROM punctual.start s WHERE s.ref = m.ref AND s.turn = m.turn AND s.deadline_at < $1 OFFSET 0) s LIMIT ${mostAtOnce}`,
    [now],
  )
  await context.dictionary.learn(session, { boots: rows.map(([, node]) => node) })
  return {
    members: rows.map(([claim, node, ref]) => ({ claim, node: context.dictionary.bootName(node), ref })),
    isCut: rows.length === mostAtOnce,
  }
}

interface Expiry {
  readonly ref: number
  readonly at: number
}

/** The expiries that have passed; whether they still hold, the rows themselves say. */
async function expiries({ session, now }: Slice): Promise<Expiry[]> {
  const rows = await session.all<[number, number]>(
    `SELECT ref, expires_at FROM punctual.expiry WHERE expires_at < $1 ORDER BY expires_at, ref LIMIT ${mostAtOnce}`,
    [now],
  )
  return rows.map(([ref, at]) => ({ ref, at }))
}

async function removeNodes(session: Session, { dictionary }: Context, names: readonly string[]): Promise<void> {
  if (names.length === 0) return
  await session.all('DELETE FROM punctual.node WHERE boot = ANY($1::int[])', [
    column(names.map((name) => dictionary.boot(name) as number)),
  ])
}
