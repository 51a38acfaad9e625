// Ended occurrences go after their time. Those that were created first mostly go first, so the walk goes on from where some were
// found last, and all the rest is looked at in turns: no index by time is needed for what happens once in the life of a row.
import { endStates } from '../../model/lifecycle.ts'
import { pruneAudit } from '../rules/audit.ts'
import { boundKeyMs } from '../rules/gate.ts'
import { noVersion } from '../rules/tombstone.ts'
import type { Hint, PruneAnswer, PruneRequest, RetentionRule } from '../store.ts'
import { appendAudit, sealAudit } from './audit.ts'
import { column, unquoted } from './connection/arrays.ts'
import { each } from './connection/by-key.ts'
import type { Session } from './connection/session.ts'
import { type Context, storeNow } from './context.ts'
import { foldCounts } from './counts.ts'
import { foldFigures } from './figures.ts'
import { dropRanges, dropVersions } from './prune/job-records.ts'
import { dropExpiredTokens } from './tokens.ts'

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
  /** The same for each job that has a rule. */
  readonly rules: Map<number, number>
}

interface Pruned {
  readonly answer: PruneAnswer
  readonly hints: readonly Hint[]
}

export async function prune(context: Context, cursor: PruneCursor, request: PruneRequest): Promise<Pruned> {
  await foldCounts(context)
  await foldFigures(context)
  await dropExpiredTokens(context)
  await sweep(context)
  await sealAudit(context, request.auditBefore ?? null)
  if (request.pausesBefore != null)
    await context.db.rows('DELETE FROM punctual.pause WHERE to_at < $1 AND swept', [request.pausesBefore])
  await dropRanges(context, request.rangesBefore ?? null)
  await dropVersions(context, request.versionsBefore ?? null)
  const { endedBefore } = request
  if (request.audit)
    return { answer: endedBefore === null ? nothing : await passOnCall(context, { ...request, endedBefore }), hints: [] }
  const own = await removeByRules(context, cursor, request)
  const passed = endedBefore === null ? nothing : await pass(context, cursor, { ...request, endedBefore })
  return { answer: { pruned: own + passed.pruned, more: passed.more || own >= request.limit }, hints: [] }
}

const nothing: PruneAnswer = { pruned: 0, more: false }

type Pass = PruneRequest & { readonly endedBefore: number }

/** Goes through all numbers up to the first removal, which is in one commit with its row of the audit. */
async function passOnCall(context: Context, request: Pass): Promise<PruneAnswer> {
  let from: number | null = 0
  while (from !== null) {
    const start: number = from
    const look = await context.db.transaction(async (session) => {
      const removed = await removeFrom({ ...context, db: session }, start, request)
      await appendAudit(session, context, [pruneAudit(request.audit, removed.pruned)])
      return removed
    })
    if (look.pruned > 0) return { pruned: look.pruned, more: true }
    from = look.next
  }
  return nothing
}

/** Removes work that ended before an instant, except for jobs with their own rules. */
async function pass(context: Context, cursor: PruneCursor, request: Pass): Promise<PruneAnswer> {
  const first = await walk(context, cursor.front, request)
  cursor.front = first.front
  if (first.isCut) return { pruned: first.pruned, more: true }
  const left = request.limit - first.found
  const rest = left > 0 ? await walk(context, cursor.next, { ...request, limit: left }) : null
  if (rest) cursor.next = rest.end ?? 0
  const isFull = rest === null || rest.found === left
  // There may be much more where the rest was found.
  if (rest && isFull) cursor.front = rest.front
  const pruned = first.pruned + (rest?.pruned ?? 0)
  // A call that finds rows and removes none leaves them to the node that was quicker.
  return { pruned, more: isFull && pruned > 0 }
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
async function walk(context: Context, from: number, request: Pass): Promise<Walk> {
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

/** Removes expired tombstones, forgotten effects and free keys, each in a separate commit. */
async function sweep({ db, now }: Context): Promise<void> {
  await db.rows(
    `DELETE FROM punctual.tombstone WHERE id = ANY(ARRAY(
      SELECT id FROM punctual.tombstone WHERE until < ${storeNow} ORDER BY until LIMIT ${mostSwept} FOR UPDATE SKIP LOCKED))`,
    [now()],
  )
  // A key of an occurrence alone is kept for as long as that one.
  await db.rows(
    `UPDATE punctual.gate g SET expires_at = ${storeNow} + ${boundKeyMs} WHERE g.expires_at <= ${storeNow} AND g.scope = g.occurrence::text
      AND (SELECT true FROM punctual.occurrence o WHERE o.id = g.occurrence) IS NOT NULL`,
    [now()],
  )
  await db.rows(
    `DELETE FROM punctual.gate WHERE (tenant, scope, key) IN (
      SELECT tenant, scope, key FROM punctual.gate WHERE expires_at <= ${storeNow} ORDER BY expires_at LIMIT ${mostSwept}
      FOR UPDATE SKIP LOCKED)`,
    [now()],
  )
  // Only the doorman may touch counts of keys.
  await db.transaction(async (session) => {
    const door = await session.rows('SELECT one FROM punctual.door FOR UPDATE SKIP LOCKED')
    if (door.length === 0) return
    await session.rows(
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

interface RemovedRow extends Pick<Removed, 'first' | 'found' | 'pruned'> {
  readonly is_too_early: boolean
}

/** Removes what has ended long enough ago, of a span of numbers that begins with the first that has ended. */
async function removeFrom(
  { db, now, names }: Pick<Context, 'now' | 'names'> & { readonly db: Session },
  from: number,
  { endedBefore, limit, keyRetentionMs, rules = [] }: Pass,
): Promise<Removed> {
  const [row] = await db.rows<RemovedRow>(remove, [
    now(),
    from,
    span,
    endedBefore,
    limit,
    keyRetentionMs,
    unquoted(rules.map(({ tenant, job }) => names.series(tenant, job).ref)),
  ])
  const { first, found, pruned, is_too_early: isTooEarly } = row as RemovedRow
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

const isFreed = `((SELECT e."end" FROM e WHERE e.ref = o.ref LIMIT 1) = 'canceled' AND ${mayHaveBegun} IS NULL)`

const tombstones = (keyMs: string) => `x AS (
    INSERT INTO punctual.tombstone (id, until, version) SELECT o.id, ${storeNow} + ${keyMs}::float8,
      CASE WHEN f.source NOT IN ('schedule', 'recovery') AND ${isFreed} THEN coalesce((o.extra::jsonb ->> 'keyVersion')::float8, ${noVersion}) END
    FROM o CROSS JOIN ${each('form f', 'f.ref = o.form')} f
    WHERE f.source IN ('schedule', 'recovery') OR (o.key IS NOT NULL AND f.uniqueness = 'ever')
    ON CONFLICT (id) DO UPDATE SET until = excluded.until, version = excluded.version)`

const countDeltas = `y AS (
    INSERT INTO punctual.count_delta (series, ${endStates.join(', ')})
    SELECT series, ${endStates.map((end) => `-count(*) FILTER (WHERE "end" = '${end}')`).join(', ')}
    FROM o CROSS JOIN ${each('turn', `ref = o.ref AND "end" IN (${ends})`, { columns: '"end"' })} t GROUP BY series)`

// e: what has ended, and whose onComplete has run. The end rows of claims that stand are kept until the claim is gone: it goes by
// them. Ids of planned instants, and of keys that may be used only once, become tombstones: see rules/tombstone.ts.
const inSpan = 't.ref >= (SELECT first FROM f) AND t.ref < (SELECT first FROM f) + $3::int'
const remove = `WITH f AS MATERIALIZED (SELECT (SELECT ref FROM punctual.turn WHERE ref >= $2::bigint ORDER BY ref LIMIT 1) AS first),
  e AS MATERIALIZED (
    SELECT t.ref, t."end" FROM punctual.turn t LEFT JOIN ${each('occurrence', 'ref = t.ref', { columns: 'ref' })} o ON true
    WHERE ${inSpan} AND t."end" IN (${ends}) AND t.ended_at < $4 AND NOT t.series = ANY($7::int[]) AND (o.ref IS NOT NULL OR NOT t.ref IN (${claimed}))
      AND (SELECT true FROM punctual.hook_note h WHERE h.ref = t.ref) IS NULL
    ORDER BY t.ref LIMIT $5::int),
  o AS (DELETE FROM punctual.occurrence WHERE ${removed} RETURNING ref, id, series, form, key, extra),
  ${tombstones('$6')},
  turns AS (DELETE FROM punctual.turn WHERE ${removed} AND NOT ref IN (${claimed})),
  ${['attempt', 'progress', 'log', 'start', 'cancel_request'].map(removeRare).join(',\n  ')},
  ${countDeltas}
  SELECT (SELECT first FROM f) AS first, (SELECT count(*) FROM e) AS found, (SELECT count(*) FROM o) AS pruned,
    NOT EXISTS (SELECT 1 FROM e) AND EXISTS (SELECT 1 FROM punctual.turn t WHERE ${inSpan} AND t."end" IN (${ends}) AND t.ended_at >= $4) AS is_too_early`

// The same for given occurrences.
const removeGiven = `WITH e AS MATERIALIZED (
    SELECT t.ref, t."end" FROM punctual.turn t WHERE t.ref = ANY($2::bigint[]) AND t."end" IN (${ends})),
  o AS (DELETE FROM punctual.occurrence WHERE ${removed} RETURNING ref, id, series, form, key, extra),
  ${tombstones('$3')},
  turns AS (DELETE FROM punctual.turn WHERE ${removed} AND NOT ref IN (${claimed})),
  ${['attempt', 'progress', 'log', 'start', 'cancel_request', 'hook_note'].map((table) => `${table}_rows AS (DELETE FROM punctual.${table} WHERE ${removed})`).join(',\n  ')},
  ${countDeltas}
  SELECT count(*) AS pruned FROM o`

/** Removes occurrences that have ended, and returns how many. */
export async function removeEnded(
  session: Session,
  { now }: Pick<Context, 'now'>,
  refs: readonly number[],
  keyRetentionMs: number,
): Promise<number> {
  if (refs.length === 0) return 0
  const [row] = await session.rows<Pick<Removed, 'pruned'>>(removeGiven, [now(), unquoted(refs), keyRetentionMs])
  return row?.pruned ?? 0
}

const lastTurn = `CROSS JOIN LATERAL (
      SELECT i."end", i.ended_at FROM punctual.turn i WHERE i.ref = o.ref ORDER BY i.turn DESC LIMIT 1) t`

/** The newest record beyond the count of an end. */
const firstBeyond = `SELECT o.ref FROM punctual.occurrence o ${lastTurn}
  WHERE o.series = $1 AND t."end"::text = $2 ORDER BY o.ref DESC OFFSET $3::int LIMIT 1`

const endOfSpan = `SELECT w.ref FROM punctual.occurrence w WHERE w.series = $1 AND w.ref > $2::bigint ORDER BY w.ref OFFSET ${span - 1} LIMIT 1`

const pastOfJob = `SELECT o.ref FROM punctual.occurrence o ${lastTurn}
    JOIN unnest($2::text[], $3::float8[], $4::bigint[]) r ("end", ended_before, beyond) ON r."end" = t."end"::text
    WHERE o.series = $1 AND o.ref > $5::bigint AND o.ref <= $6::bigint AND (t.ended_at < r.ended_before OR o.ref <= r.beyond)
      AND (SELECT true FROM punctual.dead d WHERE d.series = o.series AND d.ref = o.ref) IS NULL
      AND (SELECT true FROM punctual.ready d WHERE d.series = o.series AND d.ref = o.ref) IS NULL
      AND (SELECT true FROM punctual.hook_note h WHERE h.ref = o.ref) IS NULL
    ORDER BY o.ref LIMIT $7::int`

/** Jobs with separate rules are few, and each has its own statements. A rule that keeps all costs nothing. */
async function removeByRules(context: Context, cursor: PruneCursor, { rules = [], limit, keyRetentionMs }: PruneRequest) {
  const { names } = context
  await names.addSeries(rules)
  let pruned = 0
  for (const { tenant, job, ends: byEnd } of rules) {
    const series = names.series(tenant, job).ref
    const limits = await limitsOf(context, series, byEnd)
    if (limits.length === 0 || pruned >= limit) continue
    const look = async (from: number) => {
      const done = await removePast(context, { series, limits, from, limit: limit - pruned, keyRetentionMs })
      pruned += done.pruned
      return done.next
    }
    const front = await look(0)
    if (front === null || pruned >= limit) continue
    // Records that stay may fill the front: the rest of the job is looked at in turns.
    cursor.rules.set(series, (await look(Math.max(cursor.rules.get(series) ?? 0, front))) ?? 0)
  }
  return pruned
}

interface RefRow {
  readonly ref: number
}

type EndLimit = readonly [end: string, endedBefore: number | null, beyond: number | null]

async function limitsOf({ db }: Context, series: number, ends: RetentionRule['ends']): Promise<EndLimit[]> {
  const limits: EndLimit[] = []
  for (const [end, { endedBefore, count }] of Object.entries(ends)) {
    const [first] = count === null ? [] : await db.rows<RefRow>(firstBeyond, [series, end, count])
    if (endedBefore !== null || first) limits.push([end, endedBefore, first?.ref ?? null])
  }
  return limits
}

interface JobSpan {
  readonly series: number
  readonly limits: readonly EndLimit[]
  readonly from: number
  readonly limit: number
  readonly keyRetentionMs: number
}

/** Removes from one span of a job's records. `next`: where the next span begins; null behind the last. */
async function removePast(context: Context, { series, limits, from, limit, keyRetentionMs }: JobSpan) {
  const { db } = context
  const [end] = await db.rows<RefRow>(endOfSpan, [series, from])
  const rows = await db.rows<RefRow>(pastOfJob, [
    series,
    column(limits.map(([name]) => name)),
    column(limits.map(([, endedBefore]) => endedBefore)),
    column(limits.map(([, , beyond]) => beyond)),
    from,
    end?.ref ?? Number.MAX_SAFE_INTEGER,
    limit,
  ])
  const refs = rows.map(({ ref }) => ref)
  const pruned = await removeEnded(db, context, refs, keyRetentionMs)
  return { pruned, next: rows.length === limit ? from : (end?.ref ?? null) }
}
