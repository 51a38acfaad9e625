// What a verb has changed in its slice of the ledger.
import type { OccurrenceRecord } from '../../model/occurrence.ts'
import type { Entry } from '../ledger/ledger.ts'
import type { Before, Slice } from './slice.ts'

/** An entry that has changed, or come into being. */
export interface Change {
  readonly entry: Entry
  /** Null for a new one. */
  readonly before: Before | null
  readonly series: number
}

export function changesOf(slice: Slice): Change[] {
  const changes: Change[] = []
  for (const entry of slice.ledger.entries.values()) {
    const before = slice.before.get(entry.ref) ?? null
    if (!before || hasChanged(entry, before)) changes.push({ entry, before, series: seriesOf(slice, entry.record) })
  }
  return changes
}

function hasChanged(entry: Entry, { entry: before, holding, turns, attempts }: Before): boolean {
  return (
    isMoved(entry, before) ||
    entry.record !== before.record ||
    entry.turns.length !== turns ||
    entry.attempts.length !== attempts ||
    entry.start !== before.start ||
    entry.cancel !== before.cancel ||
    entry.progress !== before.progress ||
    entry.holding.size !== holding.size ||
    [...entry.holding].some((key) => !holding.has(key))
  )
}

/** Whether its row in ready or waiting is another than before. */
export function isMoved(entry: Entry, before: Readonly<Entry>): boolean {
  return (
    entry.place !== before.place ||
    entry.turn !== before.turn ||
    entry.dueAt !== before.dueAt ||
    entry.wait !== before.wait ||
    // What was put back is a row of its own, though it looks the same: its limits or its priority may be others.
    (entry.place === 'ready' && entry.record !== before.record)
  )
}

export function seriesOf({ context }: Slice, { tenant, job }: OccurrenceRecord): number {
  return context.dictionary.series(tenant, job).ref
}
