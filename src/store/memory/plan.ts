import { declaredLimits } from '../../model/hold.ts'
import { defaultTenant, type JobRecord, type JobSpec, kindOf, versionAt } from '../../model/job.ts'
import type { OccurrenceRecord } from '../../model/occurrence.ts'
import { covers } from '../../model/pause.ts'
import type { CreateAnswer, JobPlan, NewOccurrence, PlanAnswer, PlanCandidate, PlannedOccurrence, PlanWork } from '../store.ts'
import { type Entry, endOf, jobKey, liveKey, type MemoryState } from './state.ts'

export function jobsToPlan(state: MemoryState, { horizonMs, limit }: { horizonMs: number; limit: number }): PlanWork {
  const now = state.now
  const scheduled = [...state.jobs.values()]
    .filter((job) => job.nextAt !== null)
    .sort((a, b) => (a.nextAt as number) - (b.nextAt as number))
  const due = scheduled.filter((job) => (job.nextAt as number) <= now + horizonMs)
  const jobs = due.slice(0, limit).map((job) => candidate(state, job))
  const next = scheduled[jobs.length]?.nextAt
  return {
    now,
    aliveSince: state.aliveSince,
    pauseRevision: state.pauseRevision,
    jobs,
    nextAt: next === undefined || next === null ? null : next - horizonMs,
  }
}

function candidate(state: MemoryState, job: JobRecord): PlanCandidate {
  const versions = state.versions.get(jobKey(job.tenant, job.name)) ?? []
  const first = versionAt(versions, job.cursor).version
  const held = stranded(state, job.tenant, job.name).map((entry) => entry.record.scheduledAt)
  const since = Math.min(job.cursor, ...held.slice(0, 1))
  return {
    job,
    versions: versions.filter(({ version, effectiveAt }) => version === first || effectiveAt > job.cursor),
    stranded: held,
    pauses: state.pauses.filter((pause) => covers(pause, job.tenant, job.name) && (pause.to === null || pause.to > since)),
  }
}

export function plan(state: MemoryState, plans: readonly JobPlan[]): readonly PlanAnswer[] {
  return plans.map((one) => planJob(state, one))
}

function planJob(state: MemoryState, plan: JobPlan): PlanAnswer {
  const key = jobKey(plan.tenant, plan.job)
  const job = state.jobs.get(key)
  if (!job || job.version !== plan.version || job.cursor !== plan.cursor || plan.pauseRevision !== state.pauseRevision)
    return { outcome: 'behind' }
  state.jobs.set(key, { ...job, cursor: plan.through, nextAt: plan.nextAt, tz: plan.tz })
  const created = plan.rows.filter((row) => addPlanned(state, job, row)).length
  const recordedAt = state.now
  for (const range of plan.ranges)
    state.ranges.push({ ...range, tenant: job.tenant, job: job.name, version: plan.version, recordedAt })
  for (const entry of stranded(state, job.tenant, job.name)) decide(state, entry, plan)
  const first = plan.rows.find((row) => row.end === null)
  if (first) state.hint({ kind: 'due', at: first.dueAt })
  else if (plan.revive.length > 0) state.hint({ kind: 'due', at: state.now })
  return { outcome: 'planned', created }
}

function addPlanned(state: MemoryState, { tenant, name, spec }: JobRecord, row: PlannedOccurrence): boolean {
  const { id, at, dueAt, version, source, priority, holds, span, startWithinMs, end } = row
  if (state.byId.has(id) || state.tombstones.has(id)) return false
  const of = state.versions.get(jobKey(tenant, name))?.find((one) => one.version === version)?.spec ?? spec
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
    createdAt: state.now,
  }
  const entry = state.add(record, dueAt)
  if (end) state.endTurn(entry, endOf(entry, end.state, state.now, { reason: end.reason }))
  return true
}

/** The planner's word on an instant that came due while nobody was there. */
function decide(state: MemoryState, entry: Entry, { revive, drop }: JobPlan): void {
  const { scheduledAt } = entry.record
  const revived = revive.find(({ at }) => at === scheduledAt)
  if (revived) {
    entry.record = { ...entry.record, source: 'recovery', holds: revived.holds, span: revived.span }
    return state.makeReady(entry, entry.dueAt)
  }
  const dropped = drop.find(({ at }) => at === scheduledAt)
  if (dropped) state.endTurn(entry, endOf(entry, dropped.state, state.now, { reason: dropped.reason }))
}

function stranded(state: MemoryState, tenant: string, job: string): Entry[] {
  return [...state.waiting]
    .filter(({ wait, record }) => wait?.reason === 'stranded' && record.tenant === tenant && record.job === job)
    .sort((a, b) => a.record.scheduledAt - b.record.scheduledAt)
}

export function create(state: MemoryState, rows: readonly NewOccurrence[]): readonly CreateAnswer[] {
  let earliest = Number.POSITIVE_INFINITY
  const answers = rows.map((row) => {
    const scheduledAt = state.dueAt(row.due)
    const existing =
      state.byId.get(row.id) ?? (row.key !== null && row.unique === 'live' ? state.liveKeys.get(liveKey(row)) : undefined)
    const answer = existing ? resolveConflict(state, existing, row, scheduledAt) : createNew(state, row, scheduledAt)
    if (answer.outcome === 'created' || answer.outcome === 'moved' || answer.outcome === 'replaced')
      earliest = Math.min(earliest, scheduledAt)
    return answer
  })
  if (earliest < Number.POSITIVE_INFINITY) state.hint({ kind: 'due', at: earliest })
  return answers
}

function createNew(state: MemoryState, row: NewOccurrence, scheduledAt: number): CreateAnswer {
  if (state.tombstones.has(row.id)) return { id: row.id, outcome: 'tombstoned', differs: false }
  const { due: _, onConflict: __, ...given } = row
  const versions = state.versions.get(jobKey(row.tenant, row.job))
  const version = row.version ?? (versions ? versionAt(versions, state.now).version : 0)
  const spec = specFor(state, row, version)
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
    scheduledAt,
    createdAt: state.now,
  }
  state.add(record)
  return { id: row.id, outcome: 'created', differs: false }
}

/** What the job says of work of this version; where the tenant has no such job, what the definition's own job says now. */
function specFor(state: MemoryState, { tenant, job, definition }: NewOccurrence, version: number): JobSpec | undefined {
  const known = state.versions.get(jobKey(tenant, job))?.find((one) => one.version === version)
  const own = known ? undefined : state.versions.get(jobKey(defaultTenant, definition))
  return known?.spec ?? (own && versionAt(own, state.now).spec)
}

function resolveConflict(state: MemoryState, entry: Entry, row: NewOccurrence, scheduledAt: number): CreateAnswer {
  const { id, payload } = entry.record
  const differs = payload !== row.payload
  const movable = (entry.place === 'ready' || entry.place === 'waiting') && entry.turn === 1
  if (row.onConflict === 'keep' || !movable) return { id, outcome: 'existing', differs }
  entry.record = {
    ...entry.record,
    scheduledAt,
    ...(row.onConflict === 'replace' && { payload: row.payload, priority: row.priority }),
  }
  state.reschedule(entry, scheduledAt)
  return { id, outcome: row.onConflict === 'replace' ? 'replaced' : 'moved', differs: row.onConflict === 'reschedule' && differs }
}
