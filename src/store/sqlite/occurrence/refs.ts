// The numbers and ids of occurrences. A ref is the instant of creation and a counter, so a list by ref is a list by age.
import type { Transaction } from '../connection/transaction.ts'
import { foldCreated } from './counts.ts'

export const refsPerMs = 1024
/** An id with a time in it needs no place in the index if its ref lies this close behind that time: a page less for each create. */
const nearRefs = 8 * refsPerMs
/** For so many ids a transaction looks at the rows itself; then it reads them once for all. */
const mostLooks = 16
/** Created rows are counted by a transaction of many rows, and by the first of each second: no row is counted by its own create. */
const mostUncounted = 64
const foldedRefs = 1024 * refsPerMs

export class Refs {
  readonly #tx: Transaction
  /** The greatest ref before this transaction. */
  #before: number | null = null
  #last = 0
  #made = 0
  /** Ids that are not in the index: those made here, and those read of the file. */
  readonly #near = new Map<string, number>()
  #looks = 0
  #read: { from: number; to: number } | null = null

  constructor(tx: Transaction) {
    this.#tx = tx
  }

  /** The greatest ref. */
  get last(): number {
    this.#begin()
    return this.#last
  }

  /** A ref for a new occurrence. None is ever given twice, so a late write cannot hit another occurrence than the one it meant. */
  next(): number {
    this.#begin()
    this.#made += 1
    this.#last = Math.max(this.#last + 1, this.#tx.now * refsPerMs)
    this.#tx.cache.lastRef = this.#last
    return this.#last
  }

  /** Whether the id of a new occurrence must be in the index. */
  isIndexed(ref: number, id: string): boolean {
    const at = instantOf(id)
    const behind = at === null ? -1 : ref - at * refsPerMs
    if (behind < 0 || behind >= nearRefs) return true
    this.#near.set(id, ref)
    return false
  }

  /** The ref of an id. */
  find(id: string): number | null {
    const at = instantOf(id)
    if (at === null) return this.#findIndexed(id)
    const near = this.#near.get(id)
    if (near !== undefined) return near
    const from = at * refsPerMs
    this.#looks += 1
    if (this.#looks <= mostLooks) return this.#tx.one<{ ref: number }>(selectById, id, from, from + nearRefs)?.ref ?? null
    this.#readNear(from)
    return this.#near.get(id) ?? this.#findIndexed(id)
  }

  #findIndexed(id: string): number | null {
    return this.#tx.one<{ ref: number }>(selectIndexed, id)?.ref ?? null
  }

  /** Counts what was created, now and then. */
  flush(): void {
    const before = this.#before
    if (before === null || this.#made === 0) return
    const isLater = Math.floor(this.#last / foldedRefs) > Math.floor(before / foldedRefs)
    if (this.#made >= mostUncounted || isLater) foldCreated(this.#tx)
  }

  #begin(): void {
    if (this.#before !== null) return
    this.#before = this.#tx.cache.lastRef ?? this.#readLast()
    this.#last = this.#before
  }

  #readLast(): number {
    const newest = this.#tx.one<{ ref: number | null }>('SELECT max(ref) AS ref FROM punctual_occurrence')?.ref ?? 0
    return Math.max(newest, this.#tx.meta('deleted_ref'))
  }

  /** Reads the ids of the refs close behind an instant. Rows that are created together mostly share their instant. */
  #readNear(from: number): void {
    this.#begin()
    const to = Math.min(from + nearRefs, this.#before as number)
    const read = this.#read
    const isWithin = read !== null && read.from <= from && from <= read.to
    const start = isWithin ? read.to + 1 : from
    if (start <= to) {
      const rows = this.#tx.all<{ ref: number; id: string }>(
        'SELECT ref, id FROM punctual_occurrence WHERE ref >= ? AND ref <= ? AND indexed = 0',
        start,
        to,
      )
      for (const { ref, id } of rows) this.#near.set(id, ref)
    }
    this.#read = { from: isWithin ? read.from : from, to: Math.max(to, isWithin ? read.to : from) }
  }
}

const selectIndexed = 'SELECT ref FROM punctual_occurrence WHERE id = ?1 AND indexed = 1'
const selectById = `${selectIndexed}
  UNION ALL SELECT ref FROM punctual_occurrence WHERE ref >= ?2 AND ref <= ?3 AND indexed = 0 AND id = ?1 LIMIT 1`

/** The instant in a UUIDv7. */
function instantOf(id: string): number | null {
  if (id.length !== 36 || id[14] !== '7') return null
  const at = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
  return Number.isNaN(at) ? null : at
}
