import { declaredLimits } from '../../model/hold.ts'
import { defaultTenant, type JobRecord, type JobSpec, kindOf, versionAt } from '../../model/job.ts'
import type { OccurrenceRecord } from '../../model/occurrence.ts'
import { covers } from '../../model/pause.ts'
import type { CreateAnswer, JobPlan, NewOccurrence, PlanAnswer, PlanCandidate, PlannedOccurrence, PlanWork } from '../store.ts'
import { type Entry, endOf, jobKey, type Ledger, liveKey } from './ledger.ts'

export function jobsToPlan(ledger: Ledger, { horizonMs, limit }: { horizonMs: number; limit: number }): PlanWork {
  const now = ledger.now
  const scheduled = [...ledger.jobs.values()]
    .filter((job) => job.nextAt !== null)
    .sort((a, b) => (a.nextAt as number) - (b.nextAt as number))
  const due = scheduled.filter((job) => (job.nextAt as number) <= now + horizonMs)
  const jobs = due.slice(0, limit).map((job) => candidate(ledger, job))
  const next = scheduled[jobs.length]?.nextAt
  return {
    now,
    aliveSince: ledger.aliveSince,
    pauseRevision: ledger.pauseRevision,
    jobs,
    nextAt: next === undefined || next === null ? null : next - horizonMs,
  }
}

function candidate(ledger: Ledger, job: JobRecord): PlanCandidate {
  const versions = ledger.versions.get(jobKey(job.tenant, job.name)) ?? []
  const first = versionAt(versions, job.cursor).version
  const held = stranded(ledger, job.tenant, job.name).map((entry) => entry.record.scheduledAt)
  const since = Math.min(job.cursor, ...held.slice(0, 1))
  return {
    job,
    versions: versions.filter(({ version, effectiveAt }) => version === first || effectiveAt > job.cursor),
    stranded: held,
    pauses: ledger.pauses.filter((pause) => covers(pause, job.tenant, job.name) && (pause.to === null || pause.to > since)),
  }
}

export function plan(ledger: Ledger, plans: readonly JobPlan[]): readonly PlanAnswer[] {
  return plans.map((one) => planJob(ledger, one))
}

function planJob(ledger: Ledger, plan: JobPlan): PlanAnswer {
  const key = jobKey(plan.tenant, plan.job)
  const job = ledger.jobs.get(key)
  if (!job || job.version !== plan.version || job.cursor !== plan.cursor || plan.pauseRevision !== ledger.pauseRevision)
    return { outcome: 'behind' }
  ledger.jobs.set(key, { ...job, cursor: plan.through, nextAt: plan.nextAt, tz: plan.tz })
  const created = plan.rows.filter((row) => addPlanned(ledger, job, row)).length
  const recordedAt = ledger.now
  for (const range of plan.ranges)
    ledger.ranges.push({ ...range, tenant: job.tenant, job: job.name, version: plan.version, recordedAt })
  for (const entry of stranded(ledger, job.tenant, job.name)) decide(ledger, entry, plan)
  // What the plan knows nothing of must not wait for the next instant.
  if (stranded(ledger, job.tenant, job.name).length > 0) planSoon(ledger, key)
  const first = plan.rows.find((row) => row.end === null)
  if (first) ledger.hint({ kind: 'due', at: first.dueAt })
  else if (plan.revive.length > 0) ledger.hint({ kind: 'due', at: ledger.now })
  return { outcome: 'planned', created }
}

function addPlanned(ledger: Ledger, { tenant, name, spec }: JobRecord, row: PlannedOccurrence): boolean {
  const { id, at, dueAt, version, source, priority, holds, span, startWithinMs, end } = row
  if (ledger.byId.has(id) || ledger.tombstones.has(id)) return false
  const of = ledger.versions.get(jobKey(tenant, name))?.find((one) => one.version === version)?.spec ?? spec
  const record: OccurrenceRecord = {
    id,
    tenant,
    job: name,
    definition: of.definition,
    kind: kindOf(of),
    version,
    source,
    key: null,
    unique: 'ever',
    entity: null,
    refs: {},
    payload: of.payload,
    settings: null,
    priority,
    holds,
    span,
    replay: null,
    startWithinMs,
    scheduledAt: at,
    createdAt: ledger.now,
  }
  const entry = ledger.add(record, dueAt)
  if (end) ledger.endTurn(entry, endOf(entry, end.state, ledger.now, { reason: end.reason }))
  return true
}

/** The planner's word on an instant that came due while nobody was there. */
function decide(ledger: Ledger, entry: Entry, { revive, drop }: JobPlan): void {
  const { scheduledAt } = entry.record
  const revived = revive.find(({ at }) => at === scheduledAt)
  if (revived) {
    entry.record = { ...entry.record, source: 'recovery', holds: revived.holds, span: revived.span }
    return ledger.makeReady(entry, entry.dueAt)
  }
  const dropped = drop.find(({ at }) => at === scheduledAt)
  if (dropped) ledger.endTurn(entry, endOf(entry, dropped.state, ledger.now, { reason: dropped.reason }))
}

function planSoon(ledger: Ledger, key: string): void {
  const job = ledger.jobs.get(key) as JobRecord
  ledger.jobs.set(key, { ...job, nextAt: Math.min(job.nextAt ?? ledger.now, ledger.now) })
}

function stranded(ledger: Ledger, tenant: string, job: string): Entry[] {
  return [...ledger.waiting]
    .filter(({ wait, record }) => wait?.reason === 'stranded' && record.tenant === tenant && record.job === job)
    .sort((a, b) => a.record.scheduledAt - b.record.scheduledAt)
}

export function create(ledger: Ledger, rows: readonly NewOccurrence[]): readonly CreateAnswer[] {
  let earliest = Number.POSITIVE_INFINITY
  const answers = rows.map((row) => {
    const scheduledAt = ledger.dueAt(row.due)
    const existing =
      ledger.byId.get(row.id) ?? (row.key !== null && row.unique === 'live' ? ledger.liveKeys.get(liveKey(row)) : undefined)
    const answer = existing ? resolveConflict(ledger, existing, row, scheduledAt) : createNew(ledger, row, scheduledAt)
    if (answer.outcome === 'created' || answer.outcome === 'moved' || answer.outcome === 'replaced')
      earliest = Math.min(earliest, scheduledAt)
    return answer
  })
  if (earliest < Number.POSITIVE_INFINITY) ledger.hint({ kind: 'due', at: earliest })
  return answers
}

function createNew(ledger: Ledger, row: NewOccurrence, dueAt: number): CreateAnswer {
  if (ledger.tombstones.has(row.id)) return { id: row.id, outcome: 'tombstoned', differs: false }
  const { due: _, onConflict: __, ...given } = row
  const versions = ledger.versions.get(jobKey(row.tenant, row.job))
  const version = row.version ?? (versions ? versionAt(versions, ledger.now).version : 0)
  const spec = specFor(ledger, row, version)
  // A process that does not know the job may name it by itself; the definition is the job's.
  const definition = (row.holds === 'declared' ? spec?.definition : null) ?? row.definition
  const limits = row.holds === 'declared' ? declaredLimits(spec, row) : { holds: row.holds, startWithinMs: row.startWithinMs }
  const record: OccurrenceRecord = {
    ...given,
    ...limits,
    definition,
    kind: spec?.definition === definition ? kindOf(spec) : definition,
    span: null,
    version,
    scheduledAt: row.scheduledAt ?? dueAt,
    createdAt: ledger.now,
  }
  ledger.add(record, dueAt)
  return { id: row.id, outcome: 'created', differs: false }
}

/** What the job says of work of this version; where the tenant has no such job, what the definition's own job says now. */
function specFor(ledger: Ledger, { tenant, job, definition }: NewOccurrence, version: number): JobSpec | undefined {
  const known = ledger.versions.get(jobKey(tenant, job))?.find((one) => one.version === version)
  const own = known ? undefined : ledger.versions.get(jobKey(defaultTenant, definition))
  return known?.spec ?? (own && versionAt(own, ledger.now).spec)
}

function resolveConflict(ledger: Ledger, entry: Entry, row: NewOccurrence, scheduledAt: number): CreateAnswer {
  const { id, payload } = entry.record
  const differs = payload !== row.payload
  const movable = (entry.place === 'ready' || entry.place === 'waiting') && entry.turn === 1
  if (row.onConflict === 'keep' || !movable) return { id, outcome: 'existing', differs }
  entry.record = {
    ...entry.record,
    scheduledAt,
    ...(row.onConflict === 'replace' && { payload: row.payload, priority: row.priority }),
  }
  ledger.reschedule(entry, scheduledAt)
  return { id, outcome: row.onConflict === 'replace' ? 'replaced' : 'moved', differs: row.onConflict === 'reschedule' && differs }
}
