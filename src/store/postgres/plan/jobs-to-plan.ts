// The jobs that want planning, with all that a plan of them needs.
import type { VersionRecord } from '../../../model/job.ts'
import { covers, type PauseRecord } from '../../../model/pause.ts'
import { type JobRow, jobColumns, jobRecord, type VersionRow, versionColumns, versionRecord } from '../../rows/job-row.ts'
import type { PlanCandidate, PlanWork } from '../../store.ts'
import { column } from '../connection/arrays.ts'
import { each } from '../connection/by-key.ts'
import type { Session } from '../connection/session.ts'
import { type Context, storeNow } from '../context.ts'
import { selectPauses } from '../pause.ts'

type OwnRow = [...JobRow, spec: string | null, series: number]

export async function jobsToPlan(
  context: Context,
  { horizonMs, limit }: { horizonMs: number; limit: number },
): Promise<PlanWork> {
  return context.db.snapshot(async (session) => {
    const [[[now, aliveSince, pauseRevision]], scheduled] = await Promise.all([
      session.all<MetaRow>(selectMeta, [context.now()]) as Promise<[MetaRow]>,
      session.all<OwnRow>(selectScheduled, [limit + 1]),
    ])
    const due = scheduled.slice(0, limit).filter(({ 9: nextAt }) => (nextAt as number) <= now + horizonMs)
    const [versions, stranded, pauses] = await Promise.all([
      versionsFrom(session, due),
      strandedOf(session, due),
      pauseRevision === 0 ? [] : selectPauses(session),
    ])
    const jobs = due.map((row) => {
      const { 11: series } = row
      return candidate(row, versions.get(series) ?? [], stranded.get(series) ?? [], pauses)
    })
    const next = scheduled[jobs.length]?.[9] ?? null
    return { now, aliveSince, pauseRevision, jobs, nextAt: next === null ? null : next - horizonMs }
  })
}

type MetaRow = [now: number, aliveSince: number, pauseRevision: number]

const selectMeta = `SELECT ${storeNow} AS now, alive_since, pause_revision FROM punctual.meta, punctual.life`
// Without the spec: it comes with the versions, of which the newest always is one.
const selectScheduled = `SELECT ${jobColumns}, NULL::text AS spec, j.series FROM punctual.job j JOIN punctual.series s ON s.ref = j.series
  WHERE j.next_at IS NOT NULL ORDER BY j.next_at, j.series LIMIT $1`

/** By series, every version that is in force somewhere from the cursor on, oldest first. The first is in force from ever. */
async function versionsFrom(session: Session, jobs: readonly OwnRow[]): Promise<ReadonlyMap<number, readonly VersionRecord[]>> {
  if (jobs.length === 0) return new Map()
  const rows = await session.all<[...VersionRow, series: number]>(
    `SELECT ${versionColumns}, v.series FROM unnest($1::int[], $2::float8[]) j (series, cursor)
      CROSS JOIN LATERAL (
        SELECT max(i.version) AS version FROM punctual.job_version i
        WHERE i.series = j.series AND (i.effective_at <= j.cursor OR i.version = 1)
      ) f
      JOIN punctual.job_version v ON v.series = j.series AND (v.version = f.version OR v.effective_at > j.cursor)
      ORDER BY v.series, v.version`,
    [column(jobs.map(({ 11: series }) => series)), column(jobs.map(({ 8: cursor }) => cursor))],
  )
  return new Map([...Map.groupBy(rows, ({ 5: series }) => series)].map(([series, own]) => [series, own.map(versionRecord)]))
}

/** By series, the planned instants that came due while no node was there, in order. */
async function strandedOf(session: Session, jobs: readonly OwnRow[]): Promise<ReadonlyMap<number, readonly number[]>> {
  if (jobs.length === 0) return new Map()
  const rows = await session.all<[series: number, at: number]>(
    `SELECT w.series, o.scheduled_at FROM punctual.waiting w
      CROSS JOIN ${each('occurrence', 'ref = w.ref')} o
      WHERE w.series = ANY($1::int[]) AND w.reason = 'stranded' ORDER BY w.series, o.scheduled_at, w.ref`,
    [column(jobs.map(({ 11: series }) => series))],
  )
  return new Map([...Map.groupBy(rows, ([series]) => series)].map(([series, own]) => [series, own.map(([, at]) => at)]))
}

function candidate(
  row: OwnRow,
  versions: readonly VersionRecord[],
  stranded: readonly number[],
  pauses: readonly PauseRecord[],
): PlanCandidate {
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
