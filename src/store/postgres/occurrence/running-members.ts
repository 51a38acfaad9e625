// Members of claims whose turns have not ended, for those who end them in the node's place.

import type { OccurrenceRecord, TurnRecord } from '../../../model/occurrence.ts'
import { mayHaveBegun } from '../../../model/turn.ts'
import type { OccurrenceRow } from '../../rules/sql/occurrence-row.ts'
import type { Moving } from '../changes/changes.ts'
import { column } from '../connection/arrays.ts'
import { each, endOf, lacks } from '../connection/by-key.ts'
import type { Session } from '../connection/session.ts'
import type { Context } from '../context.ts'
import { noHistory, readHistories } from './history.ts'
import { occurrenceColumns, occurrenceRecord } from './record.ts'

export interface RunningMember extends Moving {
  readonly record: OccurrenceRecord
  readonly claim: string
  readonly node: string
  readonly turns: readonly TurnRecord[]
  /** When its handler began, where that was recorded. */
  readonly startedAt: number | null
  /** A cancel that was requested in this turn. */
  readonly cancel: { readonly reason: string | null } | null
}

interface Row extends OccurrenceRow {
  readonly turn: number
  readonly due_at: number
  readonly claim: string
  readonly node: string
  readonly started_at: number | null
  readonly is_canceled: boolean
  readonly reason: string | null
}

/** The members of claims that the caller has locked. `refs`: only these. */
export async function readRunning(
  { names }: Context,
  session: Session,
  claims: readonly string[],
  refs: readonly number[] | null = null,
): Promise<RunningMember[]> {
  if (claims.length === 0) return []
  const rows = await session.rows<Row>(
    `SELECT ${occurrenceColumns}, m.turn, m.due_at, c.id AS claim, c.node, s.started_at, q.ref IS NOT NULL AS is_canceled, q.reason
      FROM punctual.claim c CROSS JOIN LATERAL unnest(c.refs, c.turns, c.dues) m (ref, turn, due_at)
      CROSS JOIN ${each('occurrence i', 'i.ref = m.ref')} o
      LEFT JOIN ${each('start', endOf('m'))} s ON true LEFT JOIN ${each('cancel_request', endOf('m'))} q ON true
      WHERE c.id = ANY($1::text[]) AND ($2::bigint[] IS NULL OR m.ref = ANY($2::bigint[])) AND ${lacks('turn', endOf('m'))}
      ORDER BY c.seq, m.ref`,
    [column(claims), refs && column(refs)],
  )
  await names.learnOf(session, rows)
  const histories = await readHistories(
    session,
    rows.map(({ ref }) => ref),
  )
  return rows.map((row) => {
    const { ref, series, turn, claim, node, reason } = row
    const record = occurrenceRecord(names, row)
    const { turns } = histories.get(ref) ?? noHistory
    return {
      ...{ ref, series, record, turn, claim, node, turns },
      dueAt: row.due_at,
      startedAt: row.started_at,
      kind: names.formByRef(row.form).kindRef,
      cancel: row.is_canceled ? { reason } : null,
      hasBegun: turns.some(mayHaveBegun),
      granted: record.limits?.length ?? 0,
      state: 'running',
      line: null,
    }
  })
}

/** How many occurrences run in the whole cluster. */
export const countRunning = `SELECT count(*) AS running FROM punctual.claim a CROSS JOIN LATERAL unnest(a.refs, a.turns) m (ref, turn)
  WHERE ${lacks('turn', endOf('m'))}`
