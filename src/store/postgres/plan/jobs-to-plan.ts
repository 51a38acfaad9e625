// The jobs that want planning, with all that a plan of them needs: one statement, since every node sends it again and again.
import type { PauseRecord } from '../../../model/pause.ts'
import { planCandidate } from '../../rules/plan.ts'
import { type JobRow, jobColumns, jobRecord, type VersionRow, versionRecord } from '../../rules/sql/jobs.ts'
import { type PauseRow, pauseRecord } from '../../rules/sql/pauses.ts'
import type { PlanCandidate, PlanWork } from '../../store.ts'
import { each } from '../connection/by-key.ts'
import { type Context, storeNow } from '../context.ts'

interface Row extends JobRow {
  readonly versions: readonly VersionRow[]
  readonly stranded: number[] | null
  readonly now: number
  readonly alive_since: number
  readonly pause_revision: number
  readonly pauses: readonly PauseRow[] | null
}

// The versions in force somewhere from the cursor on: the one at the cursor, of which the first is in force from ever, and later ones.
const select = `WITH s AS MATERIALIZED (
    SELECT ${jobColumns}, j.series FROM punctual.job j JOIN punctual.series s ON s.ref = j.series
    WHERE j.next_at IS NOT NULL ORDER BY j.next_at, j.series LIMIT $2)
  SELECT s.tenant, s.job, s.version, s.declared, s.override, s.created_at, s.updated_at, s.tz, s.cursor, s.next_at,
    (SELECT json_agg(v ORDER BY v.version) FROM punctual.job_version v
      WHERE v.series = s.series AND (v.effective_at > s.cursor OR v.version = (
        SELECT max(i.version) FROM punctual.job_version i WHERE i.series = s.series AND (i.effective_at <= s.cursor OR i.version = 1)))) AS versions,
    (SELECT array_agg(o.scheduled_at ORDER BY o.scheduled_at, w.ref) FROM punctual.waiting w
      CROSS JOIN ${each('occurrence e', 'e.ref = w.ref')} o WHERE w.series = s.series AND w.reason = 'stranded') AS stranded,
    ${storeNow} AS now, l.alive_since, m.pause_revision,
    CASE WHEN m.pause_revision > 0
      THEN (SELECT json_agg(q ORDER BY q.id) FROM punctual.pause q) END AS pauses
  FROM punctual.meta m CROSS JOIN punctual.life l LEFT JOIN s ON true ORDER BY s.next_at, s.series`

export async function jobsToPlan(
  context: Context,
  { horizonMs, limit }: { horizonMs: number; limit: number },
): Promise<PlanWork> {
  const rows = await context.db.rows<Row>(select, [context.now(), limit + 1])
  const [{ now, alive_since, pause_revision, pauses: rowsOfPauses }] = rows as [Row]
  context.noteNow(now)
  const pauses = (rowsOfPauses ?? []).map(pauseRecord)
  const scheduled = rows.filter(({ next_at }) => next_at !== null)
  const due = scheduled.slice(0, limit).filter(({ next_at }) => (next_at as number) <= now + horizonMs)
  const next = scheduled[due.length]?.next_at ?? null
  const jobs = due.map((row) => candidate(row, pauses))
  const nextAt = next === null ? null : next - horizonMs
  return { now, aliveSince: alive_since, pauseRevision: pause_revision, jobs, nextAt }
}

function candidate(row: Row, pauses: readonly PauseRecord[]): PlanCandidate {
  const { spec } = row.versions.at(-1) as VersionRow
  return planCandidate(jobRecord({ ...row, spec }), row.stranded ?? [], row.versions.map(versionRecord), pauses)
}
