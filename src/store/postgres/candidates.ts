// What is due and might be taken, page by page, in the order in which a claim wants to try it.
import type { ClaimPick, ClaimRequest, Quota } from '../store.ts'
import { column } from './arrays.ts'
import type { Context } from './context.ts'
import { lockPlace, type Slice } from './slice.ts'

/** The due rows of one kind and priority, and where nodes pick, of one job. */
interface Lane {
  readonly kind: number
  readonly priority: number
  readonly lane: number
  readonly dueAt: number
}

interface Page {
  readonly refs: readonly number[]
  /** Whether another page may follow. */
  readonly isMore: boolean
  /** Whether some were left out that others have locked, or whose keys. */
  readonly isBusy: boolean
}

/** How many times those that are kept out by a key are passed by to look behind them. */
const mostPasses = 4

/** Finds up to `limit` rows beside those seen, locks and loads them with their keys. What others have just locked is left out. */
export async function candidates(
  slice: Slice,
  { kinds: names, pick }: ClaimRequest,
  { dueBy, limit, seen }: Want,
): Promise<Page> {
  const kinds = slice.context.dictionary.kindRefs(names)
  const { refs, busy } = await findWithKeys(slice, (passed) => {
    const want = { dueBy, limit, seen: [...seen, ...passed] }
    return slice.laned.size > 0 ? inLanes(slice, kinds, pick, want) : inOrder(slice, kinds, want)
  })
  const free = await lock(slice, refs)
  await slice.gather(free, { isReady: true, withAttempts: true })
  // What a pick left aside is for another claim: its shares are those of this one.
  return { refs: [...refs, ...busy], isMore: !pick && refs.length >= limit, isBusy: busy.length > 0 || free.length < refs.length }
}

interface Want {
  readonly dueBy: number
  readonly limit: number
  readonly seen: readonly number[]
}

interface Found {
  readonly refs: readonly number[]
  /** Those of which another transaction has a key: it is not waited for, since it may be of no use when it comes. */
  readonly busy: readonly number[]
}

/**
 * Finds rows and locks their keys. Whoever has let go of a key since they were found has let in one that may be older, so that they
 * are looked for again once the key is locked.
 */
async function findWithKeys(slice: Slice, find: (passed: readonly number[]) => Promise<[number][]>): Promise<Found> {
  const prepared = new Set<number>()
  const busy = new Set<number>()
  let passes = 0
  for (;;) {
    const refs = (await find([...busy])).map(([ref]) => ref)
    const fresh = refs.filter((ref) => !prepared.has(ref))
    const found = fresh.length === 0 ? { isFresh: false, busy: [] } : await slice.prepareFreeKeys(fresh)
    for (const ref of fresh) prepared.add(ref)
    for (const ref of found.busy) busy.add(ref)
    if (found.busy.length > 0) passes += 1
    if ((!found.isFresh && found.busy.length === 0) || passes > mostPasses)
      return { refs: refs.filter((ref) => !busy.has(ref)), busy: [...busy] }
  }
}

/** Where no node picks, all rows of a kind and priority lie one behind the other. */
async function inOrder({ session }: Slice, kinds: readonly number[], { dueBy, limit, seen }: Want): Promise<[number][]> {
  return session.all<[number]>(
    `SELECT r.ref FROM punctual.kind k CROSS JOIN unnest(k.priorities) p (priority), LATERAL (
        SELECT ref, due_at FROM punctual.ready WHERE kind = k.ref AND priority = p.priority AND lane = 0 AND due_at <= $2::float8
          AND NOT ref = ANY($3::bigint[]) ORDER BY due_at, ref LIMIT $4::int) r
      WHERE k.ref = ANY($1::int[]) ORDER BY p.priority, r.due_at, r.ref LIMIT $4::int`,
    [column(kinds), dueBy, column(seen), limit],
  )
}

async function inLanes(
  slice: Slice,
  kinds: readonly number[],
  pick: ClaimPick | undefined,
  { dueBy, limit, seen }: Want,
): Promise<[number][]> {
  const lanes = await lanesOf(slice, kinds, dueBy)
  const { perLane, wanted } = shares(slice, lanes, pick, limit)
  return slice.session.all<[number]>(
    `SELECT r.ref FROM unnest($1::int[], $2::smallint[], $3::int[], $4::int[]) l (kind, priority, lane, many), LATERAL (
        SELECT ref, due_at FROM punctual.ready WHERE kind = l.kind AND priority = l.priority AND lane = l.lane AND due_at <= $5::float8
          AND NOT ref = ANY($6::bigint[]) ORDER BY due_at, ref LIMIT l.many) r
      ORDER BY l.priority, r.due_at, r.ref LIMIT $7::bigint`,
    [
      column(lanes.map(({ kind }) => kind)),
      column(lanes.map(({ priority }) => priority)),
      column(lanes.map(({ lane }) => lane)),
      column(lanes.map((_, at) => perLane[at] ?? 0)),
      dueBy,
      column(seen),
      wanted,
    ],
  )
}

/** Locks the rows, those left out that another claim has just locked. */
async function lock(slice: Slice, refs: readonly number[]): Promise<number[]> {
  if (refs.length === 0) return []
  const rows = await slice.session.all<[number]>(
    lockPlace('ready', slice.context.isCompat ? 'FOR UPDATE' : 'FOR UPDATE SKIP LOCKED'),
    [column([...refs].sort((a, b) => a - b))],
  )
  return rows.map(([ref]) => ref)
}

/**
 * From the first pick on the rows of a kind are kept by job, so that a flood of one is never walked to reach another. Each statement
 * is a commit of its own: it locks many rows, and must not wait for anything with them.
 */
export async function layLanes({ db, dictionary, isCompat }: Context, names: readonly string[]): Promise<void> {
  await dictionary.lookUpKinds(db, names)
  const kinds = [column(dictionary.kindRefs(names))]
  await db.all('UPDATE punctual.kind SET laned = true WHERE ref = ANY($1::int[]) AND NOT laned', kinds)
  // Somebody who did not know yet may have put some beside the lanes. What others have locked comes next time.
  await db.all(
    isCompat
      ? 'UPDATE punctual.ready SET lane = series WHERE kind = ANY($1::int[]) AND lane = 0'
      : `UPDATE punctual.ready SET lane = series WHERE ctid = ANY(ARRAY(
          SELECT ctid FROM punctual.ready WHERE kind = ANY($1::int[]) AND lane = 0 FOR UPDATE SKIP LOCKED))`,
    kinds,
  )
}

/** The lanes with anything due, by skipping from the head of one to the next. */
async function lanesOf({ session, context, laned }: Slice, kinds: readonly number[], dueBy: number): Promise<Lane[]> {
  const plain = await session.all<[number, number, number]>(
    `SELECT k.ref, p.priority, r.due_at FROM punctual.kind k CROSS JOIN unnest(k.priorities) p (priority), LATERAL (
        SELECT due_at FROM punctual.ready WHERE kind = k.ref AND priority = p.priority AND lane = 0 AND due_at <= $2::float8
        ORDER BY due_at, ref LIMIT 1) r WHERE k.ref = ANY($1::int[])`,
    [column(kinds), dueBy],
  )
  const lanes = plain.map(([kind, priority, dueAt]) => ({ kind, priority, lane: 0, dueAt }))
  const inLanes = kinds.filter((kind) => laned.has(kind))
  if (inLanes.length === 0) return lanes
  const rows = await session.all<[number, number, number, number]>(
    `WITH RECURSIVE l (kind, priority, lane) AS (
        SELECT k.ref, p.priority, (SELECT min(lane) FROM punctual.ready WHERE kind = k.ref AND priority = p.priority AND lane > 0)
        FROM punctual.kind k CROSS JOIN unnest(k.priorities) p (priority) WHERE k.ref = ANY($1::int[])
        UNION ALL
        SELECT l.kind, l.priority, (SELECT min(r.lane) FROM punctual.ready r WHERE r.kind = l.kind AND r.priority = l.priority AND r.lane > l.lane)
        FROM l WHERE l.lane IS NOT NULL)
      SELECT l.kind, l.priority, l.lane, r.due_at FROM l, LATERAL (
        SELECT due_at FROM punctual.ready WHERE kind = l.kind AND priority = l.priority AND lane = l.lane AND due_at <= $2::float8
        ORDER BY due_at, ref LIMIT 1) r WHERE l.lane IS NOT NULL`,
    [column(inLanes), dueBy],
  )
  await context.dictionary.learn(session, { series: rows.map(([, , lane]) => lane) })
  return [...lanes, ...rows.map(([kind, priority, lane, dueAt]) => ({ kind, priority, lane, dueAt }))]
}

/** How many rows of each lane are worth a look. */
function shares(
  { context }: Slice,
  lanes: readonly Lane[],
  pick: ClaimPick | undefined,
  limit: number,
): { readonly perLane: readonly number[]; readonly wanted: number } {
  if (!pick) return { perLane: lanes.map(() => limit), wanted: limit }
  if (pick.kind === 'fair') {
    const each = Math.max(2, Math.ceil((4 * limit) / Math.max(1, lanes.length)))
    return { perLane: lanes.map(() => each), wanted: Number.MAX_SAFE_INTEGER }
  }
  const perLane = lanes.map((lane) => {
    const { tenant, job } = lane.lane === 0 ? { tenant: '', job: '' } : context.dictionary.seriesByRef(lane.lane)
    const quota = pick.quotas.find((one) => matches(one, { tenant, job, priority: lane.priority }))
    return quota ? Math.min(quota.limit, limit) : 0
  })
  return { perLane, wanted: Number.MAX_SAFE_INTEGER }
}

function matches(quota: Quota, lane: { readonly tenant: string; readonly job: string; readonly priority: number }): boolean {
  return (
    (quota.tenant === undefined || quota.tenant === lane.tenant) &&
    (quota.job === undefined || quota.job === lane.job) &&
    (quota.priority === undefined || quota.priority === lane.priority)
  )
}
