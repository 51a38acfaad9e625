// An occurrence with its place, read off the tables that hold it.
import { isEnd, type OccurrenceState, stateAfter } from '../../../model/lifecycle.ts'
import type { Limit } from '../../../model/limit.ts'
import type { AttemptRecord, OccurrenceRecord, TurnRecord, WaitRecord } from '../../../model/occurrence.ts'
import { bareEnd, mayHaveBegun } from '../../../model/turn.ts'
import type { AtDoor } from '../../rules/door.ts'
import { occurrenceRecord, type OccurrenceRow as SharedRow } from '../../rules/sql/occurrence-row.ts'
import { type AttemptRow, attemptRecord, type TurnRow, turnRecord } from '../../rules/sql/turn-row.ts'
import { claimedMember } from '../claim/claim-row.ts'
import type { Transaction } from '../connection/transaction.ts'

/** `hand`: in no table, while the door or a claim decides about it. */
export type Place = 'ready' | 'arrival' | 'waiting' | 'aside' | 'claimed' | 'ended' | 'hand'

/** The columns that all tables of live work share. */
export interface Live {
  readonly turn: number
  readonly dueAt: number
  readonly granted: number
  readonly hasBegun: boolean
  readonly isRetrying: boolean
}

export class Entry implements AtDoor {
  readonly ref: number
  readonly series: number
  record: OccurrenceRecord
  place: Place
  dueAt: number
  /** The turn it is in, or will be in next. */
  turn: number
  granted: number
  hasBegun: boolean
  /** Whether it is between two tries, also while it waits. */
  isRetrying: boolean
  /** Why it waits, while it does. */
  wait: WaitRecord | null = null
  /** The end of the turn before, or of the last one; of entries that were read by `readEntry`. */
  last: TurnRecord | null = null
  node: string | null = null
  /** The cause of death, while it is dead. */
  cause: string | null = null

  constructor(ref: number, series: number, record: OccurrenceRecord, place: Place, live: Live) {
    this.ref = ref
    this.series = series
    this.record = record
    this.place = place
    this.dueAt = live.dueAt
    this.turn = live.turn
    this.granted = live.granted
    this.hasBegun = live.hasBegun
    this.isRetrying = live.isRetrying
  }

  get id(): string {
    return this.record.id
  }

  get kind(): string {
    return this.record.kind
  }

  get priority(): number {
    return this.record.priority
  }

  get limits(): readonly Limit[] {
    return this.record.limits ?? noLimits
  }

  get isRecovery(): boolean {
    return this.record.source === 'recovery'
  }

  /** Whether it does not run and has not ended. */
  get isIdle(): boolean {
    return this.place !== 'claimed' && this.place !== 'ended'
  }

  get state(): OccurrenceState {
    if (this.place === 'claimed') return 'running'
    if (this.place === 'waiting' || this.place === 'aside') return 'waiting'
    if (this.place === 'ended') return stateAfter[(this.last as TurnRecord).end]
    return this.isRetrying ? 'retrying' : 'pending'
  }

  /** The end row of its turn, of which only the manner and the time are known. */
  endRow(end: TurnRecord['end'], now: number, more: Partial<TurnRecord> = {}): TurnRecord {
    return { turn: this.turn, ...bareEnd(end, now, more) }
  }
}

const noLimits: readonly Limit[] = []

/** The columns of an occurrence; its table is `o`. */
export const occurrenceColumns =
  'o.ref, o.id, o.series, o.form, o.scheduled_at, o.created_at, o.key, o.live, o.entity, o.parent, o.payload, o.extra'

export interface OccurrenceRow extends SharedRow {
  /** 1 for a key that is free again when its occurrence ends. */
  readonly live: number
}

export function recordOf({ names }: Transaction, row: OccurrenceRow): OccurrenceRecord {
  const unique = row.live === 1 ? 'live' : 'ever'
  return occurrenceRecord(row, { form: names.formByRef(row.form), series: names.seriesByRef(row.series), unique })
}

/** The columns of live work; its table is `w`. */
export const liveColumns = 'w.turn, w.due_at, w.granted, w.begun, w.retrying'

export interface LiveRow {
  readonly turn: number
  readonly due_at: number
  readonly granted: number
  readonly begun: number
  readonly retrying: number
}

export function liveOf({ turn, due_at, granted, begun, retrying }: LiveRow): Live {
  return { turn, dueAt: due_at, granted, hasBegun: begun === 1, isRetrying: retrying === 1 }
}

interface PlaceRow extends LiveRow {
  readonly place: Place
  readonly reason: WaitRecord['reason'] | null
  readonly key: string | null
  readonly wake_at: number | null
}

const placeIn = (place: Place, wait: string) =>
  `SELECT '${place}' AS place, ${liveColumns}, ${wait} FROM punctual_${place} w WHERE w.series = ?1 AND w.ref = ?2`
const selectPlace = [
  placeIn('ready', 'NULL AS reason, NULL AS key, NULL AS wake_at'),
  placeIn('arrival', 'NULL, NULL, NULL'),
  placeIn('waiting', 'w.reason, w.key, NULL'),
  placeIn('aside', 'w.reason, NULL, w.wake_at'),
].join(' UNION ALL ')

export function readEntry(tx: Transaction, ref: number): Entry | null {
  const row = tx.one<OccurrenceRow>(`SELECT ${occurrenceColumns} FROM punctual_occurrence o WHERE o.ref = ?`, ref)
  if (!row) return null
  const { series } = row
  const record = recordOf(tx, row)
  const last = lastTurn(tx, series, ref)
  const place = tx.one<PlaceRow>(selectPlace, series, ref)
  const cause = place || last?.end !== 'dead' ? null : causeOfDead(tx, series, ref)
  const entry = place
    ? new Entry(ref, series, record, place.place, liveOf(place))
    : last && (cause !== null || isEnd(stateAfter[last.end]))
      ? endedEntry(tx, row, record, last)
      : runningEntry(tx, row, record, last)
  if (place?.reason) entry.wait = { reason: place.reason, key: place.key, wakeAt: place.wake_at }
  entry.last = last && turnRecord(last)
  entry.cause = cause
  return entry
}

/** Null for work that a person has revived. */
function causeOfDead(tx: Transaction, series: number, ref: number): string | null {
  return tx.one<{ cause: string }>('SELECT cause FROM punctual_dead WHERE series = ? AND ref = ?', series, ref)?.cause ?? null
}

type LastTurn = TurnRow & { readonly due_at: number | null }

function lastTurn(tx: Transaction, series: number, ref: number): LastTurn | null {
  return (
    tx.one<LastTurn>('SELECT * FROM punctual_turn WHERE series = ? AND ref = ? ORDER BY turn DESC LIMIT 1', series, ref) ?? null
  )
}

function endedEntry(
  tx: Transaction,
  { ref, series }: OccurrenceRow,
  record: OccurrenceRecord,
  { turn, due_at }: LastTurn,
): Entry {
  const hasBegun = turnsOf(tx, series, ref).some(mayHaveBegun)
  const dueAt = due_at ?? record.scheduledAt
  return new Entry(ref, series, record, 'ended', { turn, dueAt, granted: 0, hasBegun, isRetrying: false })
}

function runningEntry(tx: Transaction, { ref, series }: OccurrenceRow, record: OccurrenceRecord, last: LastTurn | null): Entry {
  const turn = (last?.turn ?? 0) + 1
  const member = claimedMember(tx, ref)
  const { dueAt, granted, hasBegun } = member ?? { dueAt: record.scheduledAt, granted: 0, hasBegun: false }
  const entry = new Entry(ref, series, record, 'claimed', { turn, dueAt, granted, hasBegun, isRetrying: false })
  entry.node = member?.node ?? null
  return entry
}

export function turnsOf(tx: Transaction, series: number, ref: number): TurnRecord[] {
  return tx.all<TurnRow>('SELECT * FROM punctual_turn WHERE series = ? AND ref = ? ORDER BY turn', series, ref).map(turnRecord)
}

export function attemptsOf(tx: Transaction, ref: number): AttemptRecord[] {
  return tx.all<AttemptRow>('SELECT * FROM punctual_attempt WHERE ref = ? ORDER BY seq', ref).map(attemptRecord)
}

const selectGranted = ['ready', 'arrival', 'waiting']
  .map((table) => `SELECT ref FROM punctual_${table} INDEXED BY punctual_${table}_granted WHERE granted > 0`)
  .join(' UNION ALL ')

/** Work that was granted keys and does not run. */
export function grantedEntries(tx: Transaction): Entry[] {
  const refs = tx.all<{ ref: number }>(selectGranted).map(({ ref }) => ref)
  return refs.sort((a, b) => a - b).map((ref) => readEntry(tx, ref) as Entry)
}
