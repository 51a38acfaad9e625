import type { NodesAnswer } from '../store.ts'
import type { State } from './state.ts'

export function nodes({ now, nodes, served, ready, arrivals }: State): NodesAnswer {
  const due = new Set([...ready.kindsDue(now), ...arrivals.kindsDue(now)])
  return {
    now,
    nodes: [...nodes.values()],
    unserved: [...due].filter((kind) => !served.has(kind)).sort(),
    // To find out would take as long as the rescue.
    isRescueDue: true,
  }
}
