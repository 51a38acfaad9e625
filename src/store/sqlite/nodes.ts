import { type NodeRow, nodeRecord } from '../rules/sql/node-row.ts'
import type { NodesAnswer } from '../store.ts'
import { heads } from './claim/due.ts'
import { servedKinds } from './claim/served.ts'
import type { Transaction } from './connection/transaction.ts'
import { grantedEntries } from './occurrence/granted.ts'
import { takeGrantBack } from './occurrence/places.ts'

export function nodes(tx: Transaction): NodesAnswer {
  const rows = tx.all<NodeRow>('SELECT * FROM punctual_node ORDER BY ref')
  return { now: tx.now, nodes: rows.map(nodeRecord), unserved: unserved(tx), isRescueDue: isRescueDue(tx) }
}

function isRescueDue(tx: Transaction): boolean {
  const row = tx.one<{ due: number }>(
    `SELECT EXISTS (SELECT 1 FROM punctual_start WHERE deadline_at < ?1) OR EXISTS (SELECT 1 FROM punctual_expiry WHERE expires_at < ?1)
      OR EXISTS (SELECT 1 FROM punctual_unheard WHERE free_at <= ?1) AS due`,
    tx.now,
  )
  return row?.due === 1
}

/** Kinds of due work that no node can run. */
function unserved(tx: Transaction): string[] {
  const served = servedKinds(tx)
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
  tx.run('UPDATE punctual_unheard SET node = NULL, free_at = ? WHERE node = ?', tx.now, boot)
  const served = servedKinds(tx)
  for (const entry of grantedEntries(tx)) if (!served.has(entry.kind)) takeGrantBack(tx, entry)
}
