// Where an occurrence stands, read off the tables that it is in.
import { isEnd, type OccurrenceState, stateAfter, type TurnEnd } from '../../model/lifecycle.ts'
import type { OccurrenceRecord, WaitRecord } from '../../model/occurrence.ts'
import type { ErrorRecord } from '../../model/report.ts'
import { fromJson } from '../rows/json.ts'
import { type OccurrenceRow, occurrenceColumns, occurrenceRecord } from '../rows/occurrence-row.ts'
import type { Holders } from './claims.ts'
import type { Member } from './place.ts'
import type { Transaction } from './transaction.ts'

export interface Standing extends Member {
  readonly record: OccurrenceRecord
  readonly state: OccurrenceState
  /** `claimed`: its `dueAt` here is its first; `heldDue` has the last. */
  readonly place: 'ready' | 'waiting' | 'claimed' | 'ended'
  /** Whether it is between two tries, also while it waits. */
  readonly isRetrying: boolean
  /** Why it waits, while it does. */
  readonly wait: WaitRecord | null
  /** The end of the turn before, or of the last one. */
  readonly last: LastTurn | null
}

interface LastTurn {
  readonly end: TurnEnd
  readonly startedAt: number | null
  readonly endedAt: number
  readonly error: ErrorRecord | null
}

export type Where = 'o.id = ?' | 'o.ref = ?' | 'o.series = ? AND o.key = ?' | 'o.series = ? AND o.entity = ?'

type StandingRow = [
  ...OccurrenceRow,
  readyTurn: number | null,
  readyDue: number | null,
  retrying: number | null,
  waitingTurn: number | null,
  waitingDue: number | null,
  waitingRetrying: number | null,
  reason: WaitRecord['reason'] | null,
  waitingKey: string | null,
  wakeAt: number | null,
  isDead: number,
  turn: number | null,
  end: TurnEnd | null,
  startedAt: number | null,
  endedAt: number | null,
  due: number | null,
  error: string | null,
]

const selectStanding = `SELECT ${occurrenceColumns}, r.turn, r.due_at, r.retrying, w.turn, w.due_at, w.retrying, w.reason, w.key, w.wake_at,
    d.ref IS NOT NULL,
    t.turn, t.end, t.started_at, t.ended_at, t.due_at, t.error
  FROM punctual_occurrence o
  LEFT JOIN punctual_ready r ON r.series = o.series AND r.ref = o.ref
  LEFT JOIN punctual_waiting w ON w.series = o.series AND w.ref = o.ref
  LEFT JOIN punctual_dead d ON d.series = o.series AND d.ref = o.ref
  LEFT JOIN punctual_turn t ON t.series = o.series AND t.ref = o.ref
    AND t.turn = (SELECT max(turn) FROM punctual_turn l WHERE l.series = o.series AND l.ref = o.ref)`

/** The occurrences that meet a condition, the oldest first. */
export function standings(tx: Transaction, where: Where, ...values: (string | number)[]): Standing[] {
  return tx.all<StandingRow>(`${selectStanding} WHERE ${where} ORDER BY o.ref`, ...values).map((row) => standing(tx, row))
}

function standing(tx: Transaction, row: StandingRow): Standing {
  const [ref, , series, kind, , source, key, unique, , , , priority, holds, , , startWithinMs, firstDueAt] = row
  const [readyTurn, readyDue, readyRetrying, waitingTurn, waitingDue, waitingRetrying, reason, waitingKey, wakeAt, ...ended] =
    row.slice(19) as StandingTail
  const [isDead, lastTurn, end, startedAt, endedAt, lastDue, error] = ended
  const member = {
    ref,
    series,
    kind,
    priority,
    firstDueAt,
    isPlanned: source === 'schedule' || source === 'recovery',
    liveKey: unique === 'live' ? key : null,
    startWithinMs,
    hasHolds: holds !== null,
  }
  const last = end === null ? null : { end, startedAt, endedAt: endedAt as number, error: fromJson<ErrorRecord>(error) }
  const isRetrying = (readyRetrying ?? waitingRetrying) === 1
  const wait = reason === null ? null : { reason, key: waitingKey, wakeAt }
  const common = { ...member, record: occurrenceRecord(tx.dictionary, row), isRetrying, wait, last }
  if (readyTurn !== null)
    return { ...common, place: 'ready', state: isRetrying ? 'retrying' : 'pending', turn: readyTurn, dueAt: readyDue as number }
  if (waitingTurn !== null)
    return { ...common, place: 'waiting', state: 'waiting', turn: waitingTurn, dueAt: waitingDue as number }
  if (last && (isDead || isEnd(stateAfter[last.end]))) {
    return { ...common, place: 'ended', state: stateAfter[last.end], turn: lastTurn as number, dueAt: lastDue ?? firstDueAt }
  }
  return { ...common, place: 'claimed', state: 'running', turn: (lastTurn ?? 0) + 1, dueAt: firstDueAt }
}

/** The same one anew, when what was read may no longer be so. */
export function restanding(tx: Transaction, standing: Standing): Standing {
  return tx.stirred.length === 0 ? standing : (standings(tx, 'o.ref = ?', standing.ref)[0] as Standing)
}

/** When it is or was due; for what runs, only its claim knows. */
export function heldDue({ ref, place, dueAt }: Standing, held: Holders): number {
  return place === 'claimed' ? (held.get(ref)?.dueAt ?? dueAt) : dueAt
}

type StandingTail = StandingRow extends [...OccurrenceRow, ...infer Tail] ? Tail : never
