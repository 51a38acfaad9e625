import type { OccurrenceState } from '../../model/lifecycle.ts'
import type { Passed } from '../../model/recovery.ts'

/** Of which jobs: all unless a tenant or a job is named. */
export interface CountsQuery {
  readonly tenant?: string
  readonly job?: string
  /** How many causes of dead work to return. Default: none. */
  readonly causes?: number
  /** How many failing jobs to return. Default: none. */
  readonly failing?: number
  /** How many tenants to return. Default: none. */
  readonly tenants?: number
}

export type StateCounts = Readonly<Record<OccurrenceState, number>>

/** The number of occurrences in each state. */
export interface JobCounts {
  readonly states: StateCounts
  /** The start of the latest run that has ended, pruned or not; null where no job is named. */
  readonly lastRunAt: number | null
  /** Failures since the last success; 0 where no job is named. */
  readonly failuresInRow: number
  /** Dead work by its cause, the most frequent first, then the one that struck last. */
  readonly causes: readonly DeadCause[]
  /** Jobs that have failed since their last success, by name and tenant. */
  readonly failing: readonly { readonly tenant: string; readonly job: string }[]
  /** Tenants with work on record, by name. */
  readonly tenants: readonly { readonly name: string; readonly states: StateCounts }[]
}

/** Dead work that died of one cause. */
export interface DeadCause {
  readonly cause: string
  readonly count: number
  /** When the first and the last of it died. */
  readonly firstAt: number
  readonly lastAt: number
  /** All of them, in order. */
  readonly tenants: readonly string[]
  /** The id of the newest of it. */
  readonly sample: string
}

/** A range of instants of a job that were passed over. */
export interface RangeRecord extends Passed {
  readonly tenant: string
  readonly job: string
  readonly version: number
  readonly recordedAt: number
}
