import { drainAudit } from '../rules/audit.ts'
import { type NodeRow, nodeRecord } from '../rules/sql/node-row.ts'
import type { NodesAnswer, NodesRequest } from '../store.ts'
import { appendAudit } from './audit.ts'
import { heads } from './claim/due-entries.ts'
import { servedKinds } from './claim/served-kinds.ts'
import type { Transaction } from './connection/transaction.ts'
import { grantedEntries } from './occurrence/entry.ts'
import { takeGrantBack } from './occurrence/live-tables.ts'

export function nodes(tx: Transaction, { drain }: NodesRequest): NodesAnswer {
  if (drain) markDraining(tx, drain)
  const rows = tx.all<NodeRow>('SELECT * FROM punctual_node ORDER BY ref')
  const nodes = rows.map(nodeRecord)
  return { now: tx.now, nodes, unserved: unserved(tx, nodes), isRescueDue: isRescueDue(tx) }
}

function markDraining(tx: Transaction, { node, audit }: NonNullable<NodesRequest['drain']>): void {
  const marked = tx.all<{ boot: string }>(
    'UPDATE punctual_node SET draining = 1 WHERE draining = 0 AND (boot = ?1 OR name = ?1) RETURNING boot',
    node,
  )
  const boots = marked.map(({ boot }) => boot)
  tx.hints.push(...boots.map((boot) => ({ kind: 'cancel' as const, node: boot })))
  appendAudit(tx, drainAudit(audit, node, boots))
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
