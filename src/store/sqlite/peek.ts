import { backlogOf, mostCounted, type Pickable } from '../rules/pick.ts'
import type { BacklogGroup } from '../store.ts'
import { heads } from './claim/due-entries.ts'
import { countGroup, dueGroups, hasPickIndex } from './claim/pick.ts'
import type { Transaction } from './connection/transaction.ts'

export function peek(tx: Transaction, { kinds }: { kinds: readonly string[] }): { now: number; nextDue: number | null } {
  return { now: tx.now, nextDue: nextDue(tx, kinds) }
}

/** When a claim of these kinds is worth a try: something is due, a pause ends, or a key is free for which one of them waits. */
export function nextDue(tx: Transaction, kinds: readonly string[]): number | null {
  return earliest([...heads(tx, kinds).map(({ dueAt }) => dueAt), ...otherDues(tx, kinds, Number.NEGATIVE_INFINITY)])
}

/** The same without what is due already, which a pick may have left on purpose. */
export function nextDueAfter(tx: Transaction, kinds: readonly string[]): number | null {
  const next = 'SELECT due_at FROM punctual_ready WHERE kind = ? AND priority = ? AND due_at > ? ORDER BY due_at LIMIT 1'
  const ready = heads(tx, kinds).flatMap(({ kind, priority, dueAt }) =>
    dueAt > tx.now ? [dueAt] : tx.all<{ due_at: number }>(next, kind, priority, tx.now).map(({ due_at }) => due_at),
  )
  return earliest([...ready, ...otherDues(tx, kinds, tx.now)])
}

const selectFilled = `SELECT EXISTS (SELECT 1 FROM punctual_arrival) AS arrivals,
  EXISTS (SELECT 1 FROM punctual_aside WHERE wake_at IS NOT NULL) AS wakes,
  EXISTS (SELECT 1 FROM punctual_release) AND EXISTS (SELECT 1 FROM punctual_waiting) AS releases`
const nextArrival = 'SELECT due_at FROM punctual_arrival WHERE kind = ? AND due_at > ? ORDER BY due_at LIMIT 1'
const nextWake = 'SELECT wake_at FROM punctual_aside WHERE kind = ? AND wake_at IS NOT NULL ORDER BY wake_at LIMIT 1'
const nextRelease = `SELECT r.free_at FROM punctual_release r
  WHERE EXISTS (SELECT 1 FROM punctual_waiting w WHERE w.key = r.key AND w.kind IN (SELECT value FROM json_each(?)))
  ORDER BY r.free_at LIMIT 1`

/** When work of these kinds arrives at the door after `after`, when a pause of it ends, and when a key is free. */
function otherDues(tx: Transaction, kinds: readonly string[], after: number): (number | undefined)[] {
  const filled = tx.one<{ arrivals: number; wakes: number; releases: number }>(selectFilled)
  const found: (number | undefined)[] = []
  if (!filled || filled.arrivals + filled.wakes + filled.releases === 0) return found
  for (const name of kinds) {
    const kind = tx.names.findKind(name)
    if (kind === null) continue
    if (filled.arrivals) found.push(tx.one<{ due_at: number }>(nextArrival, kind, after)?.due_at)
    if (filled.wakes) found.push(tx.one<{ wake_at: number }>(nextWake, kind)?.wake_at)
  }
  if (filled.releases) found.push(tx.one<{ free_at: number }>(nextRelease, tx.names.kindList(kinds))?.free_at)
  return found
}

function earliest(instants: readonly (number | undefined)[]): number | null {
  let first: number | null = null
  for (const instant of instants) if (instant !== undefined && (first === null || instant < first)) first = instant
  return first
}

export function backlog(tx: Transaction, { kinds }: { kinds: readonly string[] }): readonly BacklogGroup[] {
  return backlogOf(dueWork(tx, kinds))
}

interface DueGroup {
  readonly series: number
  readonly priority: number
  readonly count: number
}

/** Due work of each group, up to as much as is counted. */
function* dueWork(tx: Transaction, kinds: readonly string[]): Generator<Pickable, void, undefined> {
  for (const { series, priority, count } of [...dueReady(tx, kinds), ...dueArrivals(tx, kinds)]) {
    const { tenant, job } = tx.names.seriesByRef(series)
    for (let n = 0; n < count; n++) yield { tenant, job, priority }
  }
}

function dueReady(tx: Transaction, kinds: readonly string[]): DueGroup[] {
  if (hasPickIndex(tx)) return dueGroups(tx, kinds, tx.now).map((group) => ({ ...group, count: countGroup(tx, group) }))
  // Before any node picks there is no index for it: everything that is due is counted.
  return heads(tx, kinds).flatMap(({ kind, priority }) =>
    tx.all<DueGroup>(
      `SELECT series, ?2 AS priority, min(count(*), ${mostCounted}) AS count FROM punctual_ready
        WHERE kind = ?1 AND priority = ?2 AND due_at <= ?3 GROUP BY series`,
      kind,
      priority,
      tx.now,
    ),
  )
}

function dueArrivals(tx: Transaction, kinds: readonly string[]): DueGroup[] {
  return tx.all<DueGroup>(
    `SELECT w.series, f.priority, min(count(*), ${mostCounted}) AS count FROM json_each(?) k
      CROSS JOIN punctual_arrival w ON w.kind = k.value AND w.due_at <= ?
      CROSS JOIN punctual_occurrence o ON o.ref = w.ref CROSS JOIN punctual_form f ON f.ref = o.form GROUP BY w.series, f.priority`,
    tx.names.kindList(kinds),
    tx.now,
  )
}
