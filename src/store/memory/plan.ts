import type { JobRecord } from '../../model/job.ts'
import { draftPlanned, revivedRecord } from '../rules/draft.ts'
import { rangeMessage } from '../rules/message.ts'
import { decisionOn, planCandidate, plannedDue } from '../rules/plan.ts'
import type { JobPlan, PlanAnswer, PlanCandidate, PlannedOccurrence, PlanWork } from '../store.ts'
import type { Entry } from './entry.ts'
import { jobKey } from './runs.ts'
import type { State } from './state.ts'

export function jobsToPlan(state: State, { horizonMs, limit }: { horizonMs: number; limit: number }): PlanWork {
  const { now, aliveSince, pauseRevision } = state
  const scheduled = [...state.jobs.values()]
    .filter((job) => job.nextAt !== null)
    .sort((a, b) => (a.nextAt as number) - (b.nextAt as number))
  const due = scheduled.filter((job) => (job.nextAt as number) <= now + horizonMs)
  const jobs = due.slice(0, limit).map((job) => candidate(state, job))
  const next = scheduled[jobs.length]?.nextAt
  return { now, aliveSince, pauseRevision, jobs, nextAt: next == null ? null : next - horizonMs }
}

function candidate(state: State, job: JobRecord): PlanCandidate {
  const held = stranded(state, job.tenant, job.name).map((entry) => entry.record.scheduledAt)
  return planCandidate(job, held, state.versions.get(jobKey(job.tenant, job.name)) ?? [], state.pauses)
}

export function plan(state: State, plans: readonly JobPlan[]): readonly PlanAnswer[] {
  return plans.map((one) => planJob(state, one))
}

function planJob(state: State, plan: JobPlan): PlanAnswer {
  const key = jobKey(plan.tenant, plan.job)
  const job = state.jobs.get(key)
  if (!job || job.version !== plan.version || job.cursor !== plan.cursor || plan.pauseRevision !== state.pauseRevision)
    return { outcome: 'behind' }
  state.jobs.set(key, { ...job, cursor: plan.through, nextAt: plan.nextAt, tz: plan.tz })
  const created = plan.rows.filter((row) => addPlanned(state, job, row)).length
  const recordedAt = state.now
  for (const range of plan.ranges) {
    state.ranges.push({ ...range, tenant: job.tenant, job: job.name, version: plan.version, recordedAt })
    state.addMessage(rangeMessage(job.spec.publish, job, range, recordedAt))
  }
  for (const entry of stranded(state, job.tenant, job.name)) decide(state, entry, plan)
  // Instants that the plan does not know of must not wait for the next one.
  if (stranded(state, job.tenant, job.name).length > 0) planSoon(state, key)
  const dueAt = plannedDue(plan, state.now)
  if (dueAt !== null) state.hint({ kind: 'due', at: dueAt })
  return { outcome: 'planned', created }
}

function addPlanned(state: State, job: JobRecord, row: PlannedOccurrence): boolean {
  if (state.byId.has(row.id) || state.tombstones.has(row.id)) return false
  const versions = state.versions.get(jobKey(job.tenant, job.name))
  const spec = versions?.find(({ version }) => version === row.version)?.spec ?? job.spec
  const entry = state.add(draftPlanned({ ...job, spec }, row, state.now), row.dueAt)
  if (row.end) state.endUnattended(entry, row.end.state, row.end.reason)
  return true
}

/** Applies the planner's decision on an instant that came due while no node was alive. */
function decide(state: State, entry: Entry, plan: JobPlan): void {
  const { revived, dropped } = decisionOn(entry.record.scheduledAt, plan)
  if (revived) state.reschedule(entry, entry.dueAt, revivedRecord(entry.record, revived))
  else if (dropped) state.endUnattended(entry, dropped.state, dropped.reason)
}

export function planSoon(state: State, key: string): void {
  const job = state.jobs.get(key)
  if (job) state.jobs.set(key, { ...job, nextAt: Math.min(job.nextAt ?? state.now, state.now) })
}

function stranded(state: State, tenant: string, job: string): Entry[] {
  return [...state.aside]
    .filter((entry) => entry.wait?.reason === 'stranded' && entry.tenant === tenant && entry.job === job)
    .sort((a, b) => a.record.scheduledAt - b.record.scheduledAt)
}
