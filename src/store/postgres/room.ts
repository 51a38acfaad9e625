// A plan is made once for each connection and kept. Made while a table has no pages it reads that table from end to end, which is
// what it still does when there are a million rows a second later. Hence each table that can grow so fast begins with some pages
// that have been used, and sweeping never gives pages back. Our own connections read no table so in any case; those of a pool of
// the caller's go by what the planner thinks. What joins tables is safe by how it is written, see by-key.ts.

interface Filler {
  readonly columns: string
  /** Of the i-th row. */
  readonly values: string
  readonly rows: number
}

/** Texts as long as a page can hold four of, so that few rows make many pages. */
const wide = "lpad(i::text, 1900, '-')"
const wideRows = 48
/** Rows that are all numbers, for as many pages. */
const narrowRows = 1500

const fillers: Readonly<Record<string, Filler>> = {
  ready: {
    columns: 'kind, priority, lane, due_at, ref, series, turn, planned, retrying, limited',
    values: '0, 0, 0, 0, -i, 0, 0, false, false, false',
    rows: narrowRows,
  },
  waiting: {
    columns: 'kind, priority, lane, due_at, ref, series, turn, planned, retrying, limited, reason, key',
    values: `0, 0, 0, 0, -i, 0, 0, false, false, false, 'pause', ${wide}`,
    rows: wideRows,
  },
  expiry: { columns: 'expires_at, ref', values: '0, -i', rows: narrowRows },
  hold: { columns: 'ref, key', values: `-i, ${wide}`, rows: wideRows },
  limit_key: { columns: 'key', values: wide, rows: wideRows },
  live_key: { columns: 'series, key, ref', values: `0, ${wide}, -i`, rows: wideRows },
  occurrence: {
    columns: 'ref, scheduled_at, created_at, id, series, kind, version, source, uniqueness, priority, payload',
    values: `-i, 0, 0, md5(i::text)::uuid, 0, 0, 0, 'manual', 'ever', 0, ${wide}`,
    rows: wideRows,
  },
  turn: {
    columns: 'ref, ended_at, due_at, turn, series, "end", result',
    values: `-i, 0, 0, 0, 0, 'completed', ${wide}`,
    rows: wideRows,
  },
}

/** What gives the tables room, for a schema in which they were just made. */
export const room: readonly string[] = Object.entries(fillers).flatMap(([table, { columns, values, rows }]) => [
  `ALTER TABLE punctual.${table} SET (vacuum_truncate = off)`,
  `INSERT INTO punctual.${table} (${columns}) SELECT ${values} FROM generate_series(1, ${rows}) i`,
  `DELETE FROM punctual.${table}`,
])
