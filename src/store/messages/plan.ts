import type { JobRecord, VersionRecord } from '../../model/job.ts'
import type { Source } from '../../model/lifecycle.ts'
import type { Limit } from '../../model/limit.ts'
import type { PauseRecord } from '../../model/pause.ts'
import type { Passed, Span } from '../../model/recovery.ts'

export interface PlanWork {
  readonly now: number
  /** Since when some node has beaten without a break. */
  readonly aliveSince: number
  /** Counts changes of pauses: a plan made before one is refused after it. */
  readonly pauseRevision: number
  readonly jobs: readonly PlanCandidate[]
  /** When the next job beyond the horizon wants planning, less the horizon; null when none does. */
  readonly nextAt: number | null
}

export interface PlanCandidate {
  readonly job: JobRecord
  /** Every version that is in force somewhere from the cursor on, oldest first. */
  readonly versions: readonly VersionRecord[]
  /** Planned instants that came due while no node was there, in order: they wait for the planner's word. */
  readonly stranded: readonly number[]
  /** Pauses of the job that reach beyond the cursor, or beyond the first stranded instant. */
  readonly pauses: readonly PauseRecord[]
}

export interface JobPlan {
  readonly tenant: string
  readonly job: string
  /** The plan is refused unless the job still has this version and this cursor. */
  readonly version: number
  readonly cursor: number
  readonly pauseRevision: number
  readonly through: number
  readonly nextAt: number | null
  readonly tz: string
  readonly rows: readonly PlannedOccurrence[]
  /** Instants that were passed over, many at a time. */
  readonly ranges: readonly Passed[]
  /** Stranded instants that run after all, as recovery. */
  readonly revive: readonly { readonly at: number; readonly limits: readonly Limit[] | null; readonly span: Span | null }[]
  /** Stranded instants that end here. */
  readonly drop: readonly { readonly at: number; readonly state: 'missed' | 'skipped'; readonly reason: string }[]
}

export interface PlannedOccurrence {
  readonly id: string
  /** The nominal instant. */
  readonly at: number
  readonly dueAt: number
  readonly version: number
  readonly source: Source
  readonly priority: number
  readonly limits: readonly Limit[] | null
  readonly span: Span | null
  readonly startWithinMs: number | null
  /** Recorded as passed over right away. */
  readonly end: { readonly state: 'missed' | 'skipped'; readonly reason: string } | null
}

export type PlanAnswer = { readonly outcome: 'planned'; readonly created: number } | { readonly outcome: 'behind' }
