import type { OccurrenceSummary } from '../../model/occurrence.ts'
import { decodeCursor, encodeCursor, type OccurrenceFilter, type Page } from '../query.ts'
import { summaryOf } from '../rules/summary.ts'
import type { RangeRecord } from '../store.ts'
import { isAsked } from './counts.ts'
import type { Entry } from './entry.ts'
import type { State } from './state.ts'

export function list(state: State, filter: OccurrenceFilter): Page<OccurrenceSummary> {
  const below = filter.cursor === undefined ? Number.POSITIVE_INFINITY : decodeCursor(filter.cursor)
  const matching = [...state.entries.values()]
    .filter((entry) => entry.ref < below && matches(entry, filter))
    .sort((a, b) => b.ref - a.ref)
  const page = matching.slice(0, filter.limit)
  const last = page.at(-1)
  return { items: page.map(summary), cursor: last && matching.length > page.length ? encodeCursor(last.ref) : null }
}

function matches(entry: Entry, { tenant, job, states, key, unique, entity, parent, cause, from, to }: OccurrenceFilter): boolean {
  const { record } = entry
  return (
    (tenant === undefined || record.tenant === tenant) &&
    (job === undefined || record.job === job) &&
    (states === undefined || cause !== undefined || states.includes(entry.state)) &&
    (key === undefined || record.key === key) &&
    (unique === undefined || record.unique === unique) &&
    (entity === undefined || record.entity === entity) &&
    (parent === undefined || record.parent === parent) &&
    (cause === undefined || entry.cause === cause) &&
    (from === undefined || record.scheduledAt >= from) &&
    (to === undefined || record.scheduledAt < to)
  )
}

function summary(entry: Entry): OccurrenceSummary {
  const { record, state, turn, dueAt, turns, cause } = entry
  return summaryOf({ record, state, turn, dueAt, last: turns.at(-1), cause })
}

export function listRanges(
  state: State,
  { limit, ...asked }: { tenant?: string; job?: string; limit: number },
): readonly RangeRecord[] {
  return state.ranges
    .filter((range) => isAsked(asked, range))
    .toReversed()
    .slice(0, limit)
}
