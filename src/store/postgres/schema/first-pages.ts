// A plan is made once for each connection and kept. Made while a table has no pages it reads that table from end to end, and still
// does when there are a million rows a second later. Hence each table that can grow so fast begins with some used pages, and vacuum
// never gives pages back. Our own connections read no table so in any case; a caller's pool depends on the planner.

interface Filler {
  readonly columns: string
  /** Of the i-th row. */
  readonly values: string
  readonly rows: number
}

/** Texts as long as a page can hold four of, so few rows make many pages. */
const wide = "lpad(i::text, 1900, '-')"
const wideRows = 48
/** Rows that are all numbers, for as many pages. */
const narrowRows = 1500

const place = 'kind, priority, due_at, ref, series, turn, begun, retrying, planned, recovery, gate, granted'
const noPlace = '0, 0, 0, -i, 0, 0, false, false, false, false, false, 0'

const fillers: Readonly<Record<string, Filler>> = {
  ready: { columns: place, values: noPlace, rows: narrowRows },
  waiting: { columns: `${place}, reason, key`, values: `${noPlace}, 'pause', ${wide}`, rows: wideRows },
  limit_key: { columns: 'key, used', values: `${wide}, 0`, rows: wideRows },
  release: { columns: 'key, free_at, slots', values: `${wide}, 0, 0`, rows: wideRows },
  live_key: { columns: 'series, key, ref', values: `0, ${wide}, -i`, rows: wideRows },
  occurrence: {
    columns: 'ref, scheduled_at, created_at, id, series, form, payload',
    values: `-i, 0, 0, md5(i::text)::uuid, 0, 0, ${wide}`,
    rows: wideRows,
  },
  turn: {
    columns: 'ref, ended_at, due_at, turn, series, "end", result',
    values: `-i, 0, 0, 0, 0, 'completed', ${wide}`,
    rows: wideRows,
  },
}

/** Statements that give new tables their first pages. */
export const firstPages: readonly string[] = Object.entries(fillers).flatMap(([table, { columns, values, rows }]) => [
  `ALTER TABLE punctual.${table} SET (vacuum_truncate = off)`,
  `INSERT INTO punctual.${table} (${columns}) SELECT ${values} FROM generate_series(1, ${rows}) i`,
  `DELETE FROM punctual.${table}`,
])
