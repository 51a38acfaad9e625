// Occurrences that do not run, taken out of `ready` and `waiting` so they can be put elsewhere.

import type { OccurrenceRecord } from '../../../model/occurrence.ts'
import type { OccurrenceRow } from '../../rules/sql/occurrence-row.ts'
import { Changes, type Moving } from '../changes/changes.ts'
import { column } from '../connection/arrays.ts'
import { each } from '../connection/by-key.ts'
import type { Session } from '../connection/session.ts'
import type { Context } from '../context.ts'
import { occurrenceColumns, occurrenceRecord } from './record.ts'

export interface Idle extends Moving {
  readonly record: OccurrenceRecord
  /** Whether it is shown as retrying while it is ready. */
  readonly isRetrying: boolean
  /** Why it waited; null for one that was ready. */
  readonly wait: { readonly reason: string; readonly wakeAt: number | null } | null
}

interface IdleRow extends OccurrenceRow {
  readonly turn: number
  readonly due_at: number
  readonly begun: boolean
  readonly retrying: boolean
  readonly granted: number
  readonly reason: string | null
  readonly line: string | null
  readonly wake_at: number | null
}

const removed = 'RETURNING p.series, p.ref, p.turn, p.due_at, p.begun, p.retrying, p.granted'

const isIn = (table: string) =>
  `p.ctid = ANY(ARRAY(SELECT i.ctid FROM k CROSS JOIN ${each(`${table} t`, 't.series = k.series AND t.ref = k.ref', { columns: 'ctid', lock: 'FOR UPDATE' })} i))`

/** The statement that takes idle rows out. `from`: what finds them, as a table `k` with series and ref. */
const takeRows = (found: string) => `WITH k AS MATERIALIZED (${found}),
  r AS (DELETE FROM punctual.ready p WHERE ${isIn('ready')} ${removed}, NULL::text AS reason, NULL::text AS line, NULL::float8 AS wake_at),
  w AS (DELETE FROM punctual.waiting p WHERE ${isIn('waiting')} ${removed}, p.reason::text, p.key, p.wake_at)
  SELECT ${occurrenceColumns}, i.turn, i.due_at, i.begun, i.retrying, i.granted, i.reason, i.line, i.wake_at
  FROM (SELECT * FROM r UNION ALL SELECT * FROM w) i CROSS JOIN LATERAL (SELECT * FROM punctual.occurrence WHERE ref = i.ref OFFSET 0) o
  ORDER BY o.ref`

const takeByRef = takeRows(
  `SELECT o.series, o.ref FROM unnest($1::bigint[]) u (ref) CROSS JOIN ${each('occurrence e', 'e.ref = u.ref')} o ORDER BY o.ref`,
)

/** Those of the occurrences that do not run. The caller puts each of them somewhere, in the same transaction. */
export async function takeIdle(context: Context, session: Session, refs: readonly number[]): Promise<Idle[]> {
  if (refs.length === 0) return []
  return idleOf(context, session, await session.rows<IdleRow>(takeByRef, [column(refs)]))
}

/** The same for rows that a condition on `p`, a row of ready or waiting, finds. */
export async function takeIdleWhere(
  context: Context,
  session: Session,
  where: string,
  values: readonly unknown[] = [],
  tables: readonly ('ready' | 'waiting')[] = ['ready', 'waiting'],
): Promise<Idle[]> {
  const found = tables.map((table) => `SELECT p.series, p.ref FROM punctual.${table} p WHERE ${where}`).join(' UNION ALL ')
  return idleOf(context, session, await session.rows<IdleRow>(takeRows(found), values))
}

/** Takes back what such rows were granted: they come to the door again. Returns whether someone waits for one of the keys. */
export async function takeGrantsBack(
  context: Context,
  session: Session,
  now: number,
  ...found: [where: string, values: readonly unknown[], tables?: Parameters<typeof takeIdleWhere>[4]]
): Promise<boolean> {
  const changes = new Changes(now)
  for (const idle of await takeIdleWhere(context, session, ...found)) changes.takeGrantBack(idle, idle.isRetrying)
  return changes.write(session)
}

async function idleOf({ names }: Context, session: Session, rows: readonly IdleRow[]): Promise<Idle[]> {
  await names.learnOf(session, rows)
  return rows.map((row) => {
    const { ref, series, turn, granted, line, reason } = row
    const wait = reason === null ? null : { reason, wakeAt: row.wake_at }
    return {
      ...{ ref, series, turn, granted, line, wait },
      kind: names.formByRef(row.form).kindRef,
      record: occurrenceRecord(names, row),
      dueAt: row.due_at,
      hasBegun: row.begun,
      isRetrying: row.retrying,
      state: wait ? 'waiting' : row.retrying ? 'retrying' : 'pending',
    }
  })
}
