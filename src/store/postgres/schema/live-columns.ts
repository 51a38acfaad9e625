/** The columns that rows of `ready` and `waiting` share, and their types. */
export const liveColumns = {
  kind: 'int',
  priority: 'smallint',
  due_at: 'float8',
  ref: 'bigint',
  series: 'int',
  turn: 'int',
  begun: 'boolean',
  retrying: 'boolean',
  planned: 'boolean',
  recovery: 'boolean',
  gate: 'boolean',
  granted: 'smallint',
  expires_at: 'float8',
  limits: 'jsonb',
} as const
type Column = keyof typeof liveColumns
const columns = Object.keys(liveColumns) as Column[]

export const names = columns.join(', ')

/** The columns of a place, some of them changed. */
export const liveColumnsOf = (row: string, changed: Partial<Record<Column, string>> = {}) =>
  columns.map((name) => changed[name] ?? `${row}.${name}`).join(', ')

export const liveRowOf = (row: string, changed: Partial<Record<Column, string>> = {}) =>
  `ROW(${liveColumnsOf(row, changed)})::punctual.ready`
