import type { NodeRecord } from '../messages/maintenance.ts'

/** Whether a node that an observer has seen at so many beats, and no more for its ttl, is gone by the store's clock too. */
export function isNodeGone(node: Pick<NodeRecord, 'beats' | 'beatAt' | 'ttlMs'>, beats: number, now: number): boolean {
  // After the store's clock was set back a beat may lie ahead of it: then only the observer's clock can tell.
  const isFresh = node.beatAt <= now && now - node.beatAt < node.ttlMs
  return node.beats === beats && !isFresh
}
