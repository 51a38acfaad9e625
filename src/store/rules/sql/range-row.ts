// A range of instants that were passed over as a row: the same columns in every SQL store.
import type { RangeRecord } from '../../store.ts'

export interface RangeRow {
  readonly tenant: string
  readonly job: string
  readonly version: number
  readonly from_at: number
  readonly to_at: number
  readonly count: number
  readonly state: RangeRecord['state']
  readonly reason: string
  readonly recorded_at: number
}

export function rangeRecord({ tenant, job, version, from_at, to_at, count, state, reason, recorded_at }: RangeRow): RangeRecord {
  return { tenant, job, version, from: from_at, to: to_at, count, state, reason, recordedAt: recorded_at }
}
