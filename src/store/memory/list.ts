import type { OccurrenceSummary } from '../../model/occurrence.ts'
import { decodeCursor, encodeCursor, type OccurrenceFilter, type Page } from '../query.ts'
import { having } from '../rules/having.ts'
import { summaryOf } from '../rules/summary.ts'
import type { RangeRecord } from '../store.ts'
import type { Entry } from './entry.ts'
import type { State } from './state.ts'

export function list(state: State, filter: OccurrenceFilter): Page<OccurrenceSummary> {
  const below = filter.cursor === undefined ? Number.POSITIVE_INFINITY : decodeCursor(filter.cursor)
  const isWanted = matching(filter)
  const found = [...state.entries.values()].filter((entry) => entry.ref < below && isWanted(entry)).sort((a, b) => b.ref - a.ref)
  const page = found.slice(0, filter.limit)
  const last = page.at(-1)
  return { items: page.map(summary), cursor: last && found.length > page.length ? encodeCursor(last.ref) : null }
}

function matching({ states, cause, from, to, tenant, job, key, unique, entity, parent }: OccurrenceFilter) {
  const hasFields = having({ tenant, job, key, unique, entity, parent })
  return ({ record, cause: died, state }: Entry): boolean =>
    hasFields(record) &&
    (cause === undefined ? states === undefined || states.includes(state) : died === cause) &&
    (from === undefined || record.scheduledAt >= from) &&
    (to === undefined || record.scheduledAt < to)
}

function summary(entry: Entry): OccurrenceSummary {
  const { record, state, turn, dueAt, turns, cause } = entry
  return summaryOf({ record, state, turn, dueAt, last: turns.at(-1), cause })
}

export function listRanges(
  state: State,
  { limit, ...asked }: { tenant?: string; job?: string; limit: number },
): readonly RangeRecord[] {
  return state.ranges.filter(having(asked)).toReversed().slice(0, limit)
}
