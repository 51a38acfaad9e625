import { deleteJobAudit } from '../../rules/audit.ts'
import { type JobRow, jobRecord, selectJob } from '../../rules/sql/jobs.ts'
import type { PruneAnswer, PruneRequest } from '../../store.ts'
import { appendAudit } from '../audit.ts'
import { column } from '../connection/arrays.ts'
import type { Session } from '../connection/session.ts'
import type { Acted, Context } from '../context.ts'
import { counts, foldCounts } from '../counts.ts'
import { endDead, removeEnded } from './remove-ended.ts'

/** Deletes the work of a job, and at last the job. */
export async function pruneJob(
  context: Context,
  { tenant, job }: NonNullable<PruneRequest['job']>,
  { keyRetentionMs, limit, audit }: PruneRequest,
): Promise<Acted<PruneAnswer>> {
  // Deltas that are folded after the deletion would bring the last run back.
  await foldCounts(context)
  const answer = await context.db.transaction(async (session): Promise<PruneAnswer> => {
    const [row] = await session.rows<JobRow>(`${selectJob} WHERE s.tenant = $1 AND s.job = $2 FOR UPDATE OF j, s`, [tenant, job])
    if (!row) return { pruned: 0, more: false, outcome: 'unknown' }
    await context.names.findAllSeries(session, [{ tenant, job }])
    const { ref: series } = context.names.series(tenant, job)
    const { pending, waiting, running, retrying } = (await counts({ db: session }, { tenant, job })).states
    if (pending + waiting + running + retrying > 0) return { pruned: 0, more: false, outcome: 'live' }
    await appendAudit(session, context, [deleteJobAudit(audit, jobRecord(row))])
    const found = await session.rows<{ ref: number }>(
      'SELECT ref FROM punctual.occurrence WHERE series = $1 ORDER BY ref LIMIT $2::int + 1',
      [series, limit],
    )
    const refs = found.slice(0, limit).map(({ ref }) => ref)
    const dead = await session.rows<{ ref: number }>(
      'SELECT ref FROM punctual.dead WHERE series = $1 AND ref = ANY($2::bigint[]) ORDER BY ref',
      [series, column(refs)],
    )
    for (const { ref } of dead) await endDead(context, session, ref)
    const pruned = await removeEnded(session, context, refs, keyRetentionMs)
    if (found.length > limit) return { pruned, more: true }
    await removeRanges(session, 'series = $1', [series])
    await session.rows('DELETE FROM punctual.pause WHERE tenant = $1 AND job = $2', [tenant, job])
    await session.rows('DELETE FROM punctual.job_version WHERE series = $1', [series])
    await session.rows('DELETE FROM punctual.job WHERE series = $1', [series])
    await session.rows(
      'UPDATE punctual.series SET last_run_at = NULL, failures_in_row = 0, last_version = $2::int WHERE ref = $1',
      [series, row.version],
    )
    return { pruned, more: false, outcome: 'deleted' }
  })
  return { answer, hints: answer.outcome === 'deleted' ? [{ kind: 'job' }] : [] }
}

const mostRanges = 1000

/** Deletes ranges and takes them out of the counts. */
async function removeRanges(session: Session, which: string, values: readonly (string | number)[]): Promise<void> {
  await session.rows(
    `WITH gone AS (DELETE FROM punctual.range WHERE ${which} RETURNING series, state, count)
      INSERT INTO punctual.count_delta (series, missed, skipped)
      SELECT series, -coalesce(sum(count) FILTER (WHERE state = 'missed'), 0), -coalesce(sum(count) FILTER (WHERE state = 'skipped'), 0)
      FROM gone GROUP BY series`,
    values,
  )
}

/** Ranges are recorded in their order: the first ones are the oldest. */
export async function dropRanges({ db }: Context, before: number | null): Promise<void> {
  if (before === null) return
  await removeRanges(
    db,
    `seq = ANY(ARRAY(SELECT r.seq FROM (SELECT seq, recorded_at FROM punctual.range ORDER BY seq LIMIT ${mostRanges}) r
      WHERE r.recorded_at < $1::float8))`,
    [before],
  )
}
