// Notes on spans of neighbouring refs as a whole: when their work was first due, and since when some of it has ended. Lists by
// time and pruning pass over blocks that cannot hold what they want, without an index entry for each row.
import type { Transaction } from '../connection/transaction.ts'
import { refsPerMs } from '../occurrence/refs.ts'

/** The work of a block was created within about 16 s. */
const blockMs = 16_384
const blockSize = blockMs * refsPerMs
/** First dues are noted in whole hours, so most creates find theirs noted already. */
const hourMs = 3_600_000

/** Neighbouring refs, `to` left out. */
export interface RefRange {
  readonly from: number
  readonly to: number
}

interface Span {
  readonly first: number
  readonly last: number
}

const mostRemembered = 1000

/** The notes that a connection has written, so it does not write them again. */
export class BlockMemo {
  readonly spans = new Map<number, Span>()
  readonly firstEnds = new Map<number, number>()

  trim(): void {
    for (const map of [this.spans, this.firstEnds]) if (map.size > mostRemembered) map.clear()
  }
}

export class Blocks {
  readonly #tx: Transaction
  readonly #spans = new Map<number, Span>()
  readonly #firstEnds = new Map<number, number>()

  constructor(tx: Transaction) {
    this.#tx = tx
  }

  /** Notes a first due, unless it lies in the time of the block itself. */
  noteDue(ref: number, scheduledAt: number): void {
    const block = Math.floor(ref / blockSize)
    if (Math.floor(scheduledAt / blockMs) === block) return
    const span = this.#spans.get(block) ?? this.#tx.connection.blocks.spans.get(block)
    if (span && span.first <= scheduledAt && scheduledAt < span.last) return
    const hour = Math.floor(scheduledAt / hourMs) * hourMs
    this.#spans.set(block, {
      first: Math.min(hour, span?.first ?? hour),
      last: Math.max(hour + hourMs, span?.last ?? hour),
    })
  }

  noteEnd(ref: number, endedAt: number): void {
    const block = Math.floor(ref / blockSize)
    const known = this.#firstEnds.get(block) ?? this.#tx.connection.blocks.firstEnds.get(block)
    if (known === undefined || endedAt < known) this.#firstEnds.set(block, endedAt)
  }

  flush(): void {
    for (const [block, { first, last }] of this.#spans)
      this.#tx.run(
        `INSERT INTO punctual_block (block, first_at, last_at) VALUES (?1, ?2, ?3) ON CONFLICT (block) DO UPDATE SET
          first_at = min(coalesce(first_at, ?2), ?2), last_at = max(coalesce(last_at, ?3), ?3)`,
        block,
        first,
        last,
      )
    for (const [block, endedAt] of this.#firstEnds)
      this.#tx.run(
        `INSERT INTO punctual_block (block, first_end_at) VALUES (?1, ?2)
          ON CONFLICT (block) DO UPDATE SET first_end_at = min(coalesce(first_end_at, ?2), ?2)`,
        block,
        endedAt,
      )
  }

  committed(): void {
    const { blocks } = this.#tx.connection
    for (const [block, span] of this.#spans) blocks.spans.set(block, span)
    for (const [block, endedAt] of this.#firstEnds) blocks.firstEnds.set(block, endedAt)
    blocks.trim()
  }

  /** The refs that may have a first due in [since, to), the newest first. */
  dueWithin(since: number, to: number): RefRange[] {
    const own = {
      from: Math.max(0, Math.floor(since / blockMs)) * blockSize,
      to: Math.min((Math.floor(to / blockMs) + 1) * blockSize, Number.MAX_SAFE_INTEGER),
    }
    const noted = this.#tx
      .all<{ block: number }>(
        'SELECT block FROM punctual_block WHERE last_at > ? AND first_at < ? ORDER BY block DESC',
        since,
        to,
      )
      .map(({ block }) => rangeOf(block))
    const ranges: RefRange[] = []
    for (const range of [own, ...noted].sort((a, b) => b.to - a.to)) {
      const newer = ranges.at(-1)
      if (newer && newer.from <= range.to) ranges[ranges.length - 1] = { from: Math.min(range.from, newer.from), to: newer.to }
      else ranges.push(range)
    }
    return ranges
  }

  /** The blocks that may hold an occurrence that ended before `time`, the oldest first. */
  endedBefore(time: number): number[] {
    return this.#tx
      .all<{ block: number }>('SELECT block FROM punctual_block WHERE first_end_at < ? ORDER BY block', time)
      .map(({ block }) => block)
  }

  /** All that ended before `firstEndAt` has been deleted from the block. `isEmpty`: nothing is left. */
  swept(block: number, firstEndAt: number, isEmpty: boolean): void {
    // A commit that fails leaves the memo behind the file, which costs one more write.
    this.#tx.connection.blocks.firstEnds.delete(block)
    // Other connections may still remember what they noted of the newest block.
    if (isEmpty && this.#tx.refs.last >= rangeOf(block).to) this.#tx.run('DELETE FROM punctual_block WHERE block = ?', block)
    else this.#tx.run('UPDATE punctual_block SET first_end_at = ? WHERE block = ?', firstEndAt, block)
  }
}

export function rangeOf(block: number): RefRange {
  return { from: block * blockSize, to: (block + 1) * blockSize }
}
