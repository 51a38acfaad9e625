import { drainNodes, type NodeRow, nodeRecord } from '../rules/sql/nodes.ts'
import type { Hint, NodesAnswer, NodesRequest } from '../store.ts'
import { column } from './connection/arrays.ts'
import { runSteps, type Session } from './connection/session.ts'
import { type Acted, type Context, storeNow } from './context.ts'
import { takeGrantsBack } from './occurrence/take-idle.ts'

/** How many late turns and late starts one call works off. */
export const mostAtOnce = 1000

/** Work that may no longer begin, as a subquery. */
export const lateRows = (table: string, now: string, more = '') =>
  `(SELECT p.ref FROM punctual.${table} p WHERE p.expires_at < ${now} AND NOT p.begun ${more} ORDER BY p.expires_at LIMIT ${mostAtOnce})`

export const isStale = (now: string) => `EXISTS (SELECT 1 FROM punctual.start WHERE deadline_at < ${now})`
export const isExpiring = (now: string) =>
  `(EXISTS ${lateRows('ready', now)} OR EXISTS ${lateRows('waiting', now, "AND p.reason <> 'stranded'")})`
export const hasFreeHook = (now: string) => `EXISTS (SELECT 1 FROM punctual.hook_note WHERE free_at <= ${now})`
export const isUnswept = (now: string) => `EXISTS (SELECT 1 FROM punctual.pause WHERE NOT swept AND to_at <= ${now})`

/** Whether a rescue may find something although no node is gone. */
const isRescueDue = (now: string) => `(${[isStale, isExpiring, hasFreeHook, isUnswept].map((is) => is(now)).join(' OR ')})`

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

export async function nodes(context: Context, { drain }: NodesRequest = {}): Promise<Acted<NodesAnswer>> {
  const { db, now: clock } = context
  const drained = drain ? await db.transaction((session) => runSteps(session, drainNodes(clock(), drain))) : []
  const rows = await db.rows<Row>(selectNodes, [clock()])
  const [{ now, unserved, is_rescue_due }] = rows as [Row]
  const all = rows.flatMap((row) => (row.boot === null ? [] : nodeRecord(row)))
  const hints = drained.map((node) => ({ kind: 'cancel' as const, node }))
  return { answer: { now, nodes: all, unserved: (unserved ?? []).sort(), isRescueDue: is_rescue_due }, hints }
}

/** Removes a node, with the claims that have no members left. The door is locked. */
export async function removeNode(context: Context, session: Session, boot: string, now: number): Promise<readonly Hint[]> {
  await session.rows('DELETE FROM punctual.claim WHERE node = $1', [boot])
  await session.rows('DELETE FROM punctual.node WHERE boot = $1', [boot])
  await session.rows('UPDATE punctual.hook_note SET node = NULL, free_at = $2 WHERE node = $1', [boot, now])
  return freeUnservedKeys(context, session, now)
}

// Which kinds some node serves changes only with the door locked, so the doorman can go by it.

/** Brings the flags of kinds up to date with the nodes. */
export async function updateServedKinds(session: Session): Promise<void> {
  await session.rows(
    `UPDATE punctual.kind k SET served = n.served FROM (
        SELECT i.ref, EXISTS (SELECT 1 FROM punctual.node o WHERE i.ref = ANY(o.kind_refs)) AS served FROM punctual.kind i) n
      WHERE n.ref = k.ref AND k.served <> n.served`,
  )
}

/** The same after a node is gone: keys of work that no node serves any more are free for others. */
async function freeUnservedKeys(context: Context, session: Session, now: number): Promise<readonly Hint[]> {
  await updateServedKinds(session)
  const unserved = await session.rows<{ ref: number }>('SELECT ref FROM punctual.kind WHERE NOT served')
  if (unserved.length === 0) return []
  const where = 'p.granted > 0 AND p.kind = ANY($1::int[])'
  const isLine = await takeGrantsBack(context, session, now, where, [column(unserved.map(({ ref }) => ref))])
  return isLine ? [{ kind: 'due', at: now }] : []
}
