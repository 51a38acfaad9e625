// Rules for a new row whose id or key is taken.
import { keyedId } from '../../model/ids.ts'
import type { OccurrenceState } from '../../model/lifecycle.ts'
import type { CreatedRow, NewOccurrence } from '../messages/create.ts'

export interface Existing {
  readonly id: string
  readonly state: OccurrenceState
  readonly hasBegun: boolean
  readonly payload: string | null
}

/** Whether an occurrence leaves its key to the next: it was canceled before it began. */
export function freesKey({ state, hasBegun }: Pick<Existing, 'state' | 'hasBegun'>): boolean {
  return state === 'canceled' && !hasBegun
}

/** The id under which a row is tried next whose first ids belong to `canceled` occurrences that free their key. */
export function idAfter({ tenant, job, key, id }: NewOccurrence, canceled: number): string {
  return canceled === 0 || key === null ? id : keyedId(tenant, job, key, canceled)
}

/** Whether ids of canceled work give way to the next: of keys that may be used only once. */
export function isRemembered({ key, unique }: Pick<NewOccurrence, 'key' | 'unique'>): boolean {
  return key !== null && unique === 'ever'
}

/** The change that a row makes to the existing one, if any: work that has begun or ended stays as it is. */
export function changeOf({ state, hasBegun }: Existing, { onConflict }: NewOccurrence): 'reschedule' | 'replace' | null {
  const isMovable = (state === 'pending' || state === 'waiting') && !hasBegun
  return isMovable && onConflict !== 'keep' ? onConflict : null
}

/** The answer for a row that found an existing one. */
export function conflictAnswer(existing: Existing, row: NewOccurrence): CreatedRow {
  const { id, state, payload } = existing
  const change = changeOf(existing, row)
  const differs = payload !== row.payload && change !== 'replace'
  if (change === null) return { id, outcome: 'existing', state, differs }
  return { id, outcome: change === 'replace' ? 'replaced' : 'moved', state: 'pending', differs }
}
