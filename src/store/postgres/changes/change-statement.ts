// The parts of the one statement that writes changes: each inserts or deletes rows of one table. Only parts that have rows are in
// the text, and the texts are few, so their plans are kept.
import { columnOf } from '../connection/arrays.ts'
import { each } from '../connection/by-key.ts'
import { liveColumns } from '../schema/live-columns.ts'
import { deltaColumns } from './counts.ts'

export type Value = string | number | boolean | null

/** The columns of a batch and their types, in order. */
export type Columns = Readonly<Record<string, string>>

interface Part {
  readonly columns: Columns
  /** Columns that are sent once when all rows have the same value in them. */
  readonly common?: readonly string[]
  /** `rows`: the batch as a table with these columns; `where` begins a condition. */
  readonly sql: (rows: string, where: string) => string
}

/** `values`: columns whose values are not those of the batch as they are. The batch may have columns that are no columns of the table. */
const insert = (
  table: string,
  columns: Columns,
  {
    onConflict = '',
    values = {},
    common = [],
  }: { onConflict?: string; values?: Readonly<Record<string, string>>; common?: readonly string[] } = {},
): Part => {
  const written = Object.keys({ ...columns, ...values }).filter((name) => !name.endsWith('_in'))
  const quoted = (name: string) => (name === 'end' ? '"end"' : name)
  const selected = written.map((name) => values[name] ?? `b.${quoted(name)}`).join(', ')
  return {
    columns,
    common,
    sql: (rows, where) =>
      `INSERT INTO punctual.${table} (${written.map(quoted).join(', ')}) SELECT ${selected} FROM t, ${rows} ${where} ${onConflict}`,
  }
}

const deleteByRef = (table: string): Part => ({
  columns: { ref: 'bigint' },
  sql: (rows, where) => `DELETE FROM punctual.${table} WHERE ref = ANY(ARRAY(SELECT ref FROM ${rows} ${where}))`,
})

/** Due at an instant, or so long from the store's now. */
const readyColumns: Columns = { ...liveColumns, due_in: 'float8' }

const turnColumns: Columns = {
  ref: 'bigint',
  turn: 'int',
  series: 'int',
  due_at: 'float8',
  end: 'punctual.turn_end',
  node: 'text',
  started_at: 'float8',
  ended_at: 'float8',
  attempt: 'punctual.attempt_state',
  settings: 'text',
  tasks: 'text',
  reason: 'text',
  error: 'text',
  result: 'text',
  is_published: 'boolean',
}

export const attemptColumns: Columns = {
  ref: 'bigint',
  turn: 'int',
  task: 'text',
  n: 'int',
  state: 'punctual.attempt_state',
  started_at: 'float8',
  ended_at: 'float8',
  retry_at: 'float8',
  error: 'text',
  result: 'text',
}

export const logColumns: Columns = { ref: 'bigint', turn: 'int', task: 'text', n: 'int', text: 'text' }
export const replaceLog = 'ON CONFLICT (ref, turn, task, n) DO UPDATE SET text = excluded.text'

const noteColumns = { ref: 'bigint', kind: 'int', node: 'text', free_in: 'float8' }
const liveKeyColumns = { series: 'int', key: 'text', ref: 'bigint' }

const parts = {
  turns: insert('turn', turnColumns, {
    common: ['turn', 'series', 'due_at', 'end', 'node', 'started_at', 'ended_at', 'attempt', 'is_published'],
  }),
  attempts: insert('attempt', attemptColumns, { onConflict: 'ON CONFLICT DO NOTHING' }),
  logs: insert('log', logColumns, { onConflict: replaceLog }),
  ready: insert('ready', readyColumns, { values: { due_at: 'coalesce(b.due_at, t.now + b.due_in)' } }),
  waiting: insert('waiting', { ...liveColumns, reason: 'punctual.wait_reason', key: 'text', wake_at: 'float8' }),
  releases: insert('release', { key: 'text', slots: 'smallint' }, { values: { free_at: 't.now' } }),
  dead: insert(
    'dead',
    { series: 'int', ref: 'bigint', cause: 'text', died_at: 'float8' },
    {
      values: { tenant: '(SELECT s.tenant FROM punctual.series s WHERE s.ref = b.series)' },
      onConflict: 'ON CONFLICT DO NOTHING',
    },
  ),
  liveKeys: insert('live_key', liveKeyColumns, { onConflict: 'ON CONFLICT DO NOTHING' }),
  freedKeys: {
    columns: liveKeyColumns,
    sql: (rows, where) =>
      `DELETE FROM punctual.live_key WHERE ctid = ANY(ARRAY(
      SELECT l.ctid FROM ${rows} CROSS JOIN ${each('live_key i', 'i.series = b.series AND i.key = b.key AND i.ref = b.ref', { columns: 'ctid' })} l ${where}))`,
  },
  deltas: insert('count_delta', deltaColumns),
  notes: insert('hook_note', noteColumns, {
    values: { free_at: 't.now + b.free_in' },
    onConflict: 'ON CONFLICT (ref) DO UPDATE SET kind = excluded.kind, node = excluded.node, free_at = excluded.free_at',
  }),
  unnotes: deleteByRef('hook_note'),
  /** Rates that a start which did not happen takes no part in. */
  rates: {
    columns: { ref: 'bigint' },
    sql: (rows, where) =>
      `UPDATE punctual.release SET free_at = t.now, ref = NULL FROM t WHERE release.ref = ANY(ARRAY(SELECT ref FROM ${rows} ${where}))`,
  },
  claims: {
    columns: { id: 'text' },
    sql: (rows, where) => `DELETE FROM punctual.claim WHERE id = ANY(ARRAY(SELECT id FROM ${rows} ${where}))`,
  },
  removed: deleteByRef('occurrence'),
} satisfies Record<string, Part>

export type PartName = keyof typeof parts
export type Batch = ReadonlyMap<PartName, readonly (readonly Value[])[]>

const partNames = Object.keys(parts) as PartName[]
const texts = new Map<string, string>()

export interface ChangeStatement {
  readonly sql: string
  readonly values: readonly Value[]
}

/** Common tables before the parts, a condition that all parts are written under, and values beside the time, which is the first. */
export interface Guard {
  readonly name: string
  readonly with: string
  readonly where: string
  readonly values: readonly Value[]
}

/** One statement that writes a batch at the store's time `now` and answers with the columns of `select`. */
export function changeStatement(now: number | null, batch: Batch, select: string, guard: Guard | null = null): ChangeStatement {
  const used = partNames.filter((name) => (batch.get(name)?.length ?? 0) > 0)
  const name = JSON.stringify([used, select, guard?.name])
  let sql = texts.get(name)
  if (sql === undefined) {
    sql = textOf(used, select, guard)
    texts.set(name, sql)
  }
  const values = used.flatMap((part) => valuesOf(parts[part], batch.get(part) as Rows))
  return { sql, values: [now, ...(guard?.values ?? []), ...values] }
}

type Rows = readonly (readonly Value[])[]

/** The arrays of a part, in place of each common one that holds a single value NULL and this value. */
function valuesOf({ columns, common = [] }: Part, rows: Rows): Value[] {
  return Object.keys(columns).flatMap((name, at): Value[] => {
    if (!common.includes(name)) return [columnOf(rows, at)]
    const first = (rows[0] as readonly Value[])[at] as Value
    return rows.every((row) => row[at] === first) ? [null, first] : [columnOf(rows, at), null]
  })
}

function textOf(used: readonly PartName[], select: string, guard: Guard | null): string {
  let next = (guard?.values.length ?? 0) + 2
  const where = guard ? `WHERE ${guard.where}` : ''
  const tables = used.map((name) => {
    const { columns, common = [], sql } = parts[name] as Part
    const arrays: string[] = []
    const values = Object.entries(columns).map(([one, type]) => {
      arrays.push(`unnest($${next++}::${type}[]) AS "${one}"`)
      return common.includes(one) ? `coalesce(a."${one}", $${next++}::${type}) AS "${one}"` : `a."${one}"`
    })
    return `${name} AS (${sql(`(SELECT ${values.join(', ')} FROM (SELECT ${arrays.join(', ')}) a) b`, where)})`
  })
  const clock = 't AS MATERIALIZED (SELECT coalesce($1::float8, punctual.now_ms()) AS now)'
  return `WITH ${[clock, ...(guard ? [guard.with] : []), ...tables].join(',\n  ')}
  SELECT ${select}`
}
