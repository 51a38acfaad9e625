import { drainAudit } from '../rules/audit.ts'
import type { NodesAnswer, NodesRequest } from '../store.ts'
import { appendAudit } from './audit.ts'
import type { State } from './state.ts'

export function nodes(state: State, { drain }: NodesRequest = {}): NodesAnswer {
  if (drain) markDraining(state, drain)
  const { now, nodes, ready, arrivals } = state
  const served = new Set([...nodes.values()].flatMap(({ kinds, isDraining }) => (isDraining ? [] : kinds)))
  const due = new Set([...ready.kindsDue(now), ...arrivals.kindsDue(now)])
  return {
    now,
    nodes: [...nodes.values()],
    unserved: [...due].filter((kind) => !served.has(kind)).sort(),
    // To find out would take as long as the rescue.
    isRescueDue: true,
  }
}

function markDraining(state: State, { node: wanted, audit }: NonNullable<NodesRequest['drain']>): void {
  const marked = [...state.nodes.values()].filter(({ boot, name, isDraining }) => !isDraining && [boot, name].includes(wanted))
  for (const node of marked) {
    state.putNode({ ...node, isDraining: true })
    state.hint({ kind: 'cancel', node: node.boot })
  }
  const boots = marked.map(({ boot }) => boot)
  appendAudit(state, drainAudit(audit, wanted, boots))
}
