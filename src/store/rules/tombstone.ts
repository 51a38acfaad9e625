import type { OccurrenceRecord } from '../../model/occurrence.ts'
import { type Existing, freesKey, isRemembered } from './conflict.ts'
import { isPlanned } from './verdict.ts'

/** Whether the id of a pruned occurrence stays taken: an instant of a schedule runs once, and so does a remembered key. */
export function leavesTombstone(
  record: Pick<OccurrenceRecord, 'source' | 'key' | 'unique'>,
  end: Pick<Existing, 'state' | 'hasBegun'>,
): boolean {
  return isPlanned(record.source) || (isRemembered(record) && !freesKey(end))
}
