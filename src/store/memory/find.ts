import { uniqueKinds } from '../../model/occurrence.ts'
import type { Which } from '../store.ts'
import type { Entry } from './entry.ts'
import { keyOf, type State } from './state.ts'

/** The occurrence with the id, or the live one with the key, else the newest. */
export function find(state: State, which: Which): Entry | null {
  if ('id' in which) {
    const entry = state.byId.get(which.id)
    return entry && (which.tenant === undefined || which.tenant === entry.tenant) ? entry : null
  }
  const kinds = which.unique === undefined ? uniqueKinds : [which.unique]
  const found = kinds.flatMap((unique) => state.byKey.get(keyOf({ ...which, unique })) ?? []).sort((a, b) => a.ref - b.ref)
  return found.findLast(({ place }) => place !== 'ended') ?? found.at(-1) ?? null
}
