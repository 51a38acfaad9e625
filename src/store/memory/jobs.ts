import { jobId } from '../../model/ids.ts'
import { type JobRecord, specText } from '../../model/job.ts'
import type { JobPut, JobPutAnswer, JobQuery } from '../store.ts'
import { jobKey, type MemoryState } from './state.ts'

export function putJob(state: MemoryState, { tenant, name, spec, expectedVersion }: JobPut): JobPutAnswer {
  const key = jobKey(tenant, name)
  const known = state.jobs.get(key)
  if (known && specText(known.spec) === specText(spec)) return { outcome: 'unchanged', job: known }
  if (expectedVersion !== undefined && expectedVersion !== (known?.version ?? 0))
    return { outcome: 'conflict', job: known ?? null }
  const now = state.now
  const planned = known?.spec.schedule ? Math.min(known.cursor, now) : now
  const job: JobRecord = {
    id: jobId(tenant, name),
    tenant,
    name,
    version: (known?.version ?? 0) + 1,
    spec,
    createdAt: known?.createdAt ?? now,
    updatedAt: now,
    cursor: planned,
    nextAt: spec.schedule ? planned : null,
  }
  state.jobs.set(key, job)
  if (known) withdraw(state, known, now)
  state.hint({ kind: 'job' })
  return { outcome: known ? 'updated' : 'created', job }
}

/** Takes back what the old version had planned for later, so that the same instants can be planned again. */
function withdraw(state: MemoryState, { tenant, name }: JobRecord, now: number): void {
  for (const entry of [...state.entries.values()]) {
    const { record } = entry
    if (record.tenant !== tenant || record.job !== name || record.source !== 'schedule') continue
    if (entry.place === 'ready' && entry.turn === 1 && entry.dueAt > now) state.remove(entry)
  }
}

export function readJobs(state: MemoryState, { tenant, name, after, limit }: JobQuery): readonly JobRecord[] {
  return [...state.jobs.values()]
    .filter(
      (job) =>
        (tenant === undefined || job.tenant === tenant) &&
        (name === undefined || job.name === name) &&
        (after === undefined || job.name > after),
    )
    .sort((a, b) => (a.name === b.name ? compare(a.tenant, b.tenant) : compare(a.name, b.name)))
    .slice(0, limit)
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
