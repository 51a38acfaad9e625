import { drainNodes, type NodeRow, nodeRecord } from '../rules/sql/nodes.ts'
import type { NodesAnswer, NodesRequest } from '../store.ts'
import { heads } from './claim/due-entries.ts'
import type { Transaction } from './connection/transaction.ts'
import { grantedEntries } from './occurrence/entry.ts'
import { takeGrantBack } from './occurrence/live-tables.ts'

export function nodes(tx: Transaction, { drain }: NodesRequest): NodesAnswer {
  const drained = drain ? tx.runSteps(drainNodes(tx.now, drain)) : []
  tx.hints.push(...drained.map((node) => ({ kind: 'cancel' as const, node })))
  const rows = tx.all<NodeRow>('SELECT * FROM punctual_node ORDER BY ref')
  const nodes = rows.map(nodeRecord)
  return { now: tx.now, nodes, unserved: unserved(tx, nodes), isRescueDue: isRescueDue(tx) }
}

function isRescueDue(tx: Transaction): boolean {
  const row = tx.one<{ due: number }>(
    `SELECT EXISTS (SELECT 1 FROM punctual_start WHERE deadline_at < ?1) OR EXISTS (SELECT 1 FROM punctual_expiry WHERE expires_at < ?1)
      OR EXISTS (SELECT 1 FROM punctual_hook_note WHERE free_at <= ?1) AS due`,
    tx.now,
  )
  return row?.due === 1
}

/** Kinds of due work that no node takes. */
function unserved(tx: Transaction, nodes: NodesAnswer['nodes']): string[] {
  const served = new Set(nodes.flatMap(({ kinds, isDraining }) => (isDraining ? [] : kinds)))
  const names = tx.all<{ name: string }>('SELECT name FROM punctual_kind ORDER BY name').map(({ name }) => name)
  return names.filter((name) => !served.has(name) && isDue(tx, name))
}

function isDue(tx: Transaction, kind: string): boolean {
  return (
    heads(tx, [kind]).some(({ dueAt }) => dueAt <= tx.now) ||
    tx.one('SELECT 1 FROM punctual_arrival WHERE kind = ? AND due_at <= ? LIMIT 1', tx.names.kind(kind), tx.now) !== undefined
  )
}

/** Hooks that a node has left behind are free for others, and so are the keys of work that no node serves any more. */
export function removeNode(tx: Transaction, boot: string): void {
  tx.run('DELETE FROM punctual_node WHERE boot = ?', boot)
  tx.cache.served = null
  tx.run('UPDATE punctual_hook_note SET node = NULL, free_at = ? WHERE node = ?', tx.now, boot)
  const served = servedKinds(tx)
  for (const entry of grantedEntries(tx)) if (!served.has(entry.kind)) takeGrantBack(tx, entry)
}

/** The kinds that some node serves. */
export function servedKinds(tx: Transaction): ReadonlySet<string> {
  tx.cache.served ??= readServed(tx)
  return tx.cache.served
}

function readServed(tx: Transaction): ReadonlySet<string> {
  const rows = tx.all<{ kinds: string }>('SELECT kinds FROM punctual_node')
  return new Set(rows.flatMap(({ kinds }) => JSON.parse(kinds) as string[]))
}
