// What is ready, and of that what is due.

import { type OccurrenceRow, occurrenceColumns } from '../rows/occurrence-row.ts'
import { type Lane, mergeLanes } from './lanes.ts'
import { nextWake } from './place.ts'
import type { Transaction } from './transaction.ts'

export type DueRow = [...OccurrenceRow, dueAt: number, turn: number, retrying: number]
/** Where in a row the columns of the occurrence end. */
export const dueColumn = 19

/** When something of these kinds is due, or is looked at again by itself. */
export function nextDue(tx: Transaction, kinds: readonly string[]): number | null {
  return earliest(
    heads(tx, kinds).map((head) => head.dueAt),
    nextWake(tx, kinds),
  )
}

/** The same without what is due already. */
export function nextDueLater(tx: Transaction, kinds: readonly string[]): number | null {
  const dues = heads(tx, kinds).flatMap(({ kind, priority }) => {
    const later = 'SELECT due_at FROM punctual_ready WHERE kind = ? AND priority = ? AND due_at > ? ORDER BY due_at LIMIT 1'
    return tx.one<[number]>(later, kind, priority, tx.now) ?? []
  })
  return earliest(dues, nextWake(tx, kinds))
}

function earliest(dues: readonly number[], wake: number | null): number | null {
  if (dues.length === 0) return wake
  return Math.min(...dues, wake ?? Number.POSITIVE_INFINITY)
}

export interface Head {
  readonly kind: number
  readonly priority: number
  readonly dueAt: number
}

/** The earliest row of each kind and priority, by skipping from one to the next: no other row is read. */
export function heads(tx: Transaction, kinds: readonly string[]): Head[] {
  const next = tx.statement(
    'SELECT priority, due_at FROM punctual_ready WHERE kind = ? AND priority > ? ORDER BY priority, due_at LIMIT 1',
  )
  const found: Head[] = []
  for (const name of new Set(kinds)) {
    const kind = tx.dictionary.findKind(name)
    let row = kind === null ? undefined : next.get(kind, -1)
    while (row) {
      const [priority, dueAt] = row as unknown as [number, number]
      found.push({ kind: kind as number, priority, dueAt })
      row = next.get(kind, priority)
    }
  }
  return found
}

/** How many rows are read at once after one that became ready on the way: such a row may come before those that were read. */
const smallPage = 16

/** What is due, by priority, then due, then age. `room` says how many are still wanted. What becomes ready meanwhile comes up too. */
export function* inOrder(
  tx: Transaction,
  kinds: readonly string[],
  dueBy: number,
  room: () => number,
): Generator<DueRow, void, undefined> {
  let page = Number.POSITIVE_INFINITY
  for (let limit = room(); limit > 0; limit = Math.min(page, room())) {
    const rows = dueRows(tx, kinds, dueBy, limit)
    const stirred = tx.stirred.length
    for (const row of rows) {
      yield row
      if (tx.stirred.length > stirred) break
    }
    if (tx.stirred.length > stirred) page = smallPage
    else if (rows.length < limit) return
  }
}

function dueRows(tx: Transaction, kinds: readonly string[], dueBy: number, limit: number): DueRow[] {
  const due = heads(tx, kinds).filter((head) => head.dueAt <= dueBy)
  const rows: DueRow[] = []
  for (let priority = 0; priority < 10 && rows.length < limit; priority++) {
    const lanes = due.filter((head) => head.priority === priority).map(({ kind }) => readyLane(tx, kind, priority, dueBy))
    if (lanes.length > 0) rows.push(...mergeLanes(lanes, isEarlier, limit - rows.length))
  }
  return rows
}

export const dueColumns = `${occurrenceColumns}, r.due_at, r.turn, r.retrying`

const selectDue = `SELECT ${dueColumns} FROM punctual_ready r CROSS JOIN punctual_occurrence o ON o.ref = r.ref
  WHERE r.kind = ? AND r.priority = ? AND r.due_at <= ? AND (r.due_at, r.ref) > (?, ?) ORDER BY r.due_at, r.ref LIMIT ? + 0`

function readyLane(tx: Transaction, kind: number, priority: number, dueBy: number): Lane<DueRow> {
  return {
    page: (last, limit) => tx.all<DueRow>(selectDue, kind, priority, dueBy, last?.[dueColumn] ?? -1, last?.[0] ?? 0, limit),
  }
}

export function isEarlier(a: DueRow, b: DueRow): boolean {
  return a[dueColumn] < b[dueColumn] || (a[dueColumn] === b[dueColumn] && a[0] < b[0])
}
