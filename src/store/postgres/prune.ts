// Ended occurrences go after their time. Those that were created first mostly go first, so that it is gone on from where some were
// found last, and all the rest is looked at in turns: no index by time is needed for what happens once in the life of a row.
import { endStates } from '../../model/lifecycle.ts'
import type { Hint, PruneAnswer, PruneRequest } from '../store.ts'
import { column } from './arrays.ts'
import { each, lacks } from './by-key.ts'
import { type Context, storeNow } from './context.ts'
import type { Session } from './database.ts'
import { flush } from './flush.ts'
import { Slice } from './slice.ts'

/** How many handles one look spans. */
const span = 20_000
/** How many looks at what has ended too lately end a walk. */
const looksTooEarly = 2
/** How many looks a walk takes at most. */
const mostLooks = 20
/** How many rows of each other table one call deletes. */
const mostSwept = 10_000
/** Starts that count for no rate any more are kept for as long as a clock may be set back. */
const startsKeptMs = 3_600_000

/** Where looks begin. */
export interface PruneCursor {
  /** Where some were found last. */
  front: number
  /** Where the look at all the rest has come to. */
  next: number
}

interface Pruned {
  readonly answer: PruneAnswer
  readonly hints: readonly Hint[]
}

export async function prune(context: Context, cursor: PruneCursor, request: PruneRequest): Promise<Pruned> {
  await sweep(context)
  const { db } = context
  const [waits] = await db.all<[boolean]>('SELECT EXISTS (SELECT 1 FROM punctual.waiting WHERE key IS NOT NULL) AS is_so')
  const options = { ...request, isAnyWaiting: waits?.[0] === true }
  const first = await walk(context, cursor.front, options)
  cursor.front = first.front
  if (first.isCut) return { answer: { pruned: first.pruned, more: true }, hints: first.hints }
  const left = request.limit - first.found
  const rest = left > 0 ? await walk(context, cursor.next, { ...options, limit: left }) : null
  if (rest) cursor.next = rest.end ?? 0
  const isFull = rest === null || rest.found === left
  // There may be much more where the rest was found.
  if (rest && isFull) cursor.front = rest.front
  const pruned = first.pruned + (rest?.pruned ?? 0)
  // Who comes away with nothing leaves it to who was quicker.
  return { answer: { pruned, more: isFull && pruned > 0 }, hints: [...first.hints, ...(rest?.hints ?? [])] }
}

interface Walk {
  /** Where some were found last; where nothing was, the beginning, or what it has passed by that will never go. */
  readonly front: number
  /** Where it has come to; null behind the last. */
  readonly end: number | null
  readonly found: number
  readonly pruned: number
  readonly hints: readonly Hint[]
  /** Whether it ended for its length alone. */
  readonly isCut: boolean
}

/** Removes what has ended long enough ago, from a handle on. Dead letters are passed by; where much has ended too lately, it ends. */
async function walk(context: Context, from: number, options: RemoveOptions): Promise<Walk> {
  const hints: Hint[] = []
  let [found, pruned, tooEarly, taken] = [0, 0, 0, 0]
  let front = from
  let end: number | null = from
  while (end !== null && found < options.limit && tooEarly < looksTooEarly && taken < mostLooks) {
    const look = await removeFrom(context, end, { ...options, limit: options.limit - found })
    taken += 1
    found += look.found
    pruned += look.pruned
    hints.push(...look.hints)
    if (look.isTooEarly) tooEarly += 1
    else if (look.first !== null) front = look.first
    end = look.next
  }
  return { front, end, found, pruned, hints, isCut: taken === mostLooks && found < options.limit && end !== null }
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

interface RemoveOptions extends PruneRequest {
  readonly isAnyWaiting: boolean
}

interface Removed {
  /** The first handle that was looked at; null when there was none. */
  readonly first: number | null
  /** Where to look next. */
  readonly next: number | null
  readonly found: number
  readonly pruned: number
  readonly hints: readonly Hint[]
  /** Whether nothing was found, but something that has ended and will be later. */
  readonly isTooEarly: boolean
}

/** Removes what has ended long enough ago, of a span of handles that begins with the first that has ended. What another node is just removing is counted by who does. */
async function removeFrom(
  context: Context,
  from: number,
  { endedBefore, limit, keyRetentionMs, isAnyWaiting }: RemoveOptions,
): Promise<Removed> {
  const { db, now } = context
  const removeIn = async (session: Session, withLimited: boolean, only: readonly number[] | null) => {
    const values = [now(), from, span, endedBefore, limit, keyRetentionMs, withLimited, only && column(only)]
    const [row] = await session.all<RemovedRow>(remove, values)
    return row as RemovedRow
  }
  const [first, found, pruned, isTooEarly, awaited] = await removeIn(db, !isAnyWaiting, null)
  // Where no more could be taken, more may be left in the same span.
  const next = first === null ? null : found < limit ? first + span : first
  if (!awaited) return { first, next, found, pruned, hints: [], isTooEarly }
  return db.transaction(async (session) => {
    const hints = await passOn(session, context, awaited)
    const [, , more] = await removeIn(session, true, awaited)
    return { first, next, found, pruned: pruned + more, hints, isTooEarly }
  })
}

type RemovedRow = [first: number | null, found: number, pruned: number, isTooEarly: boolean, awaited: number[] | null]

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
const inSpan = 't.ref >= (SELECT first FROM f) AND t.ref < (SELECT first FROM f) + $3::int'
const remove = `WITH f AS MATERIALIZED (SELECT (SELECT ref FROM punctual.turn WHERE ref >= $2::bigint ORDER BY ref LIMIT 1) AS first),
  e AS MATERIALIZED (
    SELECT t.ref, coalesce(o.is_limited AND NOT $7::boolean, false) AS is_awaited
    FROM punctual.turn t LEFT JOIN ${each('occurrence', 'ref = t.ref', { columns: 'ref, holds IS NOT NULL AS is_limited' })} o ON true
    WHERE ${inSpan} AND t."end" IN (${ends}) AND t.ended_at < $4 AND (o.ref IS NOT NULL OR NOT t.ref IN (${claimed}))
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
  SELECT (SELECT first FROM f), (SELECT count(*) FROM e) AS found, (SELECT count(*) FROM o) AS pruned,
    NOT EXISTS (SELECT 1 FROM e) AND EXISTS (SELECT 1 FROM punctual.turn t WHERE ${inSpan} AND t."end" IN (${ends}) AND t.ended_at >= $4) AS is_too_early,
    (SELECT array_agg(ref) FROM e WHERE is_awaited) AS awaited`

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
