import { PunctualError } from '../../errors.ts'
import type { TurnRecord } from '../../model/occurrence.ts'
import type { ClaimAnswer, ClaimMember, ClaimRequest } from '../store.ts'
import { type Claim, type Entry, jobKey, type MemoryState } from './state.ts'

export function claim(state: MemoryState, request: ClaimRequest): ClaimAnswer {
  const now = state.now
  const standing = state.claims.get(request.id)
  if (standing && (standing.token !== request.token || standing.node !== request.node)) {
    throw new PunctualError('claim.lost', `Claim ${request.id} belongs to another`, { claim: request.id })
  }
  const entries = standing ? unended(state, standing) : take(state, request, Math.min(now, request.dueBy ?? now))
  return { now, members: entries.map((entry) => member(state, entry)), nextDue: state.ready.nextDue(request.kinds) }
}

function take(state: MemoryState, { id, token, node, kinds, limit }: ClaimRequest, dueBy: number): Entry[] {
  if (!state.nodes.has(node))
    throw new PunctualError('claim.lost', `Node ${node} is not known to the store and cannot claim`, { node })
  const entries = state.ready.take(kinds, dueBy, limit)
  for (const entry of entries) {
    state.leaveReady(entry, 'claimed')
    entry.claim = id
  }
  if (entries.length > 0) state.claims.set(id, { id, token, node, refs: entries.map((entry) => entry.ref) })
  return entries
}

export function unended(state: MemoryState, { id, refs }: Claim): Entry[] {
  return refs.map((ref) => state.entries.get(ref)).filter((entry) => entry !== undefined && entry.claim === id) as Entry[]
}

export function recoveries(turns: readonly TurnRecord[]): number {
  const since = turns.findLastIndex((turn) => turn.end === 'dead') + 1
  return turns.slice(since).filter((turn) => turn.end === 'lost' || turn.end === 'stale').length
}

function member(state: MemoryState, entry: Entry): ClaimMember {
  const { ref, turn, record, dueAt, turns, attempts } = entry
  const key = jobKey(record.tenant, record.job)
  return {
    ref,
    turn,
    record,
    dueAt,
    recoveries: recoveries(turns),
    jobSettings: state.jobs.get(key)?.spec.settings ?? null,
    lastRunAt: state.lastRuns.get(key) ?? null,
    turns: [...turns],
    attempts: [...attempts],
  }
}
