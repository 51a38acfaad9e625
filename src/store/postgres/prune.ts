// Ended occurrences go after their time. Those that were created first mostly go first, so the walk goes on from where some were
// found last, and all the rest is looked at in turns: no index by time is needed for what happens once in the life of a row.
import { endStates } from '../../model/lifecycle.ts'
import type { Hint, PruneAnswer, PruneRequest } from '../store.ts'
import { each } from './connection/by-key.ts'
import { type Context, storeNow } from './context.ts'
import { foldCounts } from './counts.ts'

/** How many numbers one look spans. */
const span = 20_000
/** How many looks at what has ended too lately end a walk. */
const looksTooEarly = 2
/** How many looks a walk takes at most. */
const mostLooks = 20
/** How many rows of each other table one call deletes. */
const mostSwept = 10_000

/** Where looks begin. */
export interface PruneCursor {
  /** Where some were found last. */
  front: number
  /** The place that the look at all the rest has reached. */
  next: number
}

interface Pruned {
  readonly answer: PruneAnswer
  readonly hints: readonly Hint[]
}

export async function prune(context: Context, cursor: PruneCursor, request: PruneRequest): Promise<Pruned> {
  await foldCounts(context)
  await sweep(context)
  const first = await walk(context, cursor.front, request)
  cursor.front = first.front
  if (first.isCut) return { answer: { pruned: first.pruned, more: true }, hints: [] }
  const left = request.limit - first.found
  const rest = left > 0 ? await walk(context, cursor.next, { ...request, limit: left }) : null
  if (rest) cursor.next = rest.end ?? 0
  const isFull = rest === null || rest.found === left
  // There may be much more where the rest was found.
  if (rest && isFull) cursor.front = rest.front
  const pruned = first.pruned + (rest?.pruned ?? 0)
  // A call that finds rows and removes none leaves them to the node that was quicker.
  return { answer: { pruned, more: isFull && pruned > 0 }, hints: [] }
}

interface Walk {
  /** Where some were found last; where nothing was, the beginning, or what it has passed by that will never go. */
  readonly front: number
  /** The place that it has reached; null behind the last. */
  readonly end: number | null
  readonly found: number
  readonly pruned: number
  /** Whether it ended for its length alone. */
  readonly isCut: boolean
}

/** Removes what has ended long enough ago, from a number on. Dead letters are passed by; where much has ended too lately, it ends. */
async function walk(context: Context, from: number, request: PruneRequest): Promise<Walk> {
  let [found, pruned, tooEarly, taken] = [0, 0, 0, 0]
  let front = from
  let end: number | null = from
  while (end !== null && found < request.limit && tooEarly < looksTooEarly && taken < mostLooks) {
    const look = await removeFrom(context, end, { ...request, limit: request.limit - found })
    taken += 1
    found += look.found
    pruned += look.pruned
    if (look.isTooEarly) tooEarly += 1
    else if (look.first !== null) front = look.first
    end = look.next
  }
  return { front, end, found, pruned, isCut: taken === mostLooks && found < request.limit && end !== null }
}

/** Removes expired tombstones and free keys, each in a separate commit. */
async function sweep({ db, now }: Context): Promise<void> {
  await db.all(
    `DELETE FROM punctual.tombstone WHERE id = ANY(ARRAY(
      SELECT id FROM punctual.tombstone WHERE until < ${storeNow} ORDER BY until LIMIT ${mostSwept} FOR UPDATE SKIP LOCKED))`,
    [now()],
  )
  // Only the doorman may touch counts of keys.
  await db.transaction(async (session) => {
    const door = await session.all('SELECT one FROM punctual.door FOR UPDATE SKIP LOCKED')
    if (door.length === 0) return
    await session.all(
      `DELETE FROM punctual.limit_key WHERE key = ANY(ARRAY(SELECT k.key FROM punctual.limit_key k WHERE k.used = 0 LIMIT ${mostSwept}))`,
    )
  })
}

interface Removed {
  /** The first number that was looked at; null when there was none. */
  readonly first: number | null
  /** Where to look next. */
  readonly next: number | null
  readonly found: number
  readonly pruned: number
  /** Whether nothing was found, but something that has ended and will be later. */
  readonly isTooEarly: boolean
}

/** Removes what has ended long enough ago, of a span of numbers that begins with the first that has ended. */
async function removeFrom(
  { db, now }: Context,
  from: number,
  { endedBefore, limit, keyRetentionMs }: PruneRequest,
): Promise<Removed> {
  const [row] = await db.all<[number | null, number, number, boolean]>(remove, [
    now(),
    from,
    span,
    endedBefore,
    limit,
    keyRetentionMs,
  ])
  const [first, found, pruned, isTooEarly] = row as [number | null, number, number, boolean]
  // Where no more could be taken, more may be left in the same span.
  const next = first === null ? null : found < limit ? first + span : first
  return { first, next, found, pruned, isTooEarly }
}

const ends = endStates.map((state) => `'${state}'`).join(', ')
const claimed = 'SELECT unnest(c.refs) FROM punctual.claim c'
const removed = 'ref = ANY(ARRAY(SELECT ref FROM e))'

/** Of tables that have a row for few occurrences only, or for none. */
const removeRare = (table: string) => `${table}_rows AS (DELETE FROM punctual.${table} WHERE ${removed}
    AND (SELECT true FROM punctual.${table} WHERE ref >= (SELECT first FROM f) AND ref < (SELECT first FROM f) + $3 LIMIT 1))`

const mayHaveBegun = `(SELECT true FROM punctual.turn b WHERE b.ref = o.ref
      AND (b.started_at IS NOT NULL OR b."end" IN ('lost', 'stale', 'parked')) LIMIT 1)`

// e: what has ended, and whose onComplete has run. The end rows of claims that stand are kept until the claim is gone: it goes by
// them. The ids that stay taken become tombstones: of planned instants, and of keys that may be used only once, unless
// their occurrence was canceled before it began.
const inSpan = 't.ref >= (SELECT first FROM f) AND t.ref < (SELECT first FROM f) + $3::int'
const remove = `WITH f AS MATERIALIZED (SELECT (SELECT ref FROM punctual.turn WHERE ref >= $2::bigint ORDER BY ref LIMIT 1) AS first),
  e AS MATERIALIZED (
    SELECT t.ref, t."end" FROM punctual.turn t LEFT JOIN ${each('occurrence', 'ref = t.ref', { columns: 'ref' })} o ON true
    WHERE ${inSpan} AND t."end" IN (${ends}) AND t.ended_at < $4 AND (o.ref IS NOT NULL OR NOT t.ref IN (${claimed}))
      AND (SELECT true FROM punctual.hook_note h WHERE h.ref = t.ref) IS NULL
    ORDER BY t.ref LIMIT $5::int),
  o AS (DELETE FROM punctual.occurrence WHERE ${removed} RETURNING ref, id, series, form, key),
  x AS (
    INSERT INTO punctual.tombstone (id, until) SELECT o.id, ${storeNow} + $6::float8 FROM o CROSS JOIN ${each('form f', 'f.ref = o.form')} f
    WHERE f.source IN ('schedule', 'recovery') OR (o.key IS NOT NULL AND f.uniqueness = 'ever'
      AND NOT ((SELECT e."end" FROM e WHERE e.ref = o.ref LIMIT 1) = 'canceled' AND ${mayHaveBegun} IS NULL))
    ON CONFLICT (id) DO UPDATE SET until = excluded.until),
  turns AS (DELETE FROM punctual.turn WHERE ${removed} AND NOT ref IN (${claimed})),
  ${['attempt', 'progress', 'start', 'cancel_request'].map(removeRare).join(',\n  ')},
  y AS (
    INSERT INTO punctual.count_delta (series, ${endStates.join(', ')})
    SELECT series, ${endStates.map((end) => `-count(*) FILTER (WHERE "end" = '${end}')`).join(', ')}
    FROM o CROSS JOIN ${each('turn', `ref = o.ref AND "end" IN (${ends})`, { columns: '"end"' })} t GROUP BY series)
  SELECT (SELECT first FROM f), (SELECT count(*) FROM e) AS found, (SELECT count(*) FROM o) AS pruned,
    NOT EXISTS (SELECT 1 FROM e) AND EXISTS (SELECT 1 FROM punctual.turn t WHERE ${inSpan} AND t."end" IN (${ends}) AND t.ended_at >= $4) AS is_too_early`
