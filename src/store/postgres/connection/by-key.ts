// Rows that a statement finds by their keys, one look for each row it has so far. A plan is kept for as long as its connection, and
// of a table that was empty when it was last looked at the server believes that it still is: left to itself it may read all of the
// table for each key, or take the table first and compare. `OFFSET 0`, and a subquery that stands for a value, leave it no choice.

/** All rows of a table that meet `where`, to be joined: `CROSS JOIN ${each(…)} o`, or `LEFT JOIN ${each(…)} o ON true`. */
export function each(table: string, where: string, { columns = '*', lock = '' } = {}): string {
  return `LATERAL (SELECT ${columns} FROM punctual.${table} WHERE ${where} OFFSET 0 ${lock})`
}

/** Whether a table has no row that meets `where`. */
export function lacks(table: string, where: string): string {
  return `(SELECT true FROM punctual.${table} WHERE ${where} LIMIT 1) IS NULL`
}

/** The condition for the end row of the turn of `row`. */
export function endOf(row: string): string {
  return `ref = ${row}.ref AND turn = ${row}.turn`
}
