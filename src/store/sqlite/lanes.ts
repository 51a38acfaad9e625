/** An ordered source of rows that is read page by page. */
export interface Lane<Row> {
  /** The rows after `last` in the lane's order; from its beginning when there is none. */
  page(last: Row | undefined, limit: number): Row[]
}

/** The first `limit` rows of all lanes together, which costs a page of each lane and then only what is taken. */
export function mergeLanes<Row>(lanes: readonly Lane<Row>[], isBefore: (a: Row, b: Row) => boolean, limit: number): Row[] {
  const [only] = lanes
  if (only && lanes.length === 1) return only.page(undefined, limit)
  const size = Math.min(limit, Math.max(8, Math.ceil((2 * limit) / Math.max(1, lanes.length))))
  const readers = lanes.map((lane) => new LaneReader(lane, size)).filter((reader) => reader.head !== undefined)
  const rows: Row[] = []
  while (rows.length < limit) {
    let first: LaneReader<Row> | undefined
    for (const reader of readers)
      if (reader.head !== undefined && (!first || isBefore(reader.head, first.head as Row))) first = reader
    if (!first) break
    rows.push(first.take())
  }
  return rows
}

/** Reads a lane row by row. */
export class LaneReader<Row> {
  readonly #lane: Lane<Row>
  readonly #size: number
  #rows: Row[]
  #at = 0

  constructor(lane: Lane<Row>, size: number) {
    this.#lane = lane
    this.#size = size
    this.#rows = lane.page(undefined, size)
  }

  get head(): Row | undefined {
    return this.#rows[this.#at]
  }

  take(): Row {
    const row = this.#rows[this.#at++] as Row
    if (this.#at === this.#rows.length && this.#at === this.#size) {
      this.#rows = this.#lane.page(row, this.#size)
      this.#at = 0
    }
    return row
  }
}
