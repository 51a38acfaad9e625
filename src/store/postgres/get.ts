import type { OccurrenceState } from '../../model/lifecycle.ts'
import type { AttemptLog, OccurrenceHistory, Progress, WaitRecord } from '../../model/occurrence.ts'
import type { OccurrenceRow } from '../rules/sql/occurrence-row.ts'
import type { Which } from '../store.ts'
import { each, endOf, lacks } from './connection/by-key.ts'
import type { Session } from './connection/session.ts'
import type { Context } from './context.ts'
import { findRef } from './find.ts'
import { currentRows, currentState } from './occurrence/current-rows.ts'
import { noHistory, readHistories } from './occurrence/history.ts'
import { occurrenceColumns, occurrenceRecord } from './occurrence/record.ts'

interface Row extends OccurrenceRow {
  readonly scheduled_at: number
  readonly state: OccurrenceState
  readonly due_at: number | null
  readonly reason: WaitRecord['reason'] | null
  readonly wait_key: string | null
  readonly wake_at: number | null
}

// Of a rate: when its next slot is free.
const selectOne = `SELECT ${occurrenceColumns}, ${currentState} AS state, coalesce(r.due_at, w.due_at, t.due_at) AS due_at,
    w.reason::text, w.key AS wait_key,
    CASE WHEN w.reason = 'rate' THEN (SELECT min(l.free_at) FROM punctual.release l WHERE l.key = w.key) ELSE w.wake_at END AS wake_at
  FROM punctual.occurrence o ${currentRows} WHERE o.ref = $1`

export async function get(context: Context, which: Which): Promise<OccurrenceHistory | null> {
  const { db, names } = context
  return db.snapshot(async (session) => {
    const ref = await findRef(session, which)
    if (ref === null) return null
    const [[row], histories, progress, logs] = await Promise.all([
      session.rows<Row>(selectOne, [ref]),
      readHistories(session, [ref]),
      readProgress(session, ref),
      session.rows<AttemptLog>('SELECT turn, task, n, text FROM punctual.log WHERE ref = $1 ORDER BY turn, task COLLATE "C", n', [
        ref,
      ]),
    ])
    if (!row) return null
    const { state, reason, wait_key: key, wake_at: wakeAt } = row
    await names.learnOf(session, [row])
    const claim = state === 'running' ? await readClaim(session, ref) : null
    return {
      record: occurrenceRecord(names, row),
      state,
      dueAt: claim?.due_at ?? row.due_at ?? row.scheduled_at,
      node: claim?.node ?? null,
      runningSince: claim?.started_at ?? null,
      ...(histories.get(ref) ?? noHistory),
      progress,
      logs,
      wait: reason && { reason, key, wakeAt },
      blockers: key === null || reason === 'rate' ? [] : await readBlockers(session, key),
    }
  })
}

async function readProgress(session: Session, ref: number): Promise<Progress | null> {
  const [row] = await session.rows<Progress>('SELECT task, done, message, at FROM punctual.progress WHERE ref = $1', [ref])
  return row ?? null
}

interface RunningClaim {
  readonly node: string
  readonly due_at: number
  readonly started_at: number | null
}

async function readClaim(session: Session, ref: number): Promise<RunningClaim | null> {
  const [row] = await session.rows<RunningClaim>(
    `SELECT c.node, m.due_at, (SELECT s.started_at FROM punctual.start s WHERE s.ref = m.ref AND s.turn = m.turn) AS started_at
      FROM punctual.claim c CROSS JOIN LATERAL unnest(c.refs, c.turns, c.dues) m (ref, turn, due_at)
      WHERE c.refs @> ARRAY[$1::bigint] AND m.ref = $1 AND ${lacks('turn', endOf('m'))} ORDER BY c.seq DESC LIMIT 1`,
    [ref],
  )
  return row ?? null
}

const mostBlockers = 10

const granted = (table: string) => `SELECT p.ref FROM punctual.${table} p
    CROSS JOIN LATERAL jsonb_array_elements(p.limits) WITH ORDINALITY l (value, at)
    WHERE p.granted > 0 AND l.at <= p.granted AND l.value ->> 'key' = $1`

/** Those that were granted a key: among them all that run and need it. */
const selectBlockers = `SELECT o.id FROM (
    ${granted('ready')} UNION ALL ${granted('waiting')}
    UNION ALL
    SELECT m.ref FROM punctual.claim c CROSS JOIN LATERAL unnest(c.refs, c.turns) m (ref, turn)
      CROSS JOIN ${each('occurrence e', 'e.ref = m.ref')} i JOIN punctual.form f ON f.ref = i.form
      WHERE ${lacks('turn', endOf('m'))}
        AND coalesce(i.extra::jsonb -> 'limits', f.limits::jsonb) @> jsonb_build_array(jsonb_build_object('key', $1::text))
  ) b CROSS JOIN ${each('occurrence e', 'e.ref = b.ref')} o ORDER BY o.ref LIMIT ${mostBlockers}`

async function readBlockers(session: Session, key: string): Promise<readonly string[]> {
  return (await session.rows<{ id: string }>(selectBlockers, [key])).map(({ id }) => id)
}
