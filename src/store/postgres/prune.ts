// Ended occurrences go after their time. Those that were created first mostly go first, so that the bottom of the history is
// looked at each time, and the rest in turns: no index by time is needed for what happens once in the life of a row.
import { endStates, type OccurrenceState, stateAfter, type TurnEnd } from '../../model/lifecycle.ts'
import type { Hint } from '../store.ts'
import { column } from './arrays.ts'
import { has, lacks } from './by-key.ts'
import { type Context, storeNow } from './context.ts'
import type { Session } from './database.ts'
import { flush } from './flush.ts'
import { Slice } from './slice.ts'
import { Tallies } from './tallies.ts'

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

/** The members of all claims that stand. */
const claimed = 'SELECT unnest(refs) FROM punctual.claim'

const ends = endStates.map((end) => `'${end}'`).join(', ')

export async function prune(context: Context, cursor: PruneCursor, request: PruneRequest) {
  await sweep(context)
  return context.db.transaction(async (session) => {
    const [row] = await session.all<[number]>(`SELECT ${storeNow} AS now`, [context.now()])
    const [now] = row as [number]
    const ended = await find(session, context, cursor, request)
    const { pruned, hints } = await remove(session, context, ended, now + request.keyRetentionMs)
    return { answer: { pruned }, hints }
  })
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

interface Ended {
  readonly ref: number
  readonly series: number
  readonly state: OccurrenceState
}

/** Locks what has ended long enough ago; what another node is just pruning is left to it. */
async function find(
  session: Session,
  { isCompat }: Context,
  cursor: PruneCursor,
  { endedBefore, limit }: PruneRequest,
): Promise<Ended[]> {
  const [bounds] = await session.all<[number | null, number | null]>('SELECT min(ref), max(ref) AS last FROM punctual.turn')
  const [first, last] = bounds ?? [null, null]
  if (first === null || last === null) return []
  const found = new Map<number, Ended>()
  const lookAt = async (from: number) => {
    const rows = await session.all<[number, number, TurnEnd]>(
      `SELECT ref, series, "end" FROM punctual.turn t WHERE ref >= $1 AND ref < $2 AND "end" IN (${ends}) AND ended_at < $3
        AND (${has('occurrence', 'ref = t.ref')} OR NOT ref IN (${claimed}))
        ORDER BY ref LIMIT $4::int FOR UPDATE ${isCompat ? '' : 'SKIP LOCKED'}`,
      [from, from + span, endedBefore, limit - found.size],
    )
    for (const [ref, series, end] of rows) found.set(ref, { ref, series, state: stateAfter[end] })
    return rows.length
  }
  let from = first
  for (let isFound = 1; isFound > 0 && found.size < limit && from <= last; from += span) isFound = await lookAt(from)
  for (let left = looks; left > 0 && found.size < limit; left--) {
    cursor.next = cursor.next < from || cursor.next > last ? from : cursor.next
    if (cursor.next > last) break
    await lookAt(cursor.next)
    cursor.next += span
  }
  return [...found.values()]
}

/** A claim that stands may still want to know that its turn has ended: the row goes when the claim is gone. */
const deleteTurns = `DELETE FROM punctual.turn WHERE ref = ANY($1::bigint[]) AND NOT ref IN (${claimed})`

interface Removed {
  readonly pruned: number
  readonly hints: readonly Hint[]
}

/** Deletes occurrences with all that belongs to them. The ids that nobody may use again stay as tombstones. */
async function remove(session: Session, context: Context, ended: readonly Ended[], until: number): Promise<Removed> {
  if (ended.length === 0) return { pruned: 0, hints: [] }
  const refs = column(ended.map(({ ref }) => ref))
  const limited = await session.all<[number]>(
    'SELECT ref FROM punctual.occurrence WHERE ref = ANY($1::bigint[]) AND holds IS NOT NULL ORDER BY ref',
    [refs],
  )
  const hints =
    limited.length === 0
      ? []
      : await passOn(
          session,
          context,
          limited.map(([ref]) => ref),
        )
  const deleted = await session.all<[number]>(
    `WITH o AS (DELETE FROM punctual.occurrence WHERE ref = ANY($1::bigint[]) RETURNING ref, id, source, key, uniqueness),
      x AS (INSERT INTO punctual.tombstone (id, until) SELECT id, $2::float8 FROM o
        WHERE source IN ('schedule', 'recovery') OR (key IS NOT NULL AND uniqueness = 'ever')
        ON CONFLICT (id) DO UPDATE SET until = excluded.until)
      SELECT ref FROM o`,
    [refs, until],
  )
  // Another may have pruned some of them at the same moment, and counted them.
  const gone = new Set(deleted.map(([ref]) => ref))
  const tallies = new Tallies()
  for (const { ref, series, state } of ended) if (gone.has(ref)) tallies.move(series, state, null)
  await Promise.all([
    session.all(deleteTurns, [refs]),
    ...['attempt', 'progress', 'start', 'cancel_request'].map((table) =>
      session.all(`DELETE FROM punctual.${table} WHERE ref = ANY($1::bigint[])`, [refs]),
    ),
    tallies.write(session),
  ])
  return { pruned: gone.size, hints }
}

/** Chances at keys that those that go had left unused are the next one's. */
async function passOn(session: Session, context: Context, refs: readonly number[]): Promise<readonly Hint[]> {
  const [waits] = await session.all<[boolean]>('SELECT EXISTS (SELECT 1 FROM punctual.waiting WHERE key IS NOT NULL) AS is_so')
  if (!waits?.[0]) return []
  const slice = await Slice.begin(session, context)
  await slice.gather(refs)
  for (const ref of refs) {
    const entry = slice.ledger.entries.get(ref)
    if (entry) slice.ledger.passOn(entry)
  }
  await flush(slice)
  return slice.hints
}
