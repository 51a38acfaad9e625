import type { JobOverride, JobRecord, JobSpec } from '../../model/job.ts'
import type { PauseRecord, PauseScope } from '../../model/pause.ts'
import type { AuditNote } from './audit.ts'
import type { Due } from './due.ts'

export interface JobPut {
  readonly tenant: string
  readonly name: string
  readonly spec: JobSpec
  readonly declared: JobSpec | null
  readonly override: JobOverride | null
  /** From when on the version is in force; null for now. Planned instants of other versions from then on are taken back. */
  readonly effectiveAt: number | null
  readonly by: string | null
  /** Refuses the put when the job's version is another. 0: must not exist. */
  readonly expectedVersion?: number
  readonly audit?: AuditNote
}

export interface JobPutAnswer {
  readonly outcome: 'created' | 'updated' | 'unchanged' | 'conflict'
  readonly job: JobRecord | null
}

export interface PauseRequest extends PauseScope {
  /** `null` closes what is open for exactly this scope. */
  readonly open: { readonly until: Due | null; readonly reason: string | null; readonly by: string | null } | null
  readonly audit?: AuditNote
}

export interface PauseAnswer {
  readonly outcome: 'paused' | 'resumed' | 'unchanged'
  /** The interval that was opened, closed or found. */
  readonly pause: PauseRecord | null
}

export interface JobQuery {
  readonly tenant?: string
  readonly name?: string
  /** A part of the name; the case of A to Z makes no difference. */
  readonly search?: string
  /** Those that follow this one, in the order of name and tenant. */
  readonly after?: { readonly name: string; readonly tenant: string }
  readonly limit: number
}
