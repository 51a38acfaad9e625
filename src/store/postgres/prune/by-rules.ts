// Removes what a job's own rule of retention no longer keeps.
import type { PruneRequest, RetentionRule } from '../../store.ts'
import { column } from '../connection/arrays.ts'
import type { Context } from '../context.ts'
import { removeEnded, span } from './remove-ended.ts'

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

/**
 * Jobs with separate rules are few, and each has its own statements. A rule that keeps all costs nothing. `places`: by series, where
 * the next look begins.
 */
export async function removeByRules(
  context: Context,
  places: Map<number, number>,
  { rules = [], limit, keyRetentionMs }: PruneRequest,
): Promise<number> {
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
    places.set(series, (await look(Math.max(places.get(series) ?? 0, front))) ?? 0)
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
