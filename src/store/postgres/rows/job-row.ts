// A job and a version of it as rows of tables.
import { jobId } from '../../../model/ids.ts'
import type { JobRecord, JobSpec, VersionRecord } from '../../../model/job.ts'
import { fromJson } from './json.ts'

export const jobColumns =
  's.tenant, s.job, j.version, j.declared, j.override, j.created_at, j.updated_at, j.tz, j.cursor, j.next_at'

export type JobRow = [
  tenant: string,
  name: string,
  version: number,
  declared: string | null,
  override: string | null,
  createdAt: number,
  updatedAt: number,
  tz: string,
  cursor: number,
  nextAt: number | null,
]

/** @param spec That of the job's newest version. */
export function jobRecord(row: readonly [...JobRow, ...unknown[]], spec: JobSpec): JobRecord {
  const [tenant, name, version, declared, override, createdAt, updatedAt, tz, cursor, nextAt] = row
  return {
    id: jobId(tenant, name),
    tenant,
    name,
    version,
    spec,
    declared: fromJson(declared),
    override: fromJson(override),
    createdAt,
    updatedAt,
    tz,
    cursor,
    nextAt,
  }
}

export const versionColumns = 'v.version, v.spec, v.effective_at, v.created_at, v.by_whom'

export type VersionRow = [version: number, spec: string, effectiveAt: number, createdAt: number, by: string | null]

export function versionRecord(row: readonly [...VersionRow, ...unknown[]]): VersionRecord {
  const [version, spec, effectiveAt, createdAt, by] = row
  return { version, spec: JSON.parse(spec), effectiveAt, createdAt, by }
}
