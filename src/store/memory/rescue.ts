import { isNodeGone } from '../rules/node.ts'
import { recoverMember } from '../rules/recover.ts'
import { isExpired, notInTime } from '../rules/verdict.ts'
import type { PassedOccurrence, RescueAnswer, RescueRequest } from '../store.ts'
import { specOf, unended } from './claim.ts'
import type { Entry } from './entry.ts'
import type { State } from './state.ts'

type Rescued = RescueAnswer['rescued'][number]

export function rescue(state: State, request: RescueRequest): RescueAnswer {
  const rescued: Rescued[] = []
  const removed: string[] = []
  let left = request.limit
  let more = false
  for (const { boot, beats } of request.gone) {
    const node = state.nodes.get(boot)
    if (!node || !isNodeGone(node, beats, state.now)) continue
    const claims = [...state.claims.values()].filter((claim) => claim.node === boot)
    for (const claim of claims.slice(0, left)) {
      for (const entry of unended(state, claim)) rescued.push(recoverOne(state, entry, 'lost', request))
      state.claims.delete(claim.id)
    }
    if (claims.length > left) more = true
    else {
      state.removeNode(boot)
      removed.push(boot)
    }
    left -= Math.min(left, claims.length)
  }
  for (const entry of state.entries.values()) {
    const isStale = entry.place === 'claimed' && entry.start?.turn === entry.turn && entry.start.deadlineAt < state.now
    if (isStale) rescued.push(recoverOne(state, entry, 'stale', request))
  }
  return { rescued, removed, more, expired: expire(state), openHooks: handOutHooks(state, request) }
}

function recoverOne(state: State, entry: Entry, by: 'lost' | 'stale', request: RescueRequest): Rescued {
  const { turn, record, turns, dueAt: wasDueAt, hasBegun, cancel } = entry
  const startedAt = entry.start?.turn === turn ? entry.start.startedAt : null
  const member = { by, record, turn, turns, dueAt: wasDueAt, hasBegun, startedAt, cancel }
  const rest = { node: state.nodeOf(entry), spec: specOf(state, record) }
  const { answer, row, dueAt } = recoverMember({ ...member, ...rest }, request, state.now)
  state.endTurn(entry, row)
  if (dueAt !== null) {
    state.nextTurn(entry, row, dueAt)
    state.hint({ kind: 'due', at: dueAt })
  } else if (record.isHooked) state.noteHook(entry)
  return answer
}

/** Ends what has not started in time, whether or not a node could have run it. */
function expire(state: State): PassedOccurrence[] {
  const late = [...state.entries.values()].filter(
    ({ place, wait, record, hasBegun, dueAt }) =>
      (place === 'ready' || place === 'waiting') &&
      wait?.reason !== 'stranded' &&
      isExpired({ startWithinMs: record.startWithinMs, hasBegun, dueAt }, state.now),
  )
  return late.map((entry) => {
    const { id, tenant, job } = entry
    state.endUnattended(entry, notInTime.state, notInTime.reason)
    return { id, tenant, job, ...notInTime }
  })
}

/** Gives hooks that have not run to the rescuer, and keeps other nodes from them for a while. */
function handOutHooks(state: State, { kinds, hookMs, limit }: RescueRequest): RescueAnswer['openHooks'] {
  const { now } = state
  const free = [...state.hookNotes].filter(
    ([ref, { freeAt }]) => freeAt <= now && kinds.includes(state.entries.get(ref)?.kind as string),
  )
  return free.slice(0, limit).map(([ref]) => {
    state.hookNotes.set(ref, { node: null, freeAt: now + hookMs })
    return { ref, id: (state.entries.get(ref) as Entry).id }
  })
}
