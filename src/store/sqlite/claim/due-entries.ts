// Work that may be claimed, in the order in which it is.
import { merge, type Source } from '../connection/merge.ts'
import type { Transaction } from '../connection/transaction.ts'
import {
  Entry,
  type LiveRow,
  liveColumns,
  liveOf,
  type OccurrenceRow,
  occurrenceColumns,
  type Place,
  recordOf,
} from '../occurrence/entry.ts'

export type WorkRow = OccurrenceRow & LiveRow

export function entryOf(tx: Transaction, row: WorkRow, place: Place): Entry {
  return new Entry(row.ref, row.series, recordOf(tx, row), place, liveOf(row))
}

/** The first row of a kind and priority. */
export interface Head {
  readonly kind: number
  readonly priority: number
  readonly dueAt: number
}

const nextPriority = `SELECT priority, due_at FROM punctual_ready WHERE kind = ? AND priority > ?
  ORDER BY priority, due_at LIMIT 1`

/** The heads of all that is ready, by skipping from one priority to the next. */
export function heads(tx: Transaction, kinds: readonly string[]): Head[] {
  const found: Head[] = []
  for (const name of new Set(kinds)) {
    const kind = tx.names.findKind(name)
    if (kind === null) continue
    let row = tx.one<{ priority: number; due_at: number }>(nextPriority, kind, -1)
    while (row) {
      const { priority, due_at } = row
      found.push({ kind, priority, dueAt: due_at })
      row = priority < 9 ? tx.one<{ priority: number; due_at: number }>(nextPriority, kind, priority) : undefined
    }
  }
  return found
}

/** At most `limit` of what is due, by priority, then due, then age. */
export function dueEntries(tx: Transaction, kinds: readonly string[], until: number, limit: number): Entry[] {
  const due = heads(tx, kinds).filter(({ dueAt }) => dueAt <= until)
  const rows: WorkRow[] = []
  for (let priority = 0; priority < 10 && rows.length < limit; priority++) {
    const sources = due.filter((head) => head.priority === priority).map((head) => readySource(tx, head, until))
    if (sources.length > 0) rows.push(...merge(sources, isEarlier, limit - rows.length))
  }
  return rows.map((row) => entryOf(tx, row, 'ready'))
}

const selectDue = `SELECT ${occurrenceColumns}, ${liveColumns} FROM punctual_ready w CROSS JOIN punctual_occurrence o ON o.ref = w.ref
  WHERE w.kind = ? AND w.priority = ? AND w.due_at <= ? AND (w.due_at, w.ref) > (?, ?) ORDER BY w.due_at, w.ref LIMIT ? + 0`

function readySource(tx: Transaction, { kind, priority, dueAt }: Head, until: number): Source<WorkRow> {
  return {
    page: (last, limit) => tx.all<WorkRow>(selectDue, kind, priority, until, last?.due_at ?? dueAt, last?.ref ?? 0, limit),
  }
}

function isEarlier(a: WorkRow, b: WorkRow): boolean {
  return a.due_at < b.due_at || (a.due_at === b.due_at && a.ref < b.ref)
}

/** The order in which work is claimed. */
export function inClaimOrder(a: Entry, b: Entry): number {
  return a.priority - b.priority || a.dueAt - b.dueAt || a.ref - b.ref
}
