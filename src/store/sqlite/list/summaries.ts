// Lines of lists. Most are of work that has ended: these are read in one statement, which takes a third of the time of single reads.
import { isEnd, stateAfter } from '../../../model/lifecycle.ts'
import type { OccurrenceSummary, TurnRecord } from '../../../model/occurrence.ts'
import { fromJson } from '../../rules/sql/json.ts'
import { summaryOf } from '../../rules/summary.ts'
import type { Transaction } from '../connection/transaction.ts'
import { type Entry, type OccurrenceRow, readEntry, recordOf } from '../occurrence/entry.ts'

interface EndedRow extends OccurrenceRow {
  readonly turn: number
  readonly end: TurnRecord['end']
  readonly started_at: number | null
  readonly ended_at: number
  readonly due_at: number | null
  readonly error: string | null
  readonly reason: string | null
  readonly cause: string | null
}

const isNowhere = ['ready', 'arrival', 'waiting', 'aside']
  .map((table) => `NOT EXISTS (SELECT 1 FROM punctual_${table} w WHERE w.series = o.series AND w.ref = o.ref)`)
  .join(' AND ')

/** Without the payload, which no line shows and which may be large. */
const selectEnded = `SELECT o.ref, o.id, o.series, o.form, o.scheduled_at, o.created_at, o.key, o.live, o.entity, o.parent,
    NULL AS payload, NULL AS extra, t.turn, t.end, t.started_at, t.ended_at, t.due_at, t.error, t.reason, d.cause
  FROM json_each(?) k CROSS JOIN punctual_occurrence o ON o.ref = k.value
  CROSS JOIN punctual_turn t ON t.series = o.series AND t.ref = o.ref
    AND t.turn = (SELECT max(l.turn) FROM punctual_turn l WHERE l.series = o.series AND l.ref = o.ref)
  LEFT JOIN punctual_dead d ON d.series = o.series AND d.ref = o.ref
  WHERE ${isNowhere}`

/** The lines of these refs, in their order. */
export function summaries(tx: Transaction, refs: readonly number[]): OccurrenceSummary[] {
  const ended = new Map<number, OccurrenceSummary>()
  if (refs.length > 0)
    for (const row of tx.all<EndedRow>(selectEnded, JSON.stringify(refs))) {
      const summary = endedSummary(tx, row)
      if (summary) ended.set(row.ref, summary)
    }
  return refs.map((ref) => ended.get(ref) ?? summaryOf(readEntry(tx, ref) as Entry))
}

/** Null for work that goes on after this turn. */
function endedSummary(tx: Transaction, row: EndedRow): OccurrenceSummary | null {
  const state = stateAfter[row.end]
  if (row.cause === null && !isEnd(state)) return null
  const record = recordOf(tx, row)
  const { turn, started_at: startedAt, ended_at: endedAt, error, reason, cause } = row
  const last = { startedAt, endedAt, error: fromJson(error) as TurnRecord['error'], reason }
  return summaryOf({ record, state, turn, dueAt: row.due_at ?? record.scheduledAt, last, cause })
}
