import { jobId } from '../../model/ids.ts'
import { isPlannable, type JobRecord, specText, type VersionRecord } from '../../model/job.ts'
import { isSameScope, type PauseRecord } from '../../model/pause.ts'
import type { JobPut, JobPutAnswer, JobQuery, PauseAnswer, PauseRequest } from '../store.ts'
import { jobKey, type Ledger } from './ledger.ts'

export function putJob(ledger: Ledger, put: JobPut): JobPutAnswer {
  const { tenant, name, spec, declared, override, expectedVersion } = put
  const key = jobKey(tenant, name)
  const known = ledger.jobs.get(key)
  if (known && specText(known.spec) === specText(spec)) return { outcome: 'unchanged', job: noteOrigin(ledger, known, put) }
  if (expectedVersion !== undefined && expectedVersion !== (known?.version ?? 0))
    return { outcome: 'conflict', job: known ?? null }
  const { now } = ledger
  const effectiveAt = Math.max(put.effectiveAt ?? now, now)
  // From then on the newest version plans; what older ones yield before it, planned or not, stays theirs. Nothing is before the creation.
  const cursor = known ? Math.max(known.createdAt, Math.min(known.cursor, effectiveAt - 1)) : now
  const version = (known?.version ?? 0) + 1
  const job: JobRecord = {
    id: jobId(tenant, name),
    tenant,
    name,
    version,
    spec,
    declared,
    override,
    createdAt: known?.createdAt ?? now,
    updatedAt: now,
    tz: '',
    cursor,
    nextAt: isPlannable(spec) || (known && known.nextAt !== null) ? Math.min(cursor, now) : null,
  }
  ledger.jobs.set(key, job)
  ledger.versions.set(key, [...(ledger.versions.get(key) ?? []), { version, spec, effectiveAt, createdAt: now, by: put.by }])
  if (known) withdraw(ledger, known, effectiveAt)
  ledger.hint({ kind: 'job' })
  return { outcome: known ? 'updated' : 'created', job }
}

/** The same result may come from other parts: what code declares and what a person changed is kept without a new version. */
function noteOrigin(ledger: Ledger, known: JobRecord, { declared, override }: JobPut): JobRecord {
  const job = { ...known, declared, override }
  ledger.jobs.set(jobKey(known.tenant, known.name), job)
  return job
}

/** Takes back what older versions had planned from then on, so that the same instants can be planned again. */
function withdraw(ledger: Ledger, { tenant, name }: JobRecord, effectiveAt: number): void {
  for (const entry of [...ledger.entries.values()]) {
    const { record } = entry
    if (record.tenant !== tenant || record.job !== name || record.source !== 'schedule') continue
    if (entry.place === 'ready' && entry.turn === 1 && record.scheduledAt >= effectiveAt) ledger.remove(entry)
  }
}

export function readVersions(ledger: Ledger, { tenant, name }: { tenant: string; name: string }): readonly VersionRecord[] {
  return ledger.versions.get(jobKey(tenant, name)) ?? []
}

export function pause(ledger: Ledger, { tenant, job, open }: PauseRequest): PauseAnswer {
  const { now } = ledger
  const at = ledger.pauses.findIndex((one) => isSameScope(one, { tenant, job }) && (one.to === null || one.to > now))
  const current = ledger.pauses[at]
  if (!open && !current) return { outcome: 'unchanged', pause: null }
  const wanted = open
    ? { to: open.until === null ? null : ledger.dueAt(open.until), reason: open.reason, by: open.by }
    : { to: now }
  const changed: PauseRecord = {
    id: ledger.pauses.length + 1,
    tenant,
    job,
    from: now,
    reason: null,
    by: null,
    ...current,
    ...wanted,
  }
  if (current && JSON.stringify(current) === JSON.stringify(changed)) return { outcome: 'unchanged', pause: current }
  if (current) ledger.pauses[at] = changed
  else ledger.pauses.push(changed)
  ledger.pauseRevision += 1
  for (const entry of [...ledger.waiting]) if (entry.wait?.reason === 'pause') ledger.makeReady(entry, entry.dueAt)
  ledger.hint({ kind: 'job' })
  ledger.hint({ kind: 'due', at: now })
  return { outcome: open ? 'paused' : 'resumed', pause: changed }
}

export function readPauses(ledger: Ledger, { since }: { since?: number }): readonly PauseRecord[] {
  return ledger.pauses.filter(({ to }) => since === undefined || to === null || to > since)
}

export function readJobs(ledger: Ledger, { tenant, name, after, limit }: JobQuery): readonly JobRecord[] {
  return [...ledger.jobs.values()]
    .filter(
      (job) =>
        (tenant === undefined || job.tenant === tenant) &&
        (name === undefined || job.name === name) &&
        (after === undefined || byName(job, after) > 0),
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
