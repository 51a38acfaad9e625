import type { AttemptRecord } from '../../model/occurrence.ts'
import type { CheckpointItem, MemberWrite, WriteAnswer } from '../store.ts'
import type { Entry } from './entry.ts'
import type { State } from './state.ts'

export function checkpoint(state: State, items: readonly CheckpointItem[]): readonly WriteAnswer[] {
  return items.map((item) => {
    const entry = owned(state, item)
    if (!entry) return 'lost'
    addAttempts(entry, item.attempts)
    if (item.progress) entry.progress = item.progress
    if (item.start) entry.start = { turn: entry.turn, ...item.start }
    return 'ok'
  })
}

/** The entry, when the claim stands, the token is right and the turn has not ended: the fence. */
export function owned(state: State, { claim, member: { ref, turn } }: MemberWrite): Entry | null {
  const entry = state.entries.get(ref)
  const stands = entry?.claim === claim.id && entry.turn === turn && state.claims.get(claim.id)?.token === claim.token
  return stands ? (entry as Entry) : null
}

export function addAttempts(entry: Entry, attempts: readonly AttemptRecord[]): void {
  for (const attempt of attempts)
    if (!entry.attempts.some(({ task, n }) => task === attempt.task && n === attempt.n)) entry.attempts.push(attempt)
}
