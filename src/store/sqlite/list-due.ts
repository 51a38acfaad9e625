import { having } from '../rules/having.ts'
import type { DueQuery, DueRow } from '../store.ts'
import { merge, type Source } from './connection/merge.ts'
import type { Transaction } from './connection/transaction.ts'
import { type Entry, readEntry } from './occurrence/entry.ts'

interface DueRef {
  readonly ref: number
  readonly series: number
  readonly due_at: number
}

interface Lane {
  readonly kind: number
  readonly priority: number | null
}

/** One range of an index for each kind and priority, merged. */
export function listDue(tx: Transaction, { tenant, job, from = -8.64e15, to = 8.64e15, limit }: DueQuery): readonly DueRow[] {
  const series = tenant !== undefined && job !== undefined ? tx.names.findSeries(tenant, job) : undefined
  if (series === null) return []
  const isOf = having({ tenant, job })
  const isAsked = (row: DueRef) => (series ? row.series === series.ref : isOf(tx.names.seriesByRef(row.series)))
  const isFiltered = tenant !== undefined || job !== undefined
  const sources = lanes(tx).map((lane) => laneSource(tx, lane, from, to))
  // Work of other jobs is passed by: so much of it, and no more.
  const found = merge(sources, isEarlier, isFiltered ? limit + mostPassedBy : limit)
  return found
    .filter((row) => !isFiltered || isAsked(row))
    .slice(0, limit)
    .map(({ ref }) => dueLine(readEntry(tx, ref) as Entry))
}

const mostPassedBy = 5000

function lanes(tx: Transaction): Lane[] {
  const ready = tx.all<Lane>(`WITH RECURSIVE lane (kind, priority) AS (
      SELECT * FROM (SELECT kind, priority FROM punctual_ready ORDER BY kind, priority LIMIT 1)
      UNION ALL SELECT r.kind, r.priority FROM lane l CROSS JOIN punctual_ready r ON (r.kind, r.priority, r.due_at, r.ref) = (
        SELECT n.kind, n.priority, n.due_at, n.ref FROM punctual_ready n WHERE (n.kind, n.priority) > (l.kind, l.priority)
        ORDER BY n.kind, n.priority, n.due_at, n.ref LIMIT 1)
    ) SELECT kind, priority FROM lane`)
  const arrivals = tx.all<{ ref: number }>(
    'SELECT ref FROM punctual_kind k WHERE EXISTS (SELECT 1 FROM punctual_arrival a WHERE a.kind = k.ref)',
  )
  return [...ready, ...arrivals.map(({ ref }) => ({ kind: ref, priority: null }))]
}

const after = 'AND due_at < ? AND (due_at, ref) > (?, ?) ORDER BY due_at, ref LIMIT ? + 0'
const selectReady = `SELECT ref, series, due_at FROM punctual_ready WHERE kind = ? AND priority = ? ${after}`
const selectArrivals = `SELECT ref, series, due_at FROM punctual_arrival WHERE kind = ? ${after}`

function laneSource(tx: Transaction, { kind, priority }: Lane, from: number, to: number): Source<DueRef> {
  const place = (last: DueRef | undefined) => [last?.due_at ?? from, last?.ref ?? 0] as const
  return {
    page: (last, limit) =>
      priority === null
        ? tx.all<DueRef>(selectArrivals, kind, to, ...place(last), limit)
        : tx.all<DueRef>(selectReady, kind, priority, to, ...place(last), limit),
  }
}

function isEarlier(a: DueRef, b: DueRef): boolean {
  return a.due_at < b.due_at || (a.due_at === b.due_at && a.ref < b.ref)
}

function dueLine({ record: { id, tenant, job, key, source }, dueAt, state }: Entry): DueRow {
  return { id, tenant, job, key, source, dueAt, state: state as DueRow['state'] }
}
