import { endStates } from '../../model/lifecycle.ts'
import { leavesTombstone } from '../rules/tombstone.ts'
import type { PruneAnswer, PruneRequest } from '../store.ts'
import type { Transaction } from './connection/transaction.ts'
import { deleteOccurrence } from './occurrence/delete.ts'
import { type Entry, readEntry } from './occurrence/entry.ts'
import { rangeOf } from './schema/blocks.ts'
import { foldCreated } from './schema/count-changes.ts'

const ends = endStates.map((end) => `'${end}'`).join(', ')

/** Deletes ended occurrences, those created first before the others. */
export function prune(tx: Transaction, { endedBefore, keyRetentionMs, limit }: PruneRequest): PruneAnswer {
  tx.run('DELETE FROM punctual_tombstone WHERE until < ?', tx.now)
  foldCreated(tx)
  let pruned = 0
  for (const block of tx.blocks.endedBefore(endedBefore)) {
    if (pruned === limit) break
    const refs = endedIn(tx, block, endedBefore, limit - pruned)
    for (const ref of refs) remove(tx, readEntry(tx, ref) as Entry, tx.now + keyRetentionMs)
    pruned += refs.length
    if (pruned < limit) noteSwept(tx, block, endedBefore)
  }
  return { pruned, more: pruned === limit }
}

/** Occurrences of a block that ended before `before`. Hooks that have not run keep theirs. */
function endedIn(tx: Transaction, block: number, before: number, limit: number): number[] {
  const { from, to } = rangeOf(block)
  const rows = tx.all<{ ref: number }>(
    `SELECT o.ref FROM punctual_occurrence o CROSS JOIN punctual_turn t ON t.series = o.series AND t.ref = o.ref
      WHERE o.ref >= ? AND o.ref < ? AND t.end IN (${ends}) AND t.ended_at < ?
        AND NOT EXISTS (SELECT 1 FROM punctual_unheard u WHERE u.ref = o.ref) ORDER BY o.ref LIMIT ? + 0`,
    from,
    to,
    before,
    limit,
  )
  return rows.map(({ ref }) => ref)
}

/** Notes the first end that is left in a block. */
function noteSwept(tx: Transaction, block: number, endedBefore: number): void {
  const { from, to } = rangeOf(block)
  const row = tx.one<{ count: number; first_end_at: number | null }>(
    `SELECT count(*) AS count, min(t.ended_at) AS first_end_at FROM punctual_occurrence o
      LEFT JOIN punctual_turn t ON t.series = o.series AND t.ref = o.ref AND t.end IN (${ends}) WHERE o.ref >= ? AND o.ref < ?`,
    from,
    to,
  )
  tx.blocks.swept(block, row?.first_end_at ?? endedBefore, row?.count === 0)
}

function remove(tx: Transaction, entry: Entry, until: number): void {
  if (leavesTombstone(entry.record, entry))
    tx.run('INSERT OR REPLACE INTO punctual_tombstone (id, until) VALUES (?, ?)', entry.id, until)
  deleteOccurrence(tx, entry)
}
