// Occurrences as the ledger knows them, read off the tables that they are in.
import { isEnd, stateAfter } from '../../model/lifecycle.ts'
import type { WaitRecord } from '../../model/occurrence.ts'
import type { Entry } from '../ledger/ledger.ts'
import { type OccurrenceRow, occurrenceColumns, occurrenceRecord, occurrenceWidth } from '../rows/occurrence-row.ts'
import { type AttemptRow, attemptColumns, attemptRecord, type TurnRow, turnColumns, turnRecord } from '../rows/turn-row.ts'
import { column } from './arrays.ts'
import { each } from './by-key.ts'
import type { Session } from './database.ts'
import type { Dictionary } from './dictionary.ts'

/** An entry and what only its rows know. */
export interface Loaded {
  readonly entry: Entry
  readonly series: number
  readonly kind: number
  /** Its place among those that wait. */
  readonly waitSeq: number | null
}

type EntryRow = [
  ...OccurrenceRow,
  readyTurn: number | null,
  readyDue: number | null,
  waitingTurn: number | null,
  waitingDue: number | null,
  reason: WaitRecord['reason'] | null,
  waitingKey: string | null,
  wakeAt: number | null,
  waitSeq: number | null,
  isDead: boolean,
  startTurn: number | null,
  startedAt: number | null,
  deadlineAt: number | null,
  cancelTurn: number | null,
  cancelReason: string | null,
]
type EntryTail = EntryRow extends [...OccurrenceRow, ...infer Tail] ? Tail : never

const selectEntries = `SELECT ${occurrenceColumns}, r.turn AS ready_turn, r.due_at AS ready_due,
    w.turn AS waiting_turn, w.due_at AS waiting_due, w.reason AS wait_reason, w.key AS wait_key, w.wake_at, w.seq AS wait_seq,
    d.ref IS NOT NULL AS is_dead, s.turn AS start_turn, s.started_at AS start_at, s.deadline_at,
    c.turn AS cancel_turn, c.reason AS cancel_reason
  FROM unnest($1::bigint[]) k (ref)
  CROSS JOIN ${each('occurrence', 'ref = k.ref')} o
  LEFT JOIN ${each('ready', 'series = o.series AND ref = o.ref')} r ON true
  LEFT JOIN ${each('waiting', 'series = o.series AND ref = o.ref')} w ON true
  LEFT JOIN ${each('dead', 'series = o.series AND ref = o.ref')} d ON true
  LEFT JOIN ${each('start', 'ref = o.ref')} s ON true
  LEFT JOIN ${each('cancel_request', 'ref = o.ref')} c ON true`

export interface ReadOptions {
  /** Also reads the tries of their tasks. */
  readonly withAttempts?: boolean
  /** The claims that those that run are looked for in. Default: all, which are walked one by one. */
  readonly claims?: readonly string[]
}

/**
 * The entries of these handles, the oldest first. Their turns are looked up one by one: a plan that was made while there was little
 * history would go through all of it.
 */
export async function readEntries(
  session: Session,
  dictionary: Dictionary,
  refs: readonly number[],
  { withAttempts = false, claims }: ReadOptions = {},
): Promise<Loaded[]> {
  if (refs.length === 0) return []
  const wanted = [column([...new Set(refs)].sort((a, b) => a - b))]
  const [rows, turns, holds, members, attempts] = await Promise.all([
    session.all<EntryRow>(selectEntries, wanted),
    session.all<OwnTurnRow>(
      `SELECT ${turnColumns}, t.ref, t.due_at FROM unnest($1::bigint[]) k (ref) CROSS JOIN ${each('turn', 'ref = k.ref')} t ORDER BY t.ref, t.turn`,
      wanted,
    ),
    session.all<[number, string]>('SELECT ref, key FROM punctual.hold WHERE ref = ANY($1::bigint[]) ORDER BY seq', wanted),
    claims === undefined
      ? session.all<MemberRow>(membersOf('true'), wanted)
      : claims.length === 0
        ? []
        : session.all<MemberRow>(membersOf('c.id = ANY($2::text[])'), [...wanted, column(claims)]),
    withAttempts
      ? session.all<OwnAttemptRow>(
          `SELECT ${attemptColumns}, ref FROM punctual.attempt WHERE ref = ANY($1::bigint[]) ORDER BY seq`,
          wanted,
        )
      : [],
  ])
  await dictionary.learn(session, {
    kinds: rows.map((row) => row[3]),
    series: rows.map((row) => row[2]),
    boots: [...turns.map((row) => row[2]), ...members.map(([, , , node]) => node)],
  })
  const parts: Parts = {
    turns: Map.groupBy(turns, (row) => Number(row[11])),
    attempts: Map.groupBy(attempts, (row) => Number(row[9])),
    keys: Map.groupBy(holds, ([ref]) => Number(ref)),
    members: new Map(members.map((row) => [turnName(row[0], row[4]), row])),
  }
  return rows.map((row) => loaded(dictionary, row, parts))
}

type OwnTurnRow = [...TurnRow<number>, ref: number, dueAt: number]
type OwnAttemptRow = [...AttemptRow, ref: number]

/** Which claim a turn belongs to, and when it was due. */
type MemberRow = [ref: number, claim: string, dueAt: number, node: number, turn: number]

const membersOf = (where: string) => `SELECT m.ref, c.id, m.due_at, c.node, m.turn
  FROM punctual.claim c, unnest(c.refs, c.turns, c.dues) m (ref, turn, due_at) WHERE ${where} AND m.ref = ANY($1::bigint[])`

export function turnName(ref: number, turn: number): string {
  return `${ref} ${turn}`
}

interface Parts {
  readonly turns: ReadonlyMap<number, readonly OwnTurnRow[]>
  readonly attempts: ReadonlyMap<number, readonly OwnAttemptRow[]>
  readonly keys: ReadonlyMap<number, readonly [number, string][]>
  readonly members: ReadonlyMap<string, MemberRow>
}

function loaded(dictionary: Dictionary, row: EntryRow, parts: Parts): Loaded {
  // A transaction of the caller's may give big numbers as texts or as BigInt.
  const ref = Number(row[0])
  const [readyTurn, readyDue, waitingTurn, waitingDue, reason, waitingKey, wakeAt, waitSeq, isDead, ...running] = row.slice(
    occurrenceWidth,
  ) as EntryTail
  const [startTurn, startedAt, deadlineAt, cancelTurn, cancelReason] = running
  const record = occurrenceRecord(dictionary, row)
  const turnRows = parts.turns.get(ref) ?? []
  const turns = turnRows.map((one) => turnRecord(one, (boot) => dictionary.bootName(boot)))
  const last = turnRows.at(-1)
  const lastTurn = last?.[0] ?? 0
  const base = {
    ref,
    record,
    holding: new Set((parts.keys.get(ref) ?? []).map(([, key]) => key)),
    ticket: 0,
    claim: null,
    start: null,
    cancel: null,
    wait: null,
    turns,
    attempts: (parts.attempts.get(ref) ?? []).map(attemptRecord),
    progress: null,
  }
  const known = { series: row[2], kind: row[3], waitSeq: waitSeq === null ? null : Number(waitSeq) }
  if (readyTurn !== null) {
    return { ...known, entry: { ...base, place: 'ready', turn: readyTurn, dueAt: readyDue as number } }
  }
  if (waitingTurn !== null) {
    const wait = { reason: reason as WaitRecord['reason'], key: waitingKey, wakeAt }
    return { ...known, entry: { ...base, place: 'waiting', wait, turn: waitingTurn, dueAt: waitingDue as number } }
  }
  if (last && (isDead || isEnd(stateAfter[last[1]])))
    return { ...known, entry: { ...base, place: 'ended', turn: lastTurn, dueAt: last[12] } }
  const turn = lastTurn + 1
  const member = parts.members.get(turnName(ref, turn))
  return {
    ...known,
    entry: {
      ...base,
      place: 'claimed',
      turn,
      dueAt: member?.[2] ?? record.scheduledAt,
      claim: member?.[1] ?? null,
      start: startTurn === null ? null : { turn: startTurn, startedAt: startedAt as number, deadlineAt: deadlineAt as number },
      cancel: cancelTurn === turn ? { reason: cancelReason } : null,
    },
  }
}
