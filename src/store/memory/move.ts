import { occurrenceAudit } from '../rules/audit.ts'
import { movedRecord } from '../rules/moved-record.ts'
import type { MoveAnswer, MoveRequest } from '../store.ts'
import { appendAudit } from './audit.ts'
import { giveBack } from './beat.ts'
import { audited, type Entry } from './entry.ts'
import { find } from './find.ts'
import { keyOf, type State } from './state.ts'

export function move(state: State, { which, to, audit }: MoveRequest): MoveAnswer {
  const entry = find(state, which)
  if (!entry) return 'unknown'
  const before = audited(entry)
  const answer = moveEntry(state, entry, to)
  if (answer === 'moved') appendAudit(state, occurrenceAudit(audit, before, audited(entry)))
  return answer
}

function moveEntry(state: State, entry: Entry, to: MoveRequest['to']): MoveAnswer {
  if ('release' in to) return release(state, entry, to.release)
  if (entry.place === 'claimed') return 'running'
  if ('due' in to) {
    if (entry.place === 'ended') return 'ended'
    const dueAt = state.dueAt(to.due)
    state.reschedule(entry, dueAt, movedRecord(entry.record, entry.hasBegun, dueAt))
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
  if (to.payload !== undefined) entry.record = { ...entry.record, payload: to.payload }
  state.makeReady(entry, state.dueAt(to.retry))
  if (entry.record.key !== null && entry.record.unique === 'live' && !state.liveKeys.has(keyOf(entry.record)))
    state.liveKeys.set(keyOf(entry.record), entry)
  state.hint({ kind: 'due', at: entry.dueAt })
  return 'moved'
}

function release(state: State, entry: Entry, reason: string | null): MoveAnswer {
  if (entry.place !== 'claimed') return entry.place === 'ended' ? 'ended' : 'not-running'
  const node = state.nodeOf(entry)
  // The handler may have begun without a note of it.
  const startedAt = entry.start?.turn === entry.turn ? entry.start.startedAt : state.now
  giveBack(state, entry, { node, startedAt, reason })
  if (node !== null) state.hint({ kind: 'cancel', node })
  return 'moved'
}
