import type { NodesAnswer } from '../store.ts'
import { type Context, storeNow } from './context.ts'
import { isRescueDue } from './rescue.ts'
import { type NodeRow, nodeColumns, nodeRecord } from './rows/node-row.ts'

type Row = [now: number, unserved: string[] | null, isRescueDue: boolean, ...(NodeRow | [boot: null])]

// Every node asks for this every now and then, and mostly nothing has changed: hence one statement, whose plan is kept. Where there
// are no nodes, one row has the rest.
const selectNodes = `SELECT t.now,
    (SELECT array_agg(k.name) FROM punctual.kind k WHERE NOT k.served AND (
      EXISTS (SELECT 1 FROM unnest(k.priorities) p (priority) CROSS JOIN LATERAL (
        SELECT 1 FROM punctual.ready r WHERE NOT r.gate AND r.kind = k.ref AND r.priority = p.priority AND r.due_at <= t.now LIMIT 1) r)
      OR EXISTS (SELECT 1 FROM punctual.ready r WHERE r.gate AND r.kind = k.ref AND r.due_at <= t.now))) AS unserved,
    ${isRescueDue('t.now')} AS is_rescue_due, n.boot, ${nodeColumns.map((name) => `n.${name}`).join(', ')}
  FROM (SELECT ${storeNow} AS now) t LEFT JOIN punctual.node n ON true ORDER BY n.seq`

export async function nodes(context: Context): Promise<NodesAnswer> {
  const rows = await context.db.all<Row>(selectNodes, [context.now()])
  const [[now, unserved, isDue]] = rows as [Row]
  const all = rows.flatMap(([, , , ...node]) => (node[0] === null ? [] : nodeRecord(node)))
  return { now, nodes: all, unserved: (unserved ?? []).sort(), isRescueDue: isDue }
}
