// Lines of lists.
import { isEnd, type OccurrenceState } from '../../../model/lifecycle.ts'
import type { OccurrenceSummary } from '../../../model/occurrence.ts'
import { column } from '../connection/arrays.ts'
import type { Session } from '../connection/session.ts'
import type { Names } from '../names/names.ts'
import { standing, stateOfStanding } from '../occurrence/standing.ts'
import { fromJson } from '../rows/json.ts'

type SummaryRow = [
  ref: number,
  id: string,
  series: number,
  key: string | null,
  entity: string | null,
  form: number,
  scheduledAt: number,
  createdAt: number,
  state: OccurrenceState,
  turn: number | null,
  dueAt: number | null,
  lastTurn: number | null,
  startedAt: number | null,
  endedAt: number | null,
  error: string | null,
]

const selectSummaries = `SELECT o.ref, o.id, o.series, o.key, o.entity, o.form, o.scheduled_at, o.created_at,
    ${stateOfStanding} AS state, coalesce(r.turn, w.turn) AS turn, coalesce(r.due_at, w.due_at, t.due_at) AS due_at,
    t.turn AS last_turn, t.started_at, t.ended_at, t.error
  FROM punctual.occurrence o ${standing} WHERE o.ref = ANY($1::bigint[]) ORDER BY o.ref DESC`

// Only the newest claim of a member can be standing.
const selectDues = `SELECT m.ref, m.due_at FROM punctual.claim c CROSS JOIN LATERAL unnest(c.refs, c.dues) m (ref, due_at)
  WHERE m.ref = ANY($1::bigint[]) ORDER BY c.seq`

/** The lines of these handles, the newest first. */
export async function readSummaries(session: Session, names: Names, refs: readonly number[]): Promise<OccurrenceSummary[]> {
  if (refs.length === 0) return []
  const rows = await session.all<SummaryRow>(selectSummaries, [column(refs)])
  const running = rows.filter(({ 8: state }) => state === 'running').map(([ref]) => ref)
  const [dues] = await Promise.all([
    running.length === 0 ? [] : session.all<[ref: number, dueAt: number]>(selectDues, [column(running)]),
    names.learn(session, { series: rows.map((row) => row[2]), forms: rows.map((row) => row[5]) }),
  ])
  const held = new Map(dues)
  return rows.map((row) => summary(names, row, held))
}

function summary(names: Names, row: SummaryRow, held: ReadonlyMap<number, number>): OccurrenceSummary {
  const [ref, id, series, key, entity, form, scheduledAt, createdAt, state, turn, dueAt, lastTurn, startedAt, endedAt, error] =
    row
  const { tenant, job } = names.seriesByRef(series)
  const { source, unique } = names.formByRef(form)
  const isRunning = state === 'running'
  const isOver = state === 'dead' || isEnd(state)
  return {
    id,
    tenant,
    job,
    key,
    unique,
    entity,
    source,
    state,
    turn: turn ?? (lastTurn ?? 0) + (isRunning ? 1 : 0),
    scheduledAt,
    dueAt: (isRunning ? held.get(ref) : dueAt) ?? scheduledAt,
    createdAt,
    startedAt,
    endedAt: isOver ? endedAt : null,
    error: fromJson(error),
  }
}
