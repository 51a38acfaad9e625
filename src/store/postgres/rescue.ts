import { isGone, rescue as rescueInLedger } from '../ledger/care.ts'
import type { NodeRecord, RescueAnswer, RescueRequest } from '../store.ts'
import { column } from './arrays.ts'
import { deleteRows } from './batch.ts'
import { each, endOf, has, lacks } from './by-key.ts'
import type { Context } from './context.ts'
import { storeNow } from './context.ts'
import type { Session } from './database.ts'
import { flush } from './flush.ts'
import { Slice } from './slice.ts'
import { foldAll } from './tally.ts'

/** How many turns over their deadline, and how many late starts, one call works off. */
const mostAtOnce = 1000

const nothing: RescueAnswer = { rescued: [], removed: [], more: false, expired: [] }

/** Whether something has overrun its deadline, or was not started in time. */
export const isLate = (now: string) =>
  `(EXISTS (SELECT 1 FROM punctual.start WHERE deadline_at < ${now}) OR EXISTS (SELECT 1 FROM punctual.expiry WHERE expires_at < ${now}))`

/** Whether something has been counted that is not folded yet. */
export const hasTallies = 'EXISTS (SELECT 1 FROM punctual.tally)'

const look = `SELECT ${isLate('t.now')} AS is_late, ${hasTallies} AS has_tallies FROM (SELECT ${storeNow} AS now) t`

/** Works off what is late and what gone nodes held. Tallies are folded on the way. */
export async function rescue(context: Context, request: RescueRequest) {
  const { db, dictionary } = context
  const boots = request.gone.map(({ boot }) => boot)
  await dictionary.lookUpBoots(db, boots)
  const [[isLate, hasTallies]] = (await db.all<[isLate: boolean, hasTallies: boolean]>(look, [context.now()])) as [
    [boolean, boolean],
  ]
  if (hasTallies) await foldAll(context)
  if (boots.length === 0 && !isLate) return { answer: nothing, hints: [] }
  return db.transaction(async (session) => {
    const slice = await Slice.begin(session, context)
    const { members: held, next } = await heldByGone(slice, request)
    const late = await overdue(slice)
    const expired = await expiries(slice)
    // A claim of a gone node is worked off as a whole, with its page.
    const members = [...held, ...late.members.filter(({ node }) => !slice.ledger.nodes.has(node))]
    const claims = [...new Set(members.map(({ claim }) => claim))]
    await slice.gather([...new Set([...members.flatMap(({ ref }) => ref ?? []), ...expired.map(({ ref }) => ref)])], {
      claims,
      onlyFree: true,
    })
    // Where somebody is just writing under such a claim, or more are left, the node stays until the next call.
    const busy = held.filter(({ claim }) => !slice.ledger.claims.has(claim)).map(({ node }) => node)
    const staying = new Set([...busy, next])
    const answer = rescueInLedger(slice.ledger, request)
    const removed = answer.removed.filter((boot) => !staying.has(boot))
    await removeNodes(session, context, removed)
    await deleteRows(
      slice,
      'expiry',
      { expires_at: 'float8', ref: 'bigint' },
      expired.map(({ ref, at }) => [at, ref]),
    )
    await flush(slice)
    const isCut = late.isCut || expired.length === mostAtOnce || (next !== null && busy.length < held.length)
    return { answer: { ...answer, removed, more: answer.more || isCut }, hints: slice.hints }
  })
}

/** A turn that is to be ended, and the claim that has it; `ref` is null for a claim without any left. */
interface Member {
  readonly claim: string
  readonly node: string
  readonly ref: number | null
}

interface Page {
  readonly members: readonly Member[]
  /** The node whose claims come next; null when these are the last. */
  readonly next: string | null
}

/** Finds what gone nodes hold, node by node: no more than one call can write in good time. The nodes behind are left for later. */
async function heldByGone(slice: Slice, request: RescueRequest): Promise<Page> {
  if (request.gone.length === 0) return { members: [], next: null }
  const { session, context, ledger } = slice
  const { dictionary } = context
  const nodes = await lockGone(slice, request)
  const claims = await session.all<[claim: string, node: number, members: number]>(
    `SELECT id, node, cardinality(refs) AS members FROM (
      SELECT id, node, refs, seq FROM punctual.claim WHERE node = ANY($1::int[]) ORDER BY node, seq LIMIT $2::int) c ORDER BY node, seq`,
    [column([...nodes.keys()]), request.limit + 1],
  )
  const fitting = howManyFit(claims.slice(0, request.limit).map(([, , members]) => members))
  const next = claims[fitting]
  for (const [boot, node] of nodes) if (!next || boot <= next[1]) ledger.nodes.set(node.boot, node)
  const rows = await session.all<[claim: string, node: number, ref: number | null]>(
    `SELECT c.id, c.node, m.ref FROM punctual.claim c LEFT JOIN LATERAL (
        SELECT m.ref FROM unnest(c.refs, c.turns) m (ref, turn)
        WHERE ${lacks('turn', endOf('m'))}
      ) m ON true WHERE c.id = ANY($1::text[])`,
    [column(claims.slice(0, fitting).map(([id]) => id))],
  )
  return {
    members: rows.map(([claim, node, ref]) => ({ claim, node: dictionary.bootName(node), ref })),
    next: next ? dictionary.bootName(next[1]) : null,
  }
}

type NodeRow = [boot: number, beats: number, beatAt: number, ttlMs: number]

/** Locks those of the nodes that are gone. One that another rescues, or that does something itself, is left alone. */
async function lockGone({ session, context, now }: Slice, { gone }: RescueRequest): Promise<ReadonlyMap<number, NodeRecord>> {
  const { dictionary, isCompat } = context
  const seen = new Map(gone.map(({ boot, beats }) => [boot, beats]))
  const rows = await session.all<NodeRow>(
    `SELECT boot, beats, beat_at, ttl_ms FROM punctual.node WHERE boot = ANY($1::int[]) ORDER BY boot
      FOR UPDATE ${isCompat ? '' : 'SKIP LOCKED'}`,
    [column(gone.flatMap(({ boot }) => dictionary.boot(boot) ?? []))],
  )
  const nodes = rows.map(([boot, beats, beatAt, ttlMs]) => {
    return [boot, { boot: dictionary.bootName(boot), beats, beatAt, ttlMs } as NodeRecord] as const
  })
  return new Map(nodes.filter(([, node]) => isGone(node, seen.get(node.boot) as number, now)))
}

/** How many claims of these sizes one call works off: one at least, however large it is. */
function howManyFit(sizes: readonly number[]): number {
  let members = 0
  const tooMany = sizes.findIndex((size) => {
    members += size
    return members > mostAtOnce
  })
  return tooMany === -1 ? sizes.length : Math.max(1, tooMany)
}

/** Turns that run on beyond their deadline. What is noted of turns that have ended is deleted on the way. */
async function overdue({
  session,
  context,
  now,
}: Slice): Promise<{ readonly members: readonly Member[]; readonly isCut: boolean }> {
  const [[found, ended]] = (await session.all<[number, number]>(
    `WITH late AS MATERIALIZED (
        SELECT s.ref, ${has('turn', endOf('s'))} OR ${lacks('occurrence', 'ref = s.ref')} AS is_over
        FROM punctual.start s WHERE s.deadline_at < $1 ORDER BY s.deadline_at LIMIT ${mostAtOnce}),
      gone AS (DELETE FROM punctual.start WHERE ref = ANY(ARRAY(SELECT ref FROM late WHERE is_over)) RETURNING ref)
      SELECT (SELECT count(*) FROM late), (SELECT count(*) FROM gone) AS gone`,
    [now],
  )) as [[number, number]]
  if (found === ended) return { members: [], isCut: found === mostAtOnce }
  const rows = await session.all<[claim: string, node: number, ref: number]>(
    `SELECT c.id, c.node, s.ref FROM punctual.claim c CROSS JOIN unnest(c.refs, c.turns) m (ref, turn)
      CROSS JOIN ${each('start', 'ref = m.ref AND turn = m.turn AND deadline_at < $1')} s LIMIT ${mostAtOnce}`,
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
