import type { OccurrenceFilter } from '../../query.ts'
import type { StoredMember } from '../claim/claim-row.ts'
import { merge, type Source } from '../connection/merge.ts'
import type { Transaction } from '../connection/transaction.ts'
import { type Entry, readEntry } from '../occurrence/entry.ts'
import type { RefRange } from './ref-blocks.ts'

/** A table `s`, and the first columns of its index. */
export interface Origin {
  readonly from: string
  readonly where: string
  readonly values: readonly (string | number)[]
}

/** The instants that are asked for, and where in the table they can be. */
interface Window {
  readonly since: number
  readonly to: number
  readonly ranges: readonly RefRange[]
}

/** Rows of other work that a walk passes by. */
const mostWalked = 5000

/** Reads the refs of tables, the newest first, from a ref on and within the window of a filter. */
export class Tables {
  readonly tx: Transaction
  /** Refs of the list are smaller. */
  readonly below: number
  readonly #window: Window | null

  constructor(tx: Transaction, filter: OccurrenceFilter, below: number) {
    this.tx = tx
    this.below = below
    this.#window = windowOf(tx, filter)
  }

  /** All rows of an origin. */
  source(origin: Origin): Source<number> {
    return { page: (last, limit) => this.#page(origin, 0, last ?? this.below, limit) }
  }

  /**
   * The rows of an origin, in the order of refs, that a condition holds for. Where it holds for few of the next rows, the other sources
   * find them, which `rest` makes only then.
   */
  walk(origin: Origin, condition: Pick<Origin, 'where' | 'values'>, rest: () => readonly Source<number>[]): Source<number> {
    const wanted = {
      ...{ from: origin.from, where: `${origin.where} AND ${condition.where}` },
      values: [...origin.values, ...condition.values],
    }
    let others: readonly Source<number>[] | undefined
    return {
      page: (last = this.below, limit) => {
        const floor = this.#floor(origin, last)
        const found = this.#page(wanted, floor, last, limit)
        if (found.length === limit || floor === 0) return found
        others ??= rest()
        const after = others.map((source) => ({
          page: (own: number | undefined, most: number) => source.page(own ?? last, most),
        }))
        return merge(after, (a, b) => a > b, limit)
      },
    }
  }

  /** How far down a walk goes; 0 where it sees all rows. */
  #floor({ from, where, values }: Origin, last: number): number {
    const top = Math.min(last, this.#window?.ranges[0]?.to ?? last)
    const sql = `SELECT s.ref FROM ${from} WHERE ${where} AND s.ref < ? ORDER BY s.ref DESC LIMIT 1 OFFSET ${mostWalked}`
    return this.tx.one<{ ref: number }>(sql, ...values, top)?.ref ?? 0
  }

  #page({ from, where, values }: Origin, floor: number, last: number, limit: number): number[] {
    const window = this.#window
    if (!window) {
      const sql = `SELECT s.ref FROM ${from} WHERE ${where} AND s.ref >= ? AND s.ref < ? ORDER BY s.ref DESC LIMIT ? + 0`
      return refsOf(this.tx.all(sql, ...values, floor, last, limit))
    }
    const sql = `SELECT s.ref FROM ${from} CROSS JOIN punctual_occurrence o ON o.ref = s.ref
      WHERE ${where} AND s.ref >= ? AND s.ref < ? AND o.scheduled_at >= ? AND o.scheduled_at < ? ORDER BY s.ref DESC LIMIT ? + 0`
    const refs: number[] = []
    for (const range of window.ranges) {
      if (refs.length === limit) break
      const [low, high] = [Math.max(range.from, floor), Math.min(range.to, last)]
      if (low >= high) continue
      refs.push(...refsOf(this.tx.all(sql, ...values, low, high, window.since, window.to, limit - refs.length)))
    }
    return refs
  }
}

function refsOf(rows: readonly { readonly ref?: number }[]): number[] {
  return rows.map(({ ref }) => ref as number)
}

function windowOf(
  tx: Transaction,
  { from: since = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY }: OccurrenceFilter,
): Window | null {
  if (since === Number.NEGATIVE_INFINITY && to === Number.POSITIVE_INFINITY) return null
  return { since, to, ranges: tx.blocks.dueWithin(since, to) }
}

/** Running work: few rows, and only claims know them. */
export function runningSource(
  { tx, below }: Tables,
  members: readonly StoredMember[],
  { from, to }: OccurrenceFilter,
): Source<number> {
  const isWithin = (ref: number) => {
    if (from === undefined && to === undefined) return true
    const { scheduledAt } = (readEntry(tx, ref) as Entry).record
    return (from === undefined || scheduledAt >= from) && (to === undefined || scheduledAt < to)
  }
  const refs = members.map(({ ref }) => ref).filter(isWithin)
  refs.sort((a, b) => b - a)
  return { page: (last, limit) => refs.filter((ref) => ref < (last ?? below)).slice(0, limit) }
}
