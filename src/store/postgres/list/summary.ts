// Lines of lists.
import type { OccurrenceState } from '../../../model/lifecycle.ts'
import type { OccurrenceSummary } from '../../../model/occurrence.ts'
import { fromJson } from '../../rules/sql/json.ts'
import { summaryOf } from '../../rules/summary.ts'
import { column } from '../connection/arrays.ts'
import type { Session } from '../connection/session.ts'
import type { Names } from '../names/names.ts'
import { currentRows, currentState } from '../occurrence/current-rows.ts'

interface SummaryRow {
  readonly ref: number
  readonly id: string
  readonly series: number
  readonly key: string | null
  readonly entity: string | null
  readonly parent: string | null
  readonly form: number
  readonly scheduled_at: number
  readonly created_at: number
  readonly state: OccurrenceState
  readonly turn: number | null
  readonly due_at: number | null
  readonly last_turn: number | null
  readonly started_at: number | null
  readonly ended_at: number | null
  readonly error: string | null
  readonly reason: string | null
  readonly cause: string | null
}

const selectSummaries = `SELECT o.ref, o.id, o.series, o.key, o.entity, o.parent, o.form, o.scheduled_at, o.created_at,
    ${currentState} AS state, coalesce(r.turn, w.turn) AS turn, coalesce(r.due_at, w.due_at, t.due_at) AS due_at,
    t.turn AS last_turn, t.started_at, t.ended_at, t.error, t.reason, d.cause
  FROM punctual.occurrence o ${currentRows} WHERE o.ref = ANY($1::bigint[])`

// Only the newest claim of a member can be unended.
const selectDues = `SELECT m.ref, m.due_at FROM punctual.claim c CROSS JOIN LATERAL unnest(c.refs, c.dues) m (ref, due_at)
  WHERE m.ref = ANY($1::bigint[]) ORDER BY c.seq`

/** The lines of these handles. */
export async function readSummaries(
  session: Session,
  names: Names,
  refs: readonly number[],
): Promise<ReadonlyMap<number, OccurrenceSummary>> {
  if (refs.length === 0) return new Map()
  const rows = await session.rows<SummaryRow>(selectSummaries, [column(refs)])
  const running = rows.filter(({ state }) => state === 'running').map(({ ref }) => ref)
  const [dues] = await Promise.all([
    running.length === 0 ? [] : session.rows<{ ref: number; due_at: number }>(selectDues, [column(running)]),
    names.learnOf(session, rows),
  ])
  const held = new Map(dues.map(({ ref, due_at }) => [ref, due_at]))
  return new Map(rows.map((row) => [row.ref, summary(names, row, held)]))
}

function summary(names: Names, row: SummaryRow, held: ReadonlyMap<number, number>): OccurrenceSummary {
  const { ref, state, scheduled_at: scheduledAt, created_at: createdAt, started_at: startedAt, ended_at: endedAt } = row
  const isRunning = state === 'running'
  return summaryOf({
    record: { ...row, ...names.seriesByRef(row.series), ...names.formByRef(row.form), scheduledAt, createdAt },
    state,
    turn: row.turn ?? (row.last_turn ?? 0) + (isRunning ? 1 : 0),
    dueAt: (isRunning ? held.get(ref) : row.due_at) ?? scheduledAt,
    last: endedAt === null ? null : { startedAt, endedAt, error: fromJson(row.error), reason: row.reason },
    cause: row.cause,
  })
}
