import type { JobRecord, VersionRecord } from '../../model/job.ts'
import { nameHolds } from '../../model/job-search.ts'
import { putAudit } from '../rules/audit.ts'
import { having } from '../rules/having.ts'
import { isWithdrawn, putJobRule } from '../rules/put-job.ts'
import type { JobPut, JobPutAnswer, JobQuery } from '../store.ts'
import { appendAudit } from './audit.ts'
import { jobKey } from './runs.ts'
import type { State } from './state.ts'

export function putJob(state: State, put: JobPut): JobPutAnswer {
  const key = jobKey(put.tenant, put.name)
  const known = state.jobs.get(key) ?? null
  const { outcome, job, version, isWritten } = putJobRule(known, put, state.now, state.lastVersions.get(key))
  appendAudit(state, putAudit(known, put, { outcome, job }))
  if (job && isWritten) state.jobs.set(key, job)
  if (version) {
    state.versions.set(key, [...(state.versions.get(key) ?? []), version])
    withdraw(state, put, version.effectiveAt)
    state.hint({ kind: 'job' })
  }
  return { outcome, job }
}

/** Takes back what older versions have planned from then on. */
function withdraw(state: State, { tenant, name }: JobPut, effectiveAt: number): void {
  for (const entry of [...state.entries.values()]) {
    const isIdle = entry.place === 'ready' || entry.place === 'waiting'
    if (isIdle && entry.tenant === tenant && entry.job === name && isWithdrawn(entry.record, entry.hasBegun, effectiveAt))
      state.remove(entry)
  }
}

export function readVersions(state: State, { tenant, name }: { tenant: string; name: string }): readonly VersionRecord[] {
  return state.versions.get(jobKey(tenant, name)) ?? []
}

export function readJobs(state: State, { tenant, name, search, after, limit }: JobQuery): readonly JobRecord[] {
  const isAsked = having({ tenant, name })
  return [...state.jobs.values()]
    .filter(
      (job) =>
        isAsked(job) && (search === undefined || nameHolds(job.name, search)) && (after === undefined || byName(job, after) > 0),
    )
    .sort(byName)
    .slice(0, limit)
}

type JobName = Pick<JobRecord, 'name' | 'tenant'>

function byName(a: JobName, b: JobName): number {
  return compare(a.name, b.name) || compare(a.tenant, b.tenant)
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
