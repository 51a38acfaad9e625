// A range of instants that were passed over as a row of a table.
import type { RangeRecord } from '../../store.ts'

export const rangeColumns = 's.tenant, s.job, r.version, r.from_at, r.to_at, r.count, r.state, r.reason, r.recorded_at'

export type RangeRow = [
  tenant: string,
  job: string,
  version: number,
  from: number,
  to: number,
  count: number,
  state: RangeRecord['state'],
  reason: string,
  recordedAt: number,
]

export function rangeRecord([tenant, job, version, from, to, count, state, reason, recordedAt]: RangeRow): RangeRecord {
  return { tenant, job, version, from, to, count, state, reason, recordedAt }
}
