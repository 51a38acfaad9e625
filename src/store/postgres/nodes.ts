import { type NodeRow, nodeColumns, nodeRecord } from '../rows/node-row.ts'
import type { NodesAnswer } from '../store.ts'
import { type Context, storeNow } from './context.ts'
import { headsOf } from './due.ts'
import { hasTallies, isLate } from './rescue.ts'

type Row = [now: number, unserved: string[] | null, isRescueDue: boolean, ...(NodeRow | [boot: null])]

// Every node asks for this every now and then, and mostly nothing has changed: hence one statement, whose plan is kept. served: what some
// node can run. Where there are no nodes, one row says the rest.
const selectNodes = `WITH RECURSIVE served AS MATERIALIZED (
    SELECT DISTINCT k.name FROM punctual.node n CROSS JOIN jsonb_array_elements_text(n.kinds::jsonb) k (name)
  ),
  unserved AS MATERIALIZED (SELECT k.ref, k.name FROM punctual.kind k WHERE k.name NOT IN (SELECT name FROM served)),
  ${headsOf('ARRAY(SELECT ref FROM unserved)')}
  SELECT t.now,
    (SELECT array_agg(DISTINCT u.name) FROM head h JOIN unserved u ON u.ref = h.kind WHERE h.due_at <= t.now) AS unserved,
    (SELECT ${isLate('t.now')} OR ${hasTallies}) AS is_rescue_due,
    b.name AS boot, ${nodeColumns.map((name) => `n.${name}`).join(', ')}
  FROM (SELECT ${storeNow} AS now) t
  LEFT JOIN (punctual.node n JOIN punctual.boot b ON b.ref = n.boot) ON true ORDER BY n.boot`

export async function nodes(context: Context): Promise<NodesAnswer> {
  const rows = await context.db.all<Row>(selectNodes, [context.now()])
  const [[now, unserved, isRescueDue]] = rows as [Row]
  const all = rows.flatMap(([, , , ...node]) => (node[0] === null ? [] : nodeRecord(node)))
  return { now, nodes: all, unserved: (unserved ?? []).sort(), isRescueDue }
}
