import type { OccurrenceRecord } from '../../model/occurrence.ts'
import type { CreateAnswer, JobPlan, NewOccurrence, PlanAnswer, PlanCandidate, PlanWork } from '../store.ts'
import { type Entry, jobKey, liveKey, type MemoryState } from './state.ts'

export function jobsToPlan(state: MemoryState, { horizonMs, limit }: { horizonMs: number; limit: number }): PlanWork {
  const now = state.now
  const scheduled = [...state.jobs.values()]
    .filter((job) => job.nextAt !== null)
    .sort((a, b) => (a.nextAt as number) - (b.nextAt as number))
  const due = scheduled.filter((job) => (job.nextAt as number) <= now + horizonMs)
  const jobs = due
    .slice(0, limit)
    .map(
      (job): PlanCandidate => ({ job, stranded: stranded(state, job.tenant, job.name).map((entry) => entry.record.scheduledAt) }),
    )
  const next = scheduled[jobs.length]?.nextAt
  return { now, aliveSince: state.aliveSince, jobs, nextAt: next === undefined || next === null ? null : next - horizonMs }
}

export function plan(state: MemoryState, plans: readonly JobPlan[]): readonly PlanAnswer[] {
  return plans.map((one) => planJob(state, one))
}

function planJob(state: MemoryState, { tenant, job: name, version, cursor, through, nextAt, rows, revive }: JobPlan): PlanAnswer {
  const key = jobKey(tenant, name)
  const job = state.jobs.get(key)
  if (!job || job.version !== version || job.cursor !== cursor) return { outcome: 'behind' }
  state.jobs.set(key, { ...job, cursor: through, nextAt })
  let created = 0
  for (const { id, at, source, priority } of rows) {
    if (state.byId.has(id) || state.tombstones.has(id)) continue
    const { definition, payload } = job.spec
    state.add({
      id,
      tenant,
      job: name,
      definition,
      version,
      source,
      key: null,
      unique: 'ever',
      entity: null,
      refs: {},
      payload,
      settings: null,
      priority,
      scheduledAt: at,
      createdAt: state.now,
    })
    created++
  }
  for (const entry of stranded(state, tenant, name))
    if (revive.includes(entry.record.scheduledAt)) state.makeReady(entry, entry.dueAt)
  const first = rows[0]
  if (first) state.hint({ kind: 'due', at: first.at })
  else if (revive.length > 0) state.hint({ kind: 'due', at: state.now })
  return { outcome: 'planned', created }
}

function stranded(state: MemoryState, tenant: string, job: string): Entry[] {
  return [...state.entries.values()].filter(
    (entry) => entry.place === 'stranded' && entry.record.tenant === tenant && entry.record.job === job,
  )
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
  const record: OccurrenceRecord = {
    ...given,
    version: state.jobs.get(jobKey(row.tenant, row.job))?.version ?? 0,
    scheduledAt,
    createdAt: state.now,
  }
  state.add(record)
  return { id: row.id, outcome: 'created', differs: false }
}

function resolveConflict(state: MemoryState, entry: Entry, row: NewOccurrence, scheduledAt: number): CreateAnswer {
  const { id, payload } = entry.record
  const differs = payload !== row.payload
  const movable = (entry.place === 'ready' || entry.place === 'stranded') && entry.turn === 1
  if (row.onConflict === 'keep' || !movable) return { id, outcome: 'existing', differs }
  entry.record = {
    ...entry.record,
    scheduledAt,
    ...(row.onConflict === 'replace' && { payload: row.payload, priority: row.priority }),
  }
  state.makeReady(entry, scheduledAt)
  return { id, outcome: row.onConflict === 'replace' ? 'replaced' : 'moved', differs: row.onConflict === 'reschedule' && differs }
}
