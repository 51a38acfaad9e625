// Removes ended occurrences with all that is known of them, in one statement.
import { endStates } from '../../../model/lifecycle.ts'
import { bareEnd } from '../../../model/turn.ts'
import { noVersion } from '../../rules/tombstone.ts'
import type { PruneRequest } from '../../store.ts'
import { Changes } from '../changes/changes.ts'
import { unquoted } from '../connection/arrays.ts'
import { each } from '../connection/by-key.ts'
import type { Session } from '../connection/session.ts'
import { type Context, readNow, storeNow } from '../context.ts'
import { takeDead } from '../move.ts'

/** How many numbers one look spans. */
export const span = 20_000

export type Pass = PruneRequest & { readonly endedBefore: number }

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
export async function removeFrom(
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

// e: what has ended, and whose onComplete has run. The end rows of a claim's members are kept until the claim is gone: it goes by
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

/** Ends dead work, as canceled. */
export async function endDead(context: Context, session: Session, ref: number): Promise<void> {
  const dead = await takeDead(context, session, ref)
  const now = await readNow(session, context)
  const changes = new Changes(now)
  if (dead) changes.endIdle(dead, { turn: dead.turn, ...bareEnd('canceled', now) })
  await changes.write(session)
}
