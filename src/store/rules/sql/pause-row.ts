// A pause as a row: the same columns in every SQL store.
import type { PauseRecord } from '../../../model/pause.ts'

export interface PauseRow {
  readonly id: number
  readonly tenant: string | null
  readonly job: string | null
  readonly from_at: number
  readonly to_at: number | null
  readonly reason: string | null
  readonly by_whom: string | null
}

export function pauseRecord({ id, tenant, job, from_at, to_at, reason, by_whom }: PauseRow): PauseRecord {
  return { id, tenant, job, from: from_at, to: to_at, reason, by: by_whom }
}
