// Many rows in one statement: each column is an array, and `unnest` lays them side by side.
import { column } from './arrays.ts'
import { each } from './by-key.ts'
import type { Session } from './database.ts'
import type { Slice } from './slice.ts'

export type Value = string | number | boolean | null

/** The columns of a batch and their types, in order. */
export type Columns = Readonly<Record<string, string>>

/** Inserts rows, each an array in the order of `columns`. */
export async function insertRows(
  session: Session,
  table: string,
  columns: Columns,
  rows: readonly (readonly Value[])[],
  onConflict = '',
): Promise<void> {
  if (rows.length > 0) await session.all(insertText(table, columns, onConflict), arrays(columns, rows))
}

/** The same for rows some of which may be there already; returns how many were not. */
export async function insertMissing(
  session: Session,
  table: string,
  columns: Columns,
  rows: readonly (readonly Value[])[],
): Promise<number> {
  if (rows.length === 0) return 0
  const text = insertText(table, columns, 'ON CONFLICT DO NOTHING RETURNING 1 AS one')
  return (await session.all(text, arrays(columns, rows))).length
}

function insertText(table: string, columns: Columns, rest: string): string {
  const names = Object.keys(columns).map((name) => (name === 'end' ? '"end"' : name))
  return `INSERT INTO punctual.${table} (${names.join(', ')}) SELECT * FROM ${unnested(columns)} ${rest}`
}

/** Deletes the rows that have these values in these columns. */
export async function deleteRows(
  { session, context }: Pick<Slice, 'session' | 'context'>,
  table: string,
  columns: Columns,
  rows: readonly (readonly Value[])[],
): Promise<void> {
  if (rows.length === 0) return
  const names = Object.keys(columns)
  const keys = `${unnested(columns)} k (${names.join(', ')})`
  const isSame = names.map((name) => `t.${name} = k.${name}`).join(' AND ')
  // By the place of the row where that is known to be: else the server may look at each row of the table for each key.
  const text = context.isCompat
    ? `DELETE FROM punctual.${table} t USING ${keys} WHERE ${isSame}`
    : `DELETE FROM punctual.${table} WHERE ctid = ANY(ARRAY(
        SELECT t.ctid FROM ${keys} CROSS JOIN ${each(`${table} t`, isSame, { columns: 'ctid' })} t))`
  await session.all(text, arrays(columns, rows))
}

/** The columns side by side, as the values of a statement from the `first` on. */
export function unnested(columns: Columns, first = 1): string {
  return `unnest(${Object.values(columns)
    .map((type, at) => `$${at + first}::${type}[]`)
    .join(', ')})`
}

export function arrays(columns: Columns, rows: readonly (readonly Value[])[]): (string | null)[] {
  return Object.keys(columns).map((_, at) => column(rows.map((row) => row[at] as Value)))
}
