// Notes on spans of neighbouring refs as a whole: when their work was first due. Lists by time pass over blocks that cannot hold what
// they want, without an index entry for each row.
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

export interface Span {
  readonly first: number
  readonly last: number
}

const mostRemembered = 1000

export class RefBlocks {
  readonly #tx: Transaction
  readonly #spans = new Map<number, Span>()

  constructor(tx: Transaction) {
    this.#tx = tx
  }

  /** Notes a first due, unless it lies in the time of the block itself. */
  noteDue(ref: number, scheduledAt: number): void {
    const block = Math.floor(ref / blockSize)
    if (Math.floor(scheduledAt / blockMs) === block) return
    const span = this.#spans.get(block) ?? this.#tx.connection.blocks.get(block)
    if (span && span.first <= scheduledAt && scheduledAt < span.last) return
    const hour = Math.floor(scheduledAt / hourMs) * hourMs
    this.#spans.set(block, {
      first: Math.min(hour, span?.first ?? hour),
      last: Math.max(hour + hourMs, span?.last ?? hour),
    })
  }

  flush(): void {
    for (const [block, { first, last }] of this.#spans)
      this.#tx.run(
        `INSERT INTO punctual_block (block, first_at, last_at) VALUES (?1, ?2, ?3)
          ON CONFLICT (block) DO UPDATE SET first_at = min(first_at, ?2), last_at = max(last_at, ?3)`,
        block,
        first,
        last,
      )
  }

  /** The connection remembers what it has written, so it does not write it again. */
  committed(): void {
    const { blocks } = this.#tx.connection
    if (blocks.size > mostRemembered) blocks.clear()
    for (const [block, span] of this.#spans) blocks.set(block, span)
  }

  /** Removes the notes on blocks whose occurrences are all gone. The newest are kept, since connections remember them. */
  prune(): void {
    this.#tx.run(`DELETE FROM punctual_block WHERE block < (SELECT min(ref) FROM punctual_occurrence) / ${blockSize}`)
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
}

function rangeOf(block: number): RefRange {
  return { from: block * blockSize, to: (block + 1) * blockSize }
}
