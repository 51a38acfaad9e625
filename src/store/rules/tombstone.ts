import type { OccurrenceRecord } from '../../model/occurrence.ts'
import type { NewOccurrence } from '../messages/create.ts'
import { type Existing, freesKey, isOutdated, isRemembered } from './conflict.ts'
import { isPlanned } from './verdict.ts'

/** The remains of a pruned occurrence: its id. */
export interface Tombstone {
  /** Null: the id stays taken. A number: it gives way, as canceled work does, to requests whose version is higher or that have none. */
  readonly version: number | null
}

/** Below every version of a key. */
export const noVersion = -1

/** The tombstone of a pruned occurrence, if it leaves one: an instant of a schedule runs once, and so does a remembered key. */
export function tombstoneOf(
  record: Pick<OccurrenceRecord, 'source' | 'key' | 'unique' | 'keyVersion'>,
  end: Pick<Existing, 'state' | 'hasBegun'>,
): Tombstone | null {
  if (isPlanned(record.source)) return { version: null }
  if (!isRemembered(record)) return null
  return { version: freesKey(end) ? (record.keyVersion ?? noVersion) : null }
}

/** Whether a buried id is passed over, and the row is tried under the next one. */
export function isPassedOver({ version }: Tombstone, row: NewOccurrence): boolean {
  return version !== null && isRemembered(row) && !isOutdated({ keyVersion: version }, row)
}
