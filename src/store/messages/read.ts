import type { OccurrenceState } from '../../model/lifecycle.ts'
import type { Passed } from '../../model/recovery.ts'

/** The number of occurrences in each state, and the start of the latest run that has ended, pruned or not. */
export interface JobCounts {
  readonly states: Readonly<Record<OccurrenceState, number>>
  readonly lastRunAt: number | null
  /** Failures since the last success, over the jobs asked for. */
  readonly failuresInRow: number
}

/** A range of instants of a job that were passed over. */
export interface RangeRecord extends Passed {
  readonly tenant: string
  readonly job: string
  readonly version: number
  readonly recordedAt: number
}
