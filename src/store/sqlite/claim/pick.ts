// Claims that do not go by age alone: fairly across tenants, or by quotas. Of each job, kind and priority only as much is read as one
// claim may take, so a flood of one tenant is never walked to reach the rows of another.
import { mostCounted, picked } from '../../rules/pick.ts'
import type { ClaimPick } from '../../store.ts'
import type { Transaction } from '../connection/transaction.ts'
import { type Entry, liveColumns, occurrenceColumns } from '../occurrence/entry.ts'
import { entryOf, heads, inClaimOrder, type WorkRow } from './due-entries.ts'

/** Rows of a group that are read beyond its share of the room, since some groups have less and some rows may not run. */
const spare = 16

export interface Group {
  readonly kind: number
  readonly priority: number
  readonly series: number
}

/** An entry as a pick sees it. */
interface Candidate {
  readonly tenant: string
  readonly job: string
  readonly priority: number
  readonly entry: Entry
}

/** Due work in the order of `pick`. `isCut`: all rows that were read of some group were tried, and there are more. */
export function pickEntries(
  tx: Transaction,
  { kinds, until, room }: { kinds: readonly string[]; until: number; room: number },
  pick: ClaimPick,
): { entries: Iterable<Entry>; isCut: () => boolean } {
  layPickIndex(tx)
  const groups = dueGroups(tx, kinds, until)
  const size = spare + Math.ceil((2 * room) / Math.max(1, groups.length))
  const full: Entry[] = []
  const tried = new Set<Entry>()
  const candidates = groups.flatMap((group) => {
    const rows = tx.all<WorkRow>(selectGroup, group.kind, group.priority, group.series, until, size)
    const entries = rows.map((row) => entryOf(tx, row, 'ready'))
    if (entries.length === size) full.push(entries.at(-1) as Entry)
    return entries.map(
      (entry): Candidate => ({ tenant: entry.record.tenant, job: entry.record.job, priority: entry.priority, entry }),
    )
  })
  candidates.sort((a, b) => inClaimOrder(a.entry, b.entry))
  function* inOrder(): Generator<Entry, void, undefined> {
    for (const { entry } of picked(candidates, pick)) {
      tried.add(entry)
      yield entry
    }
  }
  return { entries: inOrder(), isCut: () => full.some((entry) => tried.has(entry)) }
}

/** The first node that picks creates the index for it. Without one, every row would pay for what few use. */
export function layPickIndex(tx: Transaction): void {
  if (!hasPickIndex(tx))
    tx.connection.exec('CREATE INDEX punctual_ready_pick ON punctual_ready (kind, priority, series, due_at, ref)')
}

export function hasPickIndex(tx: Transaction): boolean {
  return tx.one("SELECT 1 FROM sqlite_schema WHERE type = 'index' AND name = 'punctual_ready_pick'") !== undefined
}

const nextGroup = `SELECT series, due_at FROM punctual_ready INDEXED BY punctual_ready_pick
  WHERE kind = ? AND priority = ? AND series > ? ORDER BY series, due_at LIMIT 1`
const selectGroup = `SELECT ${occurrenceColumns}, ${liveColumns}
  FROM punctual_ready w INDEXED BY punctual_ready_pick CROSS JOIN punctual_occurrence o ON o.ref = w.ref
  WHERE w.kind = ? AND w.priority = ? AND w.series = ? AND w.due_at <= ? ORDER BY w.due_at, w.ref LIMIT ? + 0`

/** The groups with anything due, by skipping from the head of one to the next. */
export function dueGroups(tx: Transaction, kinds: readonly string[], until: number): Group[] {
  const found: Group[] = []
  for (const { kind, priority, dueAt } of heads(tx, kinds)) {
    if (dueAt > until) continue
    let row = tx.one<{ series: number; due_at: number }>(nextGroup, kind, priority, -1)
    while (row) {
      const { series, due_at } = row
      if (due_at <= until) found.push({ kind, priority, series })
      row = tx.one<{ series: number; due_at: number }>(nextGroup, kind, priority, series)
    }
  }
  return found
}

const countDue = `SELECT count(*) AS count FROM (SELECT 1 FROM punctual_ready INDEXED BY punctual_ready_pick
  WHERE kind = ? AND priority = ? AND series = ? AND due_at <= ? LIMIT ${mostCounted})`

/** How many of a group are due, up to as many as are counted. */
export function countGroup(tx: Transaction, { kind, priority, series }: Group): number {
  return tx.one<{ count: number }>(countDue, kind, priority, series, tx.now)?.count ?? 0
}
