// A job and its versions as rows: the same columns in every SQL store.
import { jobId } from '../../../model/ids.ts'
import type { JobRecord, VersionRecord } from '../../../model/job.ts'
import { fromJson } from './json.ts'

/** A job with the spec of its newest version. */
export interface JobRow {
  readonly tenant: string
  readonly job: string
  readonly version: number
  readonly spec: string
  readonly declared: string | null
  readonly override: string | null
  readonly created_at: number
  readonly updated_at: number
  readonly tz: string
  readonly cursor: number
  readonly next_at: number | null
}

export function jobRecord(row: JobRow): JobRecord {
  return {
    id: jobId(row.tenant, row.job),
    tenant: row.tenant,
    name: row.job,
    version: row.version,
    spec: JSON.parse(row.spec),
    declared: fromJson(row.declared),
    override: fromJson(row.override),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    tz: row.tz,
    cursor: row.cursor,
    nextAt: row.next_at,
  }
}

export interface VersionRow {
  readonly version: number
  readonly spec: string
  readonly effective_at: number
  readonly created_at: number
  readonly by_whom: string | null
}

export function versionRecord(row: VersionRow): VersionRecord {
  return {
    version: row.version,
    spec: JSON.parse(row.spec),
    effectiveAt: row.effective_at,
    createdAt: row.created_at,
    by: row.by_whom,
  }
}
