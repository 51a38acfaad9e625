import { type JobRecord, kindOf } from '../../model/job.ts'
import { bareEnd } from '../../model/turn.ts'
import { toJson } from '../rows/json.ts'
import type { JobPlan, PlanAnswer, PlanCandidate, PlannedOccurrence, PlanWork } from '../store.ts'
import { endTurn } from './ending.ts'
import { insertOccurrence, isTombstoned } from './insert.ts'
import { findJob, jobsByNext } from './jobs.ts'
import { keysOf } from './keys.ts'
import { Pauses, pauseRevision } from './pauses.ts'
import { takeOut, wake } from './place.ts'
import { type Standing, standings } from './standing.ts'
import type { Transaction } from './transaction.ts'
import { findVersion, versionsFrom } from './versions.ts'

export function jobsToPlan(tx: Transaction, { horizonMs, limit }: { horizonMs: number; limit: number }): PlanWork {
  const { now } = tx
  const pauses = Pauses.of(tx)
  const scheduled = jobsByNext(tx, limit + 1)
  const due = scheduled.slice(0, limit).filter((job) => (job.nextAt as number) <= now + horizonMs)
  const jobs = due.map((job) => candidate(tx, job, pauses))
  const next = scheduled[jobs.length]?.nextAt ?? null
  return {
    now,
    aliveSince: aliveSince(tx),
    pauseRevision: pauses.revision,
    jobs,
    nextAt: next === null ? null : next - horizonMs,
  }
}

function candidate(tx: Transaction, job: JobRecord, pauses: Pauses): PlanCandidate {
  const series = tx.dictionary.series(job.tenant, job.name)
  const held = stranded(tx, series.ref).map(({ at }) => at)
  const since = Math.min(job.cursor, ...held.slice(0, 1))
  return {
    job,
    versions: versionsFrom(tx, series.ref, job.cursor),
    stranded: held,
    pauses: pauses.ofSeries(series).filter(({ to }) => to === null || to > since),
  }
}

export function aliveSince(tx: Transaction): number {
  return (tx.one<[number]>("SELECT value FROM punctual_meta WHERE name = 'alive_since'") as [number])[0]
}

export function plan(tx: Transaction, plans: readonly JobPlan[]): readonly PlanAnswer[] {
  return plans.map((one) => planJob(tx, one))
}

function planJob(tx: Transaction, plan: JobPlan): PlanAnswer {
  const job = findJob(tx, plan.tenant, plan.job)
  if (!job || job.version !== plan.version || job.cursor !== plan.cursor || plan.pauseRevision !== pauseRevision(tx))
    return { outcome: 'behind' }
  const series = tx.dictionary.series(plan.tenant, plan.job).ref
  const { through, nextAt, tz, rows, revive, drop } = plan
  tx.run('UPDATE punctual_job SET cursor = ?, next_at = ?, tz = ? WHERE series = ?', through, nextAt, tz, series)
  const created = addPlanned(tx, series, job, rows)
  addRanges(tx, series, plan)
  if (revive.length + drop.length > 0) decideStranded(tx, series, plan)
  // What the plan knows nothing of must not wait for the next instant.
  if (stranded(tx, series).length > 0)
    tx.run('UPDATE punctual_job SET next_at = min(coalesce(next_at, ?1), ?1) WHERE series = ?2', tx.now, series)
  const first = rows.find((row) => row.end === null)
  if (first) tx.hints.push({ kind: 'due', at: first.dueAt })
  else if (revive.length > 0) tx.hints.push({ kind: 'due', at: tx.now })
  return { outcome: 'planned', created }
}

function addPlanned(tx: Transaction, series: number, job: JobRecord, rows: readonly PlannedOccurrence[]): number {
  const specs = new Map([[job.version, job.spec]])
  let created = 0
  for (const { at, dueAt, end, ...row } of rows) {
    if (isTombstoned(tx, row.id)) continue
    const spec = specs.get(row.version) ?? findVersion(tx, series, row.version)?.spec ?? job.spec
    specs.set(row.version, spec)
    const record = {
      ...row,
      tenant: job.tenant,
      job: job.name,
      definition: spec.definition,
      kind: kindOf(spec),
      key: null,
      unique: 'ever',
      entity: null,
      refs: {},
      payload: spec.payload,
      settings: null,
      replay: null,
      scheduledAt: at,
      createdAt: tx.now,
    } as const
    if (insertOccurrence(tx, record, dueAt, end)) created++
  }
  return created
}

function addRanges(tx: Transaction, series: number, { ranges, version }: JobPlan): void {
  for (const { from, to, count, state, reason } of ranges) {
    tx.run(
      `INSERT INTO punctual_range (series, version, from_at, to_at, count, state, reason, recorded_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      series,
      version,
      from,
      to,
      count,
      state,
      reason,
      tx.now,
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
  const rows = tx.all<[number, number]>(
    `SELECT w.ref, o.scheduled_at FROM punctual_waiting w INDEXED BY punctual_waiting_stranded CROSS JOIN punctual_occurrence o ON o.ref = w.ref
      WHERE w.series = ? AND w.reason = 'stranded' ORDER BY o.scheduled_at, w.seq`,
    series,
  )
  return rows.map(([ref, at]) => ({ ref, at }))
}

/** The planner's word on instants that came due while nobody was there. */
function decideStranded(tx: Transaction, series: number, { revive, drop }: JobPlan): void {
  const revived = byInstant(revive)
  const dropped = byInstant(drop)
  for (const { ref, at } of stranded(tx, series)) {
    const again = revived.get(at)
    const end = dropped.get(at)
    if (again) reviveOne(tx, { series, ref }, again)
    else if (end) dropOne(tx, standings(tx, 'o.ref = ?', ref)[0] as Standing, end)
  }
}

/** The first word on each instant counts. */
function byInstant<Word extends { readonly at: number }>(words: readonly Word[]): ReadonlyMap<number, Word> {
  return new Map(words.toReversed().map((word) => [word.at, word]))
}

function reviveOne(
  tx: Transaction,
  { series, ref }: { series: number; ref: number },
  { holds, span }: JobPlan['revive'][number],
): void {
  // A place that it has kept is still its own, and freed with its end: a holder is never without a list of keys.
  const text = toJson(holds) ?? (keysOf(tx, ref).length > 0 ? 'null' : null)
  tx.run("UPDATE punctual_occurrence SET source = 'recovery', holds = ?, span = ? WHERE ref = ?", text, toJson(span), ref)
  // While it was stranded its expiry may have been passed over.
  tx.run(
    `INSERT OR IGNORE INTO punctual_expiry SELECT w.due_at + o.start_within_ms, w.ref
      FROM punctual_waiting w CROSS JOIN punctual_occurrence o ON o.ref = w.ref
      WHERE w.series = ? AND w.ref = ? AND o.start_within_ms IS NOT NULL`,
    series,
    ref,
  )
  wake(tx, [series, ref, 0])
}

function dropOne(tx: Transaction, standing: Standing, { state, reason }: JobPlan['drop'][number]): void {
  takeOut(tx, 'waiting', standing)
  endTurn(tx, standing, bareEnd(state, tx.now, { reason }), 'waiting')
}
