import { isEnd } from '../../model/lifecycle.ts'
import { leavesTombstone } from '../rules/tombstone.ts'
import type { PruneAnswer, PruneRequest } from '../store.ts'
import type { State } from './state.ts'

export function prune(state: State, { endedBefore, keyRetentionMs, limit }: PruneRequest): PruneAnswer {
  const { now } = state
  for (const [id, until] of state.tombstones) if (until < now) state.tombstones.delete(id)
  let pruned = 0
  for (const entry of [...state.entries.values()]) {
    if (pruned >= limit) break
    const last = entry.turns.at(-1)
    const isPast = entry.place === 'ended' && last !== undefined && isEnd(entry.state) && last.endedAt < endedBefore
    if (!isPast || state.unheard.has(entry.ref)) continue
    if (leavesTombstone(entry.record, entry)) state.tombstones.set(entry.id, now + keyRetentionMs)
    state.remove(entry)
    pruned++
  }
  return { pruned, more: pruned === limit }
}
