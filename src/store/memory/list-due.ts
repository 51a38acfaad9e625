import type { DueQuery, DueRow } from '../store.ts'
import { isAsked } from './counts.ts'
import type { State } from './state.ts'

export function listDue(
  state: State,
  { from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY, limit, ...asked }: DueQuery,
): readonly DueRow[] {
  return [...state.entries.values()]
    .filter(({ place, dueAt, record }) => place === 'ready' && dueAt >= from && dueAt < to && isAsked(asked, record))
    .sort((a, b) => a.dueAt - b.dueAt || a.ref - b.ref)
    .slice(0, limit)
    .map(({ record: { id, tenant, job, key, source }, dueAt, state: now }) => ({
      id,
      tenant,
      job,
      key,
      source,
      dueAt,
      state: now as DueRow['state'],
    }))
}
