// The jobs that want planning, with all that a plan of them needs: one statement, since every node sends it again and again.
import type { VersionRecord } from '../../../model/job.ts'
import { covers, type PauseRecord } from '../../../model/pause.ts'
import type { PlanCandidate, PlanWork } from '../../store.ts'
import { each } from '../connection/by-key.ts'
import { type Context, storeNow } from '../context.ts'
import { type JobRow, jobColumns, jobRecord, type VersionRow, versionColumns, versionRecord } from '../rows/job-row.ts'
import { type PauseRow, pauseColumns, pauseRecord } from '../rows/pause-row.ts'

type Meta = [now: number, aliveSince: number, pauseRevision: number, pauses: string | null]
type Row = [...JobRow, versions: string | null, stranded: number[] | null, ...Meta]

// The versions in force somewhere from the cursor on: the one at the cursor, of which the first is in force from ever, and later ones.
const select = `WITH s AS MATERIALIZED (
    SELECT ${jobColumns}, j.series FROM punctual.job j JOIN punctual.series s ON s.ref = j.series
    WHERE j.next_at IS NOT NULL ORDER BY j.next_at, j.series LIMIT $2)
  SELECT s.tenant, s.job, s.version, s.declared, s.override, s.created_at, s.updated_at, s.tz, s.cursor, s.next_at,
    (SELECT json_agg(json_build_array(${versionColumns}) ORDER BY v.version)::text FROM punctual.job_version v
      WHERE v.series = s.series AND (v.effective_at > s.cursor OR v.version = (
        SELECT max(i.version) FROM punctual.job_version i WHERE i.series = s.series AND (i.effective_at <= s.cursor OR i.version = 1)))) AS versions,
    (SELECT array_agg(o.scheduled_at ORDER BY o.scheduled_at, w.ref) FROM punctual.waiting w
      CROSS JOIN ${each('occurrence e', 'e.ref = w.ref')} o WHERE w.series = s.series AND w.reason = 'stranded') AS stranded,
    ${storeNow} AS now, l.alive_since, m.pause_revision,
    CASE WHEN m.pause_revision > 0
      THEN (SELECT json_agg(json_build_array(${pauseColumns}) ORDER BY id)::text FROM punctual.pause) END AS pauses
  FROM punctual.meta m CROSS JOIN punctual.life l LEFT JOIN s ON true ORDER BY s.next_at, s.series`

export async function jobsToPlan(
  context: Context,
  { horizonMs, limit }: { horizonMs: number; limit: number },
): Promise<PlanWork> {
  const rows = await context.db.all<Row>(select, [context.now(), limit + 1])
  const [first] = rows as [Row]
  const [now, aliveSince, pauseRevision, pausesText] = first.slice(12) as Meta
  context.noteNow(now)
  const pauses = pausesText === null ? [] : (JSON.parse(pausesText) as PauseRow[]).map(pauseRecord)
  const scheduled = rows.filter(({ 9: nextAt }) => nextAt !== null)
  const due = scheduled.slice(0, limit).filter(({ 9: nextAt }) => (nextAt as number) <= now + horizonMs)
  const next = scheduled[due.length]?.[9] ?? null
  const jobs = due.map((row) => candidate(row, pauses))
  return { now, aliveSince, pauseRevision, jobs, nextAt: next === null ? null : next - horizonMs }
}

function candidate(row: Row, pauses: readonly PauseRecord[]): PlanCandidate {
  const versions = (JSON.parse(row[10] as string) as VersionRow[]).map(versionRecord)
  const stranded = row[11] ?? []
  const newest = versions.at(-1) as VersionRecord
  const job = jobRecord(row, newest.spec)
  const since = Math.min(job.cursor, ...stranded.slice(0, 1))
  return {
    job,
    versions,
    stranded,
    pauses: pauses.filter((pause) => covers(pause, job.tenant, job.name) && (pause.to === null || pause.to > since)),
  }
}
