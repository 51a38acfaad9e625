// Lines of lists.
import { isEnd, type OccurrenceState, type Source, stateAfter, turnEnds } from '../../model/lifecycle.ts'
import type { OccurrenceSummary } from '../../model/occurrence.ts'
import { fromJson } from '../rows/json.ts'
import { column } from './arrays.ts'
import type { Session } from './database.ts'
import type { Dictionary } from './dictionary.ts'

/** Where an occurrence `o` stands: the rows that it may have in other tables, of its turns only the last. */
export const standing = `LEFT JOIN punctual.ready r ON r.series = o.series AND r.ref = o.ref
  LEFT JOIN punctual.waiting w ON w.series = o.series AND w.ref = o.ref
  LEFT JOIN punctual.dead d ON d.series = o.series AND d.ref = o.ref
  LEFT JOIN LATERAL (
    SELECT i.turn, i."end", i.started_at, i.ended_at, i.due_at, i.error FROM punctual.turn i
    WHERE i.ref = o.ref ORDER BY i.turn DESC LIMIT 1
  ) t ON true`

const lastEnds = turnEnds.filter((end) => isEnd(stateAfter[end])).map((end) => `'${end}'`)

/** The state of an occurrence, by its `standing`. */
export const stateOfStanding = `CASE WHEN r.retrying THEN 'retrying' WHEN r.ref IS NOT NULL THEN 'pending'
    WHEN w.ref IS NOT NULL THEN 'waiting' WHEN d.ref IS NOT NULL THEN 'dead'
    WHEN t."end" IN (${lastEnds.join(', ')}) THEN t."end"::text ELSE 'running' END`

type SummaryRow = [
  ref: number,
  id: string,
  series: number,
  key: string | null,
  entity: string | null,
  source: Source,
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

const selectSummaries = `SELECT o.ref, o.id, o.series, o.key, o.entity, o.source, o.scheduled_at, o.created_at,
    ${stateOfStanding} AS state, coalesce(r.turn, w.turn) AS turn, coalesce(r.due_at, w.due_at, t.due_at) AS due_at,
    t.turn AS last_turn, t.started_at, t.ended_at, t.error
  FROM punctual.occurrence o ${standing} WHERE o.ref = ANY($1::bigint[]) ORDER BY o.ref DESC`

// Only the newest claim of a member can be standing.
const selectDues = `SELECT m.ref, m.due_at FROM punctual.claim c CROSS JOIN LATERAL unnest(c.refs, c.dues) m (ref, due_at)
  WHERE m.ref = ANY($1::bigint[]) ORDER BY c.seq`

/** The lines of these handles, the newest first. */
export async function readSummaries(
  session: Session,
  dictionary: Dictionary,
  refs: readonly number[],
): Promise<OccurrenceSummary[]> {
  if (refs.length === 0) return []
  const rows = await session.all<SummaryRow>(selectSummaries, [column(refs)])
  const running = rows.filter(({ 8: state }) => state === 'running').map(([ref]) => ref)
  const [dues] = await Promise.all([
    running.length === 0 ? [] : session.all<[ref: number, dueAt: number]>(selectDues, [column(running)]),
    dictionary.learn(session, { series: rows.map((row) => row[2]) }),
  ])
  const held = new Map(dues)
  return rows.map((row) => summary(dictionary, row, held))
}

function summary(dictionary: Dictionary, row: SummaryRow, held: ReadonlyMap<number, number>): OccurrenceSummary {
  const [ref, id, series, key, entity, source, scheduledAt, createdAt, state, turn, dueAt, lastTurn, startedAt, endedAt, error] =
    row
  const { tenant, job } = dictionary.seriesByRef(series)
  const isRunning = state === 'running'
  const isOver = state === 'dead' || isEnd(state)
  return {
    id,
    tenant,
    job,
    key,
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
