import { leavesTombstone } from '../rules/tombstone.ts'
import type { PruneAnswer, PruneRequest } from '../store.ts'
import type { Transaction } from './connection/transaction.ts'
import { deleteOccurrence } from './occurrence/delete.ts'
import { type Entry, readEntry } from './occurrence/entry.ts'
import { foldCreated } from './schema/count-changes.ts'
import { isLastEnd } from './schema/tables.ts'

/** Deletes ended occurrences, those that ended first before the others. Hooks that have not run keep theirs. */
export function prune(tx: Transaction, { endedBefore, keyRetentionMs, limit }: PruneRequest): PruneAnswer {
  tx.run('DELETE FROM punctual_tombstone WHERE until < ?', tx.now)
  foldCreated(tx)
  const rows = tx.all<{ ref: number }>(
    `SELECT ref FROM punctual_turn t WHERE ended_at < ? AND ${isLastEnd}
      AND NOT EXISTS (SELECT 1 FROM punctual_unheard u WHERE u.ref = t.ref) ORDER BY ended_at LIMIT ? + 0`,
    endedBefore,
    limit,
  )
  for (const { ref } of rows) remove(tx, readEntry(tx, ref) as Entry, tx.now + keyRetentionMs)
  if (rows.length > 0) tx.blocks.prune()
  return { pruned: rows.length, more: rows.length === limit }
}

function remove(tx: Transaction, entry: Entry, until: number): void {
  if (leavesTombstone(entry.record, entry)) {
    tx.noteRow('punctual_tombstone')
    tx.run('INSERT OR REPLACE INTO punctual_tombstone (id, until) VALUES (?, ?)', entry.id, until)
  }
  deleteOccurrence(tx, entry)
}
