// The columns that rows of `ready` and `waiting` share, in functions of the server.
const columns = [
  'kind',
  'priority',
  'due_at',
  'ref',
  'series',
  'turn',
  'begun',
  'retrying',
  'planned',
  'recovery',
  'gate',
  'granted',
  'expires_at',
  'limits',
] as const
type Column = (typeof columns)[number]

export const names = columns.join(', ')

/** The columns of a place, some of them changed. */
export const placeOf = (row: string, changed: Partial<Record<Column, string>> = {}) =>
  columns.map((name) => changed[name] ?? `${row}.${name}`).join(', ')

export const rowOf = (row: string, changed: Partial<Record<Column, string>> = {}) =>
  `ROW(${placeOf(row, changed)})::punctual.ready`
