import { drainAudit } from '../rules/audit.ts'
import { type NodeRow, nodeRecord } from '../rules/sql/node-row.ts'
import type { Hint, NodesAnswer, NodesRequest } from '../store.ts'
import { appendAudit } from './audit.ts'
import { type Context, storeNow } from './context.ts'
import { isRescueDue } from './rescue.ts'

type Row = (NodeRow | { readonly boot: null }) & {
  readonly now: number
  readonly unserved: string[] | null
  readonly is_rescue_due: boolean
}

// Every node asks for this every now and then, and mostly nothing has changed: hence one statement, whose plan is kept. Where there
// are no nodes, one row has the rest.
const selectNodes = `SELECT t.now,
    (SELECT array_agg(k.name) FROM punctual.kind k
      WHERE NOT EXISTS (SELECT 1 FROM punctual.node o WHERE NOT o.draining AND k.ref = ANY(o.kind_refs)) AND (
      EXISTS (SELECT 1 FROM unnest(k.priorities) p (priority) CROSS JOIN LATERAL (
        SELECT 1 FROM punctual.ready r WHERE NOT r.gate AND r.kind = k.ref AND r.priority = p.priority AND r.due_at <= t.now LIMIT 1) r)
      OR EXISTS (SELECT 1 FROM punctual.ready r WHERE r.gate AND r.kind = k.ref AND r.due_at <= t.now))) AS unserved,
    ${isRescueDue('t.now')} AS is_rescue_due, n.*
  FROM (SELECT ${storeNow} AS now) t LEFT JOIN punctual.node n ON true ORDER BY n.seq`

export async function nodes(
  context: Context,
  { drain }: NodesRequest = {},
): Promise<{ readonly answer: NodesAnswer; readonly hints: readonly Hint[] }> {
  const hints = drain ? await drainNodes(context, drain) : []
  const rows = await context.db.rows<Row>(selectNodes, [context.now()])
  const [{ now, unserved, is_rescue_due }] = rows as [Row]
  const all = rows.flatMap((row) => (row.boot === null ? [] : nodeRecord(row)))
  return { answer: { now, nodes: all, unserved: (unserved ?? []).sort(), isRescueDue: is_rescue_due }, hints }
}

/** Marks the nodes of a boot id or name. */
async function drainNodes(context: Context, { node, audit }: NonNullable<NodesRequest['drain']>): Promise<readonly Hint[]> {
  return context.db.transaction(async (session) => {
    const rows = await session.rows<{ boot: string }>(
      `WITH marked AS (UPDATE punctual.node SET draining = true WHERE NOT draining AND (boot = $1 OR name = $1) RETURNING boot, seq)
        SELECT boot FROM marked ORDER BY seq`,
      [node],
    )
    const boots = rows.map(({ boot }) => boot)
    await appendAudit(session, context, [drainAudit(audit, node, boots)])
    return boots.map((boot) => ({ kind: 'cancel' as const, node: boot }))
  })
}
