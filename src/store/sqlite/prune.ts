import { endStates, stateAfter, type TurnEnd } from '../../model/lifecycle.ts'
import { fromJson } from '../rows/json.ts'
import type { PruneAnswer, PruneRequest } from '../store.ts'
import { type RefRange, rangeOf } from './blocks.ts'
import { passOn } from './keys.ts'
import type { Transaction } from './transaction.ts'

/** Starts that count for no rate any more are kept for as long as a clock may be set back. */
const startsKeptMs = 3_600_000

const ends = endStates.map((end) => `'${end}'`).join(', ')

/** Deletes ended occurrences, those created first before the others. */
export function prune(tx: Transaction, { endedBefore, keyRetentionMs, limit }: PruneRequest): PruneAnswer {
  tx.run('DELETE FROM punctual_tombstone WHERE until < ?', tx.now)
  tx.run('DELETE FROM punctual_rate_start WHERE until < ?', tx.now - startsKeptMs)
  let pruned = 0
  for (const block of tx.blocks.endedBefore(endedBefore)) {
    if (pruned === limit) break
    const rows = endedIn(tx, rangeOf(block), endedBefore, limit - pruned)
    for (const row of rows) remove(tx, row, tx.now + keyRetentionMs)
    const newest = rows.at(-1)
    if (newest) tx.notePruned(newest.ref)
    pruned += rows.length
    if (pruned < limit) noteSwept(tx, block, endedBefore)
  }
  return { pruned, more: pruned === limit }
}

interface Ended {
  readonly series: number
  readonly ref: number
  readonly end: TurnEnd
  readonly holds: string | null
}

function endedIn(tx: Transaction, { from, to }: RefRange, before: number, limit: number): Ended[] {
  const rows = tx.all<[number, number, TurnEnd, string | null]>(
    `SELECT o.series, o.ref, t.end, o.holds FROM punctual_occurrence o CROSS JOIN punctual_turn t ON t.series = o.series AND t.ref = o.ref
      WHERE o.ref >= ? AND o.ref < ? AND t.end IN (${ends}) AND t.ended_at < ? ORDER BY o.ref LIMIT ? + 0`,
    from,
    to,
    before,
    limit,
  )
  return rows.map(([series, ref, end, holds]) => ({ series, ref, end, holds }))
}

/** What is left in the block ended later, or has yet to end. */
function noteSwept(tx: Transaction, block: number, endedBefore: number): void {
  const { from, to } = rangeOf(block)
  const [left, firstEndAt] = tx.one<[number, number | null]>(
    `SELECT count(*), min(t.ended_at) FROM punctual_occurrence o
      LEFT JOIN punctual_turn t ON t.series = o.series AND t.ref = o.ref AND t.end IN (${ends}) WHERE o.ref >= ? AND o.ref < ?`,
    from,
    to,
  ) as [number, number | null]
  tx.blocks.pruned(block, firstEndAt ?? endedBefore, left === 0)
}

function remove(tx: Transaction, { series, ref, end, holds }: Ended, until: number): void {
  tx.run(
    `INSERT OR REPLACE INTO punctual_tombstone (id, until) SELECT id, ? FROM punctual_occurrence
      WHERE ref = ? AND (source IN ('schedule', 'recovery') OR (key IS NOT NULL AND uniqueness = 'ever'))`,
    until,
    ref,
  )
  tx.run('DELETE FROM punctual_occurrence WHERE ref = ?', ref)
  tx.run('DELETE FROM punctual_turn WHERE series = ? AND ref = ?', series, ref)
  tx.run('DELETE FROM punctual_attempt WHERE ref = ?', ref)
  tx.run('DELETE FROM punctual_progress WHERE ref = ?', ref)
  tx.tally(series, stateAfter[end], null)
  if (holds !== null && tx.has('punctual_waiting')) passOn(tx, fromJson(holds), [])
}
