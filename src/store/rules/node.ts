// Whether a node is there, and answers to one that is not known or uses what belongs to others.
import { PunctualError } from '../../errors.ts'
import type { ClaimRequest } from '../messages/claim.ts'
import type { Beat, BeatAnswer, NodeRecord } from '../messages/maintenance.ts'

/** The error of a claim whose id another node or token has. */
export function foreignClaim({ id }: Pick<ClaimRequest, 'id'>): PunctualError {
  return new PunctualError('claim.lost', `Claim ${id} belongs to another`, { claim: id })
}

/** The error of a claim by a node that has not joined. */
export function unknownNode({ node }: Pick<ClaimRequest, 'node'>): PunctualError {
  return new PunctualError('claim.lost', `Node ${node} is not known to the store and cannot claim`, { node })
}

/** The answer to the beat of a node that has not joined: all of its claims are lost. */
export function unknownBeat({ claims: lost }: Beat, now: number, aliveSince: number): BeatAnswer {
  return { now, aliveSince, known: false, lost, cancels: [], isDraining: false, over: [] }
}

/** The answer to a beat that says no more than that its node lives. */
export function pulseBeat(now: number, aliveSince: number, isDraining: boolean): BeatAnswer {
  return { now, aliveSince, known: true, lost: [], cancels: [], isDraining, over: [] }
}

/** Whether a node that an observer has seen at so many beats, and no more for its ttl, is gone by the store's clock too. */
export function isNodeGone(node: Pick<NodeRecord, 'beats' | 'beatAt' | 'ttlMs'>, beats: number, now: number): boolean {
  // After the store's clock was set back a beat may lie ahead of it: then only the observer's clock can tell.
  const isFresh = node.beatAt <= now && now - node.beatAt < node.ttlMs
  return node.beats === beats && !isFresh
}
