import { rescue as rescueInLedger } from '../ledger/care.ts'
import type { NodeRecord, RescueAnswer, RescueRequest } from '../store.ts'
import { column } from './arrays.ts'
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
    const { refs, claims } = await heldByGone(slice, request)
    const late = await overdue(slice)
    const expired = await expiries(slice)
    await slice.gather([...new Set([...refs, ...late, ...expired])], { claims })
    const before = new Set(slice.ledger.nodes.keys())
    const answer = rescueInLedger(slice.ledger, request)
    await removeNodes(
      session,
      context,
      [...before].filter((boot) => !slice.ledger.nodes.has(boot)),
    )
    await flush(slice)
    const isCut = late.length === mostAtOnce || expired.length === mostAtOnce
    return { answer: { ...answer, more: answer.more || isCut }, hints: slice.hints }
  })
}

type NodeRow = [boot: number, beats: number, beatAt: number, ttlMs: number]

/** Locks the nodes that are said to be gone, and finds what they hold: one claim more than is worked off, to know that there is more. */
async function heldByGone(
  { session, context, ledger }: Slice,
  { gone, limit }: RescueRequest,
): Promise<{ readonly refs: readonly number[]; readonly claims: readonly string[] }> {
  if (gone.length === 0) return { refs: [], claims: [] }
  const boots = gone.flatMap(({ boot }) => context.dictionary.boot(boot) ?? [])
  const nodes = await session.all<NodeRow>(
    'SELECT boot, beats, beat_at, ttl_ms FROM punctual.node WHERE boot = ANY($1::int[]) ORDER BY boot FOR UPDATE',
    [column(boots)],
  )
  for (const [boot, beats, beatAt, ttlMs] of nodes) {
    const name = context.dictionary.bootName(boot)
    ledger.nodes.set(name, { boot: name, beats, beatAt, ttlMs } as NodeRecord)
  }
  const claims = await session.all<[string]>(
    `SELECT c.id FROM unnest($1::int[]) b CROSS JOIN LATERAL
      (SELECT id FROM punctual.claim WHERE node = b ORDER BY seq LIMIT $2::int) c`,
    [column(nodes.map(([boot]) => boot)), limit + 1],
  )
  const ids = claims.map(([id]) => id)
  const members = await session.all<[number]>(
    `SELECT DISTINCT m.ref FROM punctual.claim c CROSS JOIN unnest(c.refs, c.turns) m (ref, turn) WHERE c.id = ANY($1::text[])
      AND NOT EXISTS (SELECT 1 FROM punctual.turn t WHERE t.ref = m.ref AND t.turn = m.turn)`,
    [column(ids)],
  )
  return { refs: members.map(([ref]) => ref), claims: ids }
}

async function overdue({ session, now }: Slice): Promise<number[]> {
  const rows = await session.all<[number]>(
    `SELECT ref FROM punctual.start WHERE deadline_at < $1 ORDER BY deadline_at LIMIT ${mostAtOnce}`,
    [now],
  )
  return rows.map(([ref]) => ref)
}

/** Takes out the expiries that have passed; whether they still hold, the rows themselves say. */
async function expiries({ session, now }: Slice): Promise<number[]> {
  const rows = await session.all<[number]>(
    `DELETE FROM punctual.expiry WHERE (expires_at, ref) IN
      (SELECT expires_at, ref FROM punctual.expiry WHERE expires_at < $1 ORDER BY expires_at, ref LIMIT ${mostAtOnce}) RETURNING ref`,
    [now],
  )
  return rows.map(([ref]) => ref)
}

async function removeNodes(session: Session, { dictionary }: Context, names: readonly string[]): Promise<void> {
  if (names.length === 0) return
  await session.all('DELETE FROM punctual.node WHERE boot = ANY($1::int[])', [
    column(names.map((name) => dictionary.boot(name) as number)),
  ])
}
