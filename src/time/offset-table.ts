import { dayFromCivil, dayMs } from './civil.ts'
import { type OffsetSegment, offsetSegments } from './offset-segment.ts'

/** All constant-offset segments of a zone, read block by block when first asked for. */
export class OffsetTable {
  readonly #offsetAt: (ms: number) => number
  readonly #blocks = new Map<number, readonly OffsetSegment[]>()

  constructor(offsetAt: (ms: number) => number) {
    this.#offsetAt = offsetAt
  }

  /** The segment that holds the instant. Neighbours with the same offset may meet at a block's edge. */
  find(ms: number): OffsetSegment {
    const block = this.#block(Math.min(Math.max(Math.floor(ms / blockMs), firstBlock), lastBlock))
    let low = 0
    for (let high = block.length - 1; low < high; ) {
      const middle = (low + high + 1) >> 1
      if ((block[middle] as OffsetSegment).start <= ms) low = middle
      else high = middle - 1
    }
    return block[low] as OffsetSegment
  }

  #block(index: number): readonly OffsetSegment[] {
    const known = this.#blocks.get(index)
    if (known) return known
    const block = offsetSegments(this.#offsetAt, index * blockMs, (index + 1) * blockMs)
    if (index === firstBlock) block.unshift({ ...(block.shift() as OffsetSegment), start: -Infinity, foldEnd: -Infinity })
    if (index === lastBlock) block.push({ ...(block.pop() as OffsetSegment), end: Infinity, repeatFrom: Infinity })
    this.#blocks.set(index, block)
    return block
  }
}

// 2^26 seconds, a little over two years: some 780 probes of Intl, a few milliseconds, once per zone and block.
const blockMs = 2 ** 26 * 1000
// Before 1800 no zone has a change on record, and the last block ends inside the range of Date.
const firstBlock = Math.floor((dayFromCivil(1800, 1, 1) * dayMs) / blockMs)
const lastBlock = Math.floor(8.64e15 / blockMs) - 2
