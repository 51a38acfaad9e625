import type { MoveAnswer, MoveRequest } from '../store.ts'
import { find } from './find.ts'
import { keyOf, type State } from './state.ts'

export function move(state: State, { which, to }: MoveRequest): MoveAnswer {
  const entry = find(state, which)
  if (!entry) return 'unknown'
  if (entry.place === 'claimed') return 'running'
  if ('due' in to) {
    if (entry.place === 'ended') return 'ended'
    state.reschedule(entry, state.dueAt(to.due))
    state.hint({ kind: 'due', at: entry.dueAt })
    return 'moved'
  }
  if (entry.state !== 'dead') return entry.place === 'ended' ? 'ended' : 'not-dead'
  entry.turn += 1
  entry.cancel = null
  if ('discard' in to) {
    state.endUnattended(entry, 'canceled', to.discard)
    return 'moved'
  }
  state.makeReady(entry, state.dueAt(to.retry))
  if (entry.record.key !== null && entry.record.unique === 'live' && !state.liveKeys.has(keyOf(entry.record)))
    state.liveKeys.set(keyOf(entry.record), entry)
  state.hint({ kind: 'due', at: entry.dueAt })
  return 'moved'
}
