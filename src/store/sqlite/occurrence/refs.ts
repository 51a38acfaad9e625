// The numbers and ids of occurrences. A ref is the instant of creation and a counter, so a list by ref is a list by age.
import type { Transaction } from '../connection/transaction.ts'
import { foldCreated } from '../schema/count-changes.ts'

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
    const row = this.#tx.one<{ ref: number }>('SELECT ref FROM punctual_occurrence WHERE id = ? AND indexed = 1', id)
    if (row) return row.ref
    const at = instantOf(id)
    if (at === null) return null
    this.#looks += 1
    if (this.#looks <= mostLooks) return this.#near.get(id) ?? this.#look(id, at * refsPerMs)
    this.#readNear(at * refsPerMs)
    return this.#near.get(id) ?? null
  }

  #look(id: string, from: number): number | null {
    const select = 'SELECT ref FROM punctual_occurrence WHERE ref >= ? AND ref <= ? AND indexed = 0 AND id = ? LIMIT 1'
    return this.#tx.one<{ ref: number }>(select, from, from + nearRefs, id)?.ref ?? null
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
    const row = this.#tx.one<{ ref: number }>(
      `SELECT max(coalesce((SELECT max(ref) FROM punctual_occurrence), 0),
        (SELECT value FROM punctual_meta WHERE name = 'deleted_ref')) AS ref`,
    )
    this.#before = row?.ref ?? 0
    this.#last = this.#before
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

/** The instant in a UUIDv7. */
function instantOf(id: string): number | null {
  if (id.length !== 36 || id[14] !== '7') return null
  const at = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
  return Number.isNaN(at) ? null : at
}
