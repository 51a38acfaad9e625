import { having } from '../rules/having.ts'
import type { DueQuery, DueRow } from '../store.ts'
import type { State } from './state.ts'

export function listDue(
  state: State,
  { from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY, limit, tenant, job }: DueQuery,
): readonly DueRow[] {
  const isAsked = having({ tenant, job })
  return [...state.entries.values()]
    .filter(({ place, dueAt, record }) => place === 'ready' && dueAt >= from && dueAt < to && isAsked(record))
    .sort((a, b) => a.dueAt - b.dueAt || a.ref - b.ref)
    .slice(0, limit)
    .map(({ record: { id, tenant, job, key, source }, dueAt, state: now }) => {
      return { id, tenant, job, key, source, dueAt, state: now as DueRow['state'] }
    })
}
