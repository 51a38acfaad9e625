// A pause as a row of a table.
import type { PauseRecord } from '../../../model/pause.ts'

export const pauseColumns = 'id, tenant, job, from_at, to_at, reason, by_whom'

export type PauseRow = [
  id: number,
  tenant: string | null,
  job: string | null,
  from: number,
  to: number | null,
  reason: string | null,
  by: string | null,
]

export function pauseRecord([id, tenant, job, from, to, reason, by]: PauseRow): PauseRecord {
  return { id, tenant, job, from, to, reason, by }
}
