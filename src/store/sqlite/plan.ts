import type { JobRecord } from '../../model/job.ts'
import { draftPlanned, revivedRecord } from '../rules/draft.ts'
import { rangeMessage } from '../rules/message.ts'
import { decisionOn, planCandidate, plannedDue } from '../rules/plan.ts'
import { readVersions } from '../rules/sql/jobs.ts'
import type { JobPlan, PlanAnswer, PlanCandidate, PlannedOccurrence, PlanWork } from '../store.ts'
import type { Transaction } from './connection/transaction.ts'
import { findJob, jobsByNext } from './jobs.ts'
import { JobSpecs } from './names/job-specs.ts'
import { endUnattended } from './occurrence/ends.ts'
import { type Entry, readEntry } from './occurrence/entry.ts'
import { addMessage, findTombstone, insertOccurrence, updateOccurrence } from './occurrence/insert.ts'
import { reschedule } from './occurrence/live-tables.ts'
import { allPauses } from './pause.ts'

export function jobsToPlan(tx: Transaction, { horizonMs, limit }: { horizonMs: number; limit: number }): PlanWork {
  const { now } = tx
  const scheduled = jobsByNext(tx, limit + 1)
  const due = scheduled.slice(0, limit).filter((job) => (job.nextAt as number) <= now + horizonMs)
  const pauseRevision = tx.meta('pause_revision')
  const jobs = due.map((job) => candidate(tx, job))
  const next = scheduled[jobs.length]?.nextAt ?? null
  return { now, aliveSince: tx.meta('alive_since'), pauseRevision, jobs, nextAt: next === null ? null : next - horizonMs }
}

function candidate(tx: Transaction, job: JobRecord): PlanCandidate {
  const series = tx.names.series(job.tenant, job.name).ref
  const held = stranded(tx, series).map(({ at }) => at)
  return planCandidate(job, held, tx.runSteps(readVersions(series)), allPauses(tx))
}

export function plan(tx: Transaction, plans: readonly JobPlan[]): readonly PlanAnswer[] {
  return plans.map((one) => planJob(tx, one))
}

function planJob(tx: Transaction, plan: JobPlan): PlanAnswer {
  const job = findJob(tx, plan.tenant, plan.job)
  if (!job || job.version !== plan.version || job.cursor !== plan.cursor || plan.pauseRevision !== tx.meta('pause_revision'))
    return { outcome: 'behind' }
  const series = tx.names.series(plan.tenant, plan.job).ref
  const { through, nextAt, tz, rows } = plan
  tx.run('UPDATE punctual_job SET cursor = ?, next_at = ?, tz = ? WHERE series = ?', through, nextAt, tz, series)
  const jobs = new JobSpecs(tx)
  const created = rows.filter((row) => addPlanned(tx, job, jobs.ofVersion(series, row.version) ?? job.spec, row)).length
  addRanges(tx, series, plan)
  for (const range of plan.ranges) addMessage(tx, rangeMessage(job.spec.publish, job, range, tx.now))
  const held = stranded(tx, series)
  for (const one of held) decide(tx, one, plan)
  // Instants that the plan does not know of must not wait for the next one.
  if (held.length > 0 && stranded(tx, series).length > 0) planSoon(tx, series)
  const dueAt = plannedDue(plan, tx.now)
  if (dueAt !== null) tx.hintDue(dueAt)
  return { outcome: 'planned', created }
}

function addPlanned(tx: Transaction, job: JobRecord, spec: JobRecord['spec'], row: PlannedOccurrence): boolean {
  if (tx.refs.find(row.id) !== null || findTombstone(tx, row.id)) return false
  const entry = insertOccurrence(tx, draftPlanned({ ...job, spec }, row, tx.now), row.dueAt)
  if (row.end) endUnattended(tx, entry, row.end.state, row.end.reason)
  return true
}

function addRanges(tx: Transaction, series: number, { ranges, version }: JobPlan): void {
  for (const { from, to, count, state, reason } of ranges) {
    tx.run(
      `INSERT INTO punctual_range (series, version, from_at, to_at, count, state, reason, recorded_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[series, version, from, to, count, state, reason, tx.now],
    )
    tx.run(`UPDATE punctual_series SET ${state}_in_ranges = ${state}_in_ranges + ? WHERE ref = ?`, count, series)
  }
}

interface Stranded {
  readonly ref: number
  /** The instant it stands for. */
  readonly at: number
}

function stranded(tx: Transaction, series: number): Stranded[] {
  return tx.all<Stranded>(
    `SELECT w.ref, o.scheduled_at AS at FROM punctual_aside w INDEXED BY punctual_aside_stranded
      CROSS JOIN punctual_occurrence o ON o.ref = w.ref WHERE w.series = ? AND w.reason = 'stranded' ORDER BY o.scheduled_at, w.ref`,
    series,
  )
}

/** Applies the planner's decision on an instant that came due while no node was alive. */
function decide(tx: Transaction, { ref, at }: Stranded, plan: JobPlan): void {
  const { revived, dropped } = decisionOn(at, plan)
  if (!revived && !dropped) return
  const entry = readEntry(tx, ref) as Entry
  if (dropped) return endUnattended(tx, entry, dropped.state, dropped.reason)
  if (!revived) return
  const record = revivedRecord(entry.record, revived)
  updateOccurrence(tx, entry, record)
  reschedule(tx, entry, entry.dueAt, record)
}

/** Has the planner look at the job at once. */
export function planSoon(tx: Transaction, series: number): void {
  tx.run('UPDATE punctual_job SET next_at = min(coalesce(next_at, ?1), ?1) WHERE series = ?2', tx.now, series)
}
