/** A sorted source of rows that is read page by page. */
export interface Source<Row> {
  /** The rows after `last`; from the beginning when there is none. */
  page(last: Row | undefined, limit: number): Row[]
}

/** The first `limit` different rows of all sources together, which costs a page of each source and then only what is taken. */
export function merge<Row>(sources: readonly Source<Row>[], isBefore: (a: Row, b: Row) => boolean, limit: number): Row[] {
  const [only] = sources
  if (only && sources.length === 1) return only.page(undefined, limit)
  const size = Math.min(limit, Math.max(8, Math.ceil((2 * limit) / Math.max(1, sources.length))))
  const readers = sources.map((source) => new Reader(source, size)).filter((reader) => reader.head !== undefined)
  const rows: Row[] = []
  while (rows.length < limit) {
    let first: Reader<Row> | undefined
    for (const reader of readers)
      if (reader.head !== undefined && (!first || isBefore(reader.head, first.head as Row))) first = reader
    if (!first) break
    const row = first.take()
    const last = rows.at(-1)
    if (last === undefined || isBefore(last, row)) rows.push(row)
  }
  return rows
}

/** Reads a source row by row. */
class Reader<Row> {
  readonly #source: Source<Row>
  readonly #size: number
  #rows: Row[]
  #at = 0

  constructor(source: Source<Row>, size: number) {
    this.#source = source
    this.#size = size
    this.#rows = source.page(undefined, size)
  }

  get head(): Row | undefined {
    return this.#rows[this.#at]
  }

  take(): Row {
    const row = this.#rows[this.#at++] as Row
    if (this.#at === this.#rows.length && this.#at === this.#size) {
      this.#rows = this.#source.page(row, this.#size)
      this.#at = 0
    }
    return row
  }
}
