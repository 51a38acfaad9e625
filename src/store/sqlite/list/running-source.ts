import type { OccurrenceFilter } from '../../query.ts'
import type { StoredMember } from '../claim/claim-row.ts'
import type { Source } from '../connection/merge.ts'
import { type Entry, readEntry } from '../occurrence/entry.ts'
import type { Tables } from './tables.ts'

/** Running work: few rows, and only claims know them. */
export function runningSource(
  { tx, below }: Tables,
  members: readonly StoredMember[],
  { from, to }: OccurrenceFilter,
): Source<number> {
  const isWithin = (ref: number) => {
    if (from === undefined && to === undefined) return true
    const { scheduledAt } = (readEntry(tx, ref) as Entry).record
    return (from === undefined || scheduledAt >= from) && (to === undefined || scheduledAt < to)
  }
  const refs = members.map(({ ref }) => ref).filter(isWithin)
  refs.sort((a, b) => b - a)
  return { page: (last, limit) => refs.filter((ref) => ref < (last ?? below)).slice(0, limit) }
}
