// Ended occurrences go after their time. Those that were created first mostly go first, so that the bottom of the history is
// looked at each time, and the rest in turns: no index by time is needed for what happens once in the life of a row.
import { endStates } from '../../model/lifecycle.ts'
import type { Hint } from '../store.ts'
import { column } from './arrays.ts'
import { each, lacks } from './by-key.ts'
import { type Context, storeNow } from './context.ts'
import type { Session } from './database.ts'
import { flush } from './flush.ts'
import { Slice } from './slice.ts'

/** How many handles one look spans. */
const span = 20_000
/** How many looks without a find one call takes beside the one at the bottom. */
const looks = 2
/** How many rows of each other table one call deletes. */
const mostSwept = 10_000
/** Starts that count for no rate any more are kept for as long as a clock may be set back. */
const startsKeptMs = 3_600_000

export interface PruneRequest {
  readonly endedBefore: number
  readonly keyRetentionMs: number
  readonly limit: number
}

/** Where the next look that is not at the bottom begins. */
export interface PruneCursor {
  next: number
}

export async function prune(context: Context, cursor: PruneCursor, request: PruneRequest) {
  await sweep(context)
  const { db } = context
  const [waits] = await db.all<[boolean]>('SELECT EXISTS (SELECT 1 FROM punctual.waiting WHERE key IS NOT NULL) AS is_so')
  const isAnyWaiting = waits?.[0] === true
  const hints: Hint[] = []
  let [found, pruned] = [0, 0]
  const lookFrom = async (from: number) => {
    const look = await removeFrom(context, from, { ...request, limit: request.limit - found, isAnyWaiting })
    found += look.found
    pruned += look.pruned
    hints.push(...look.hints)
    return look
  }
  let bottom = 0
  for (let isFound = true; isFound && found < request.limit; ) {
    const look = await lookFrom(bottom)
    if (look.next === null) return { answer: { pruned }, hints }
    bottom = look.next
    isFound = look.found > 0
  }
  for (let left = looks; left > 0 && found < request.limit; left--) {
    const look = await lookFrom(Math.max(cursor.next, bottom))
    cursor.next = look.next ?? 0
  }
  return { answer: { pruned }, hints }
}

/** What other tables keep beyond its time. Each is a commit of its own, so that keys are not kept from others for longer. */
async function sweep({ db, now, isCompat }: Context): Promise<void> {
  const skipLocked = isCompat ? '' : 'FOR UPDATE SKIP LOCKED'
  await db.all(
    `DELETE FROM punctual.tombstone WHERE id = ANY(ARRAY(
      SELECT id FROM punctual.tombstone WHERE until < ${storeNow} ORDER BY until LIMIT ${mostSwept} ${skipLocked}))`,
    [now()],
  )
  await db.all(
    `DELETE FROM punctual.rate_start WHERE seq = ANY(ARRAY(
      SELECT seq FROM punctual.rate_start WHERE until < ${storeNow} - ${startsKeptMs} ORDER BY until LIMIT ${mostSwept} ${skipLocked}))`,
    [now()],
  )
  await db.all(
    `DELETE FROM punctual.limit_key WHERE key = ANY(ARRAY(
      SELECT k.key FROM punctual.limit_key k WHERE ${lacks('hold', 'key = k.key')} AND ${lacks('waiting', 'key = k.key')} LIMIT ${mostSwept} ${skipLocked}))`,
  )
}

interface Removed {
  /** Where to look next; null when there was nothing to look at. */
  readonly next: number | null
  readonly found: number
  readonly pruned: number
  readonly hints: readonly Hint[]
}

/** Removes what has ended long enough ago, of a span of handles that begins with the first that has ended. What another node is just removing is counted by who does. */
async function removeFrom(
  context: Context,
  from: number,
  { endedBefore, limit, keyRetentionMs, isAnyWaiting }: PruneRequest & { readonly isAnyWaiting: boolean },
): Promise<Removed> {
  const { db, now } = context
  const removeIn = async (session: Session, withLimited: boolean, only: readonly number[] | null) => {
    const values = [now(), from, span, endedBefore, limit, keyRetentionMs, withLimited, only && column(only)]
    const [row] = await session.all<RemovedRow>(remove, values)
    const [first, found, pruned, awaited] = row as RemovedRow
    return { next: first === null ? null : first + span, found, pruned, awaited }
  }
  const { next, found, pruned, awaited } = await removeIn(db, !isAnyWaiting, null)
  if (!awaited) return { next, found, pruned, hints: [] }
  return db.transaction(async (session) => {
    const hints = await passOn(session, context, awaited)
    const left = await removeIn(session, true, awaited)
    return { next, found, pruned: pruned + left.pruned, hints }
  })
}

type RemovedRow = [first: number | null, found: number, pruned: number, awaited: number[] | null]

/** The members of all claims that stand. */
const claimed = 'SELECT unnest(refs) FROM punctual.claim'

const ends = endStates.map((end) => `'${end}'`).join(', ')

const removed = 'ref = ANY(ARRAY(SELECT ref FROM e WHERE NOT is_awaited))'

/** Of tables that have a row for few occurrences only, or for none. */
const removeRare = (table: string) => `${table}_rows AS (DELETE FROM punctual.${table} WHERE ${removed}
    AND (SELECT true FROM punctual.${table} WHERE ref >= (SELECT first FROM f) AND ref < (SELECT first FROM f) + $3 LIMIT 1))`

// e: what has ended. What may have left a chance at a key unused, for which somebody may wait, is only told of, unless $7. A claim that
// stands may still want to know that its turn has ended: that row goes when the claim is gone. The ids that nobody may use again stay
// as tombstones.
const remove = `WITH f AS MATERIALIZED (SELECT (SELECT ref FROM punctual.turn WHERE ref >= $2::bigint ORDER BY ref LIMIT 1) AS first),
  e AS MATERIALIZED (
    SELECT t.ref, coalesce(o.is_limited AND NOT $7::boolean, false) AS is_awaited
    FROM punctual.turn t LEFT JOIN ${each('occurrence', 'ref = t.ref', { columns: 'ref, holds IS NOT NULL AS is_limited' })} o ON true
    WHERE t.ref >= (SELECT first FROM f) AND t.ref < (SELECT first FROM f) + $3::int AND t."end" IN (${ends}) AND t.ended_at < $4 AND (o.ref IS NOT NULL OR NOT t.ref IN (${claimed}))
      AND ($8::bigint[] IS NULL OR t.ref = ANY($8))
    ORDER BY t.ref LIMIT $5::int),
  o AS (DELETE FROM punctual.occurrence WHERE ${removed} RETURNING ref, id, series, source, key, uniqueness),
  x AS (
    INSERT INTO punctual.tombstone (id, until) SELECT id, ${storeNow} + $6::float8 FROM o
    WHERE source IN ('schedule', 'recovery') OR (key IS NOT NULL AND uniqueness = 'ever')
    ON CONFLICT (id) DO UPDATE SET until = excluded.until),
  turns AS (DELETE FROM punctual.turn WHERE ${removed} AND NOT ref IN (${claimed})),
  ${['attempt', 'progress', 'start', 'cancel_request'].map(removeRare).join(',\n  ')},
  y AS (
    INSERT INTO punctual.tally (series, ${endStates.join(', ')})
    SELECT series, ${endStates.map((end) => `-count(*) FILTER (WHERE "end" = '${end}')`).join(', ')}
    FROM o CROSS JOIN ${each('turn', `ref = o.ref AND "end" IN (${ends})`, { columns: '"end"' })} t GROUP BY series)
  SELECT (SELECT first FROM f), (SELECT count(*) FROM e) AS found, (SELECT count(*) FROM o) AS pruned, (SELECT array_agg(ref) FROM e WHERE is_awaited) AS awaited`

/** Chances at keys that those that go had left unused are the next one's. */
async function passOn(session: Session, context: Context, refs: readonly number[]): Promise<readonly Hint[]> {
  const slice = await Slice.begin(session, context)
  await slice.gather(refs)
  for (const ref of refs) {
    const entry = slice.ledger.entries.get(ref)
    if (entry) slice.ledger.passOn(entry)
  }
  await flush(slice)
  return slice.hints
}
