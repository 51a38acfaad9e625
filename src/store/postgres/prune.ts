// Ended occurrences go after their time. Those that were created first mostly go first, so the walk goes on from where some were
// found last, and all the rest is looked at in turns: no index by time is needed for what happens once in the life of a row.

import { isEnd, type OccurrenceState } from '../../model/lifecycle.ts'
import { occurrenceAudit, pruneAudit } from '../rules/audit.ts'
import { boundKeyMs } from '../rules/gate.ts'
import { dropVersions } from '../rules/sql/jobs.ts'
import { dropExpiredTokens } from '../rules/sql/tokens.ts'
import type { PruneAnswer, PruneRequest, Which } from '../store.ts'
import { appendAudit, occurrencesOf, sealAudit } from './audit.ts'
import { lockDoor } from './claim/door.ts'
import { runSteps } from './connection/session.ts'
import { type Acted, type Context, storeNow } from './context.ts'
import { foldCounts } from './counts.ts'
import { foldFigures } from './figures.ts'
import { findRef } from './find.ts'
import { refreshBlocks } from './list/refresh-blocks.ts'
import { removeByRules } from './prune/by-rules.ts'
import { dropRanges, pruneJob } from './prune/job.ts'
import { endDead, type Pass, removeEnded, removeFrom } from './prune/remove-ended.ts'

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
  /** The page of the table whose blocks are refreshed next. */
  page: number
}

export async function prune(context: Context, cursor: PruneCursor, request: PruneRequest): Promise<Acted<PruneAnswer>> {
  if (request.job) return pruneJob(context, request.job, request)
  if (request.only) return { answer: await pruneOnly(context, request.only, request), hints: [] }
  const answer = await pruneEnded(context, cursor, request)
  if (answer.pruned > 0) cursor.page = await refreshBlocks(context, cursor.page)
  return { answer, hints: [] }
}

async function pruneEnded(context: Context, cursor: PruneCursor, request: PruneRequest): Promise<PruneAnswer> {
  await foldCounts(context)
  await foldFigures(context)
  await runSteps(context.db, dropExpiredTokens(context.now()))
  await sweep(context)
  await sealAudit(context, request.auditBefore ?? null)
  if (request.pausesBefore != null)
    await context.db.rows('DELETE FROM punctual.pause WHERE to_at < $1 AND swept', [request.pausesBefore])
  await dropRanges(context, request.rangesBefore ?? null)
  if (request.versionsBefore != null) await runSteps(context.db, dropVersions(request.versionsBefore))
  const { endedBefore } = request
  if (request.audit) return endedBefore === null ? nothing : passOnCall(context, { ...request, endedBefore })
  const own = await removeByRules(context, cursor.rules, request)
  const passed = endedBefore === null ? nothing : await pass(context, cursor, { ...request, endedBefore })
  return { pruned: own + passed.pruned, more: passed.more || own >= request.limit }
}

const nothing: PruneAnswer = { pruned: 0, more: false }

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
    const door = await session.rows(`${lockDoor} SKIP LOCKED`)
    if (door.length === 0) return
    await session.rows(
      `DELETE FROM punctual.limit_key WHERE key = ANY(ARRAY(SELECT k.key FROM punctual.limit_key k WHERE k.used = 0 LIMIT ${mostSwept}))`,
    )
  })
}

/** Deletes one record that is no longer needed by anyone. */
async function pruneOnly(context: Context, which: Which, { keyRetentionMs, audit }: PruneRequest): Promise<PruneAnswer> {
  return context.db.transaction(async (session): Promise<PruneAnswer> => {
    const ref = await findRef(session, which)
    const known = ref === null ? undefined : (await occurrencesOf(session, [ref])).get(ref)
    if (ref === null || !known) return { pruned: 0, more: false, outcome: 'unknown' }
    if (known.state === 'dead') await endDead(context, session, ref)
    else if (!isEnd(known.state as OccurrenceState)) return { pruned: 0, more: false, outcome: 'live' }
    await appendAudit(session, context, [occurrenceAudit(audit, known, null)])
    const pruned = await removeEnded(session, context, [ref], keyRetentionMs)
    return { pruned, more: false, outcome: pruned > 0 ? 'deleted' : 'unknown' }
  })
}
