// What is known of each block of neighbouring occurrences as a whole: the span of their first dues, and since when some
// have ended. Lists by time and pruning pass over the blocks that cannot hold what they want, without an index entry per row.
import type { Transaction } from './transaction.ts'

const blockSize = 1024

/** Neighbouring refs, `to` left out. */
export interface RefRange {
  readonly from: number
  readonly to: number
}

export class Blocks {
  readonly #tx: Transaction
  readonly #spans = new Map<number, { first: number; last: number }>()
  readonly #ends = new Map<number, number>()

  constructor(tx: Transaction) {
    this.#tx = tx
  }

  noteDue(ref: number, scheduledAt: number): void {
    const block = Math.floor(ref / blockSize)
    const span = this.#spans.get(block)
    if (!span) this.#spans.set(block, { first: scheduledAt, last: scheduledAt })
    else if (scheduledAt < span.first) span.first = scheduledAt
    else if (scheduledAt > span.last) span.last = scheduledAt
  }

  noteEnd(ref: number, endedAt: number): void {
    const block = Math.floor(ref / blockSize)
    const known = this.#ends.get(block) ?? this.#tx.connection.firstEnds.get(block)
    if (known === undefined || endedAt < known) this.#ends.set(block, endedAt)
  }

  flush(): void {
    for (const [block, { first, last }] of this.#spans) {
      this.#tx.run(
        `INSERT INTO punctual_block (block, first_at, last_at) VALUES (?, ?, ?)
          ON CONFLICT (block) DO UPDATE SET first_at = min(first_at, excluded.first_at), last_at = max(last_at, excluded.last_at)`,
        block,
        first,
        last,
      )
    }
    for (const [block, endedAt] of this.#ends) {
      this.#tx.run(
        'UPDATE punctual_block SET first_end_at = min(coalesce(first_end_at, ?1), ?1) WHERE block = ?2',
        endedAt,
        block,
      )
    }
  }

  /** What is written need not be written again for each further end of the block. */
  committed(): void {
    for (const [block, endedAt] of this.#ends) this.#tx.connection.firstEnds.set(block, endedAt)
  }

  /** The blocks that may hold a first due in [since, to), the newest first. */
  dueWithin(since = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY): RefRange[] {
    const rows = this.#tx.all<[number]>(
      'SELECT block FROM punctual_block WHERE last_at >= ? AND first_at < ? ORDER BY block DESC',
      since,
      to,
    )
    const ranges: RefRange[] = []
    for (const [block] of rows) {
      const range = rangeOf(block)
      const newer = ranges.at(-1)
      if (newer?.from === range.to) ranges[ranges.length - 1] = { from: range.from, to: newer.to }
      else ranges.push(range)
    }
    return ranges
  }

  /** The blocks that may hold an occurrence that ended before `time`, the oldest first. */
  endedBefore(time: number): number[] {
    return this.#tx
      .all<[number]>('SELECT block FROM punctual_block WHERE first_end_at < ? ORDER BY block', time)
      .map(([block]) => block)
  }

  /** All that ended before `time` has been taken from the block. */
  pruned(block: number, firstEndAt: number, isEmpty: boolean): void {
    this.#tx.connection.firstEnds.delete(block)
    if (isEmpty) this.#tx.run('DELETE FROM punctual_block WHERE block = ?', block)
    else this.#tx.run('UPDATE punctual_block SET first_end_at = ? WHERE block = ?', firstEndAt, block)
  }
}

export function rangeOf(block: number): RefRange {
  return { from: block * blockSize, to: (block + 1) * blockSize }
}
