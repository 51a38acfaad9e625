// The moves of occurrences from one place to another, as rows to write: what memory/state.ts does on maps.
import { causeOf } from '../../../model/cause.ts'
import { isEnd, type OccurrenceState, stateAfter } from '../../../model/lifecycle.ts'
import type { Limit } from '../../../model/limit.ts'
import type { AttemptLog, AttemptRecord, OccurrenceRecord, TurnRecord } from '../../../model/occurrence.ts'
import { mayHaveBegun } from '../../../model/turn.ts'
import { givenUp, keptBetweenTurns } from '../../rules/door.ts'
import { isOver } from '../../rules/settle.ts'
import { toJson } from '../../rules/sql/json.ts'
import { isPlanned } from '../../rules/verdict.ts'
import type { Due } from '../../store.ts'
import { column } from '../connection/arrays.ts'
import type { Session } from '../connection/session.ts'
import { type Batch, type ChangeStatement, changeStatement, type Guard, type PartName, type Value } from './change-statement.ts'
import { CountDeltas } from './counts.ts'

/** An occurrence on the move. Rows that it had in `ready` or `waiting` have been deleted. */
export interface Moving {
  readonly ref: number
  readonly series: number
  /** The number of its kind. */
  readonly kind: number
  readonly record: Pick<
    OccurrenceRecord,
    'source' | 'key' | 'unique' | 'priority' | 'limits' | 'startWithinMs' | 'isHooked' | 'publish'
  >
  readonly turn: number
  readonly dueAt: number
  readonly hasBegun: boolean
  readonly granted: number
  /** The state that counts have it in. */
  readonly state: OccurrenceState
  /** The key whose line it has left. */
  readonly line: string | null
}

/** The changes of one commit. */
export class Changes {
  /** The store's time; null where the server reads its clock with the statement. */
  readonly now: number | null
  readonly counts = new CountDeltas()
  readonly #rows = new Map<PartName, (readonly Value[])[]>()
  /** Keys that were released: a line of one of them is news. */
  readonly #released = new Set<string>()

  constructor(now: number | null) {
    this.now = now
  }

  /** Writes the end row of a turn. Without `nextTurn` the occurrence has ended or is dead. */
  endTurn(moving: Moving, end: TurnRecord): void {
    const { ref, series, record } = moving
    const state = stateAfter[end.end]
    this.#add('turns', turnValues(moving, end))
    this.#knock(moving)
    this.counts.end(series, end)
    if (!isEnd(state) && state !== 'dead') return
    this.counts.move(series, moving.state, state)
    this.#giveUp(moving, 0)
    if (state === 'dead') this.#add('dead', [series, ref, causeOf(end.error), end.endedAt])
    if (record.key !== null && record.unique === 'live') this.#add('freedKeys', [series, record.key, ref])
  }

  /** Puts an occurrence whose turn has just ended back for its next one. */
  nextTurn(moving: Moving, end: TurnRecord, due: Due): void {
    const hasBegun = moving.hasBegun || mayHaveBegun(end)
    const kept = keptBetweenTurns(moving.record.limits, hasBegun)
    this.#giveUp(moving, kept)
    const hasRates = moving.record.limits?.some(({ perMs }) => perMs !== undefined)
    if (hasRates && !mayHaveBegun(end)) this.#add('rates', [moving.ref])
    const granted = Math.min(moving.granted, kept)
    this.#place({ ...moving, turn: moving.turn + 1, hasBegun, granted }, stateAfter[end.end] === 'retrying', due)
  }

  /** Ends an occurrence that does not run: no executor will report it. */
  endIdle(moving: Moving, end: TurnRecord): void {
    this.endTurn(moving, end)
    if (end.end === 'canceled') this.note(moving)
  }

  /** Moves an occurrence that does not run to another time: one that has not begun gives up its place with its time. */
  reschedule(moving: Moving, dueAt: number, isRetrying: boolean): void {
    this.#knock(moving)
    if (!moving.hasBegun) this.#giveUp(moving, 0)
    this.#place({ ...moving, granted: moving.hasBegun ? moving.granted : 0 }, isRetrying, dueAt)
  }

  /** Takes back what an occurrence was granted that does not run: it comes to the door again. */
  takeGrantBack(moving: Moving, isRetrying: boolean): void {
    this.#knock(moving)
    this.#giveUp(moving, 0)
    this.#place({ ...moving, granted: 0 }, isRetrying, moving.dueAt)
  }

  /** Lets an occurrence wait for something else than a key. */
  setAside(moving: Moving, reason: 'stranded' | 'pause', isRetrying: boolean, wakeAt: number | null = null): void {
    this.#knock(moving)
    this.#giveUp(moving, 0)
    this.counts.move(moving.series, moving.state, 'waiting')
    this.#add('waiting', [...placeValues({ ...moving, granted: 0 }, isRetrying, moving.dueAt).slice(0, -1), reason, null, wakeAt])
  }

  /** Puts an occurrence back that was only locked. One that waited for a pause comes to the door again: the pause may be over. */
  putBack(moving: Moving, isRetrying: boolean, wait: { readonly reason: string; readonly wakeAt: number | null } | null): void {
    const values = placeValues(moving, isRetrying, moving.dueAt)
    if (wait?.reason === 'pause') this.takeGrantBack(moving, isRetrying)
    else if (wait === null) this.#add('ready', values)
    else this.#add('waiting', [...values.slice(0, -1), wait.reason, moving.line, wait.wakeAt])
  }

  /** Removes an occurrence that never began, with all that is known of it. */
  remove(moving: Moving): void {
    this.#knock(moving)
    this.#giveUp(moving, 0)
    this.counts.move(moving.series, moving.state, null)
    this.#add('removed', [moving.ref])
    this.#add('unnotes', [moving.ref])
    if (moving.record.key !== null) this.#add('freedKeys', [moving.series, moving.record.key, moving.ref])
  }

  /** Gives a dead occurrence another chance. */
  revive(moving: Moving, dueAt: number): void {
    const { series, ref, record } = moving
    if (record.key !== null && record.unique === 'live') this.#add('liveKeys', [series, record.key, ref])
    this.#place(moving, true, dueAt)
  }

  /** Notes an end until `onComplete` has run for it. Without `kept`, any node may run it at once. */
  note({ ref, kind, record }: Moving, kept: { node: string | null; freeInMs: number } = { node: null, freeInMs: 0 }): void {
    if (record.isHooked) this.#add('notes', [ref, kind, kept.node, kept.freeInMs])
  }

  hooksDone(refs: readonly number[]): void {
    for (const ref of refs) this.#add('unnotes', [ref])
  }

  attempts(ref: number, attempts: readonly AttemptRecord[]): void {
    for (const attempt of attempts) this.#add('attempts', attemptValues(ref, attempt))
  }

  logs(ref: number, logs: readonly AttemptLog[] = []): void {
    for (const { turn, task, n, text } of logs) this.#add('logs', [ref, turn, task, n, text])
  }

  dropClaims(ids: Iterable<string>): void {
    for (const id of ids) this.#add('claims', [id])
  }

  /** Writes all of it in one statement. Answers whether a key was released that has a line: then work may be let in now. */
  async write(session: Session): Promise<boolean> {
    const batch = this.#batch()
    if (batch.size === 0) return false
    const { sql, values } = changeStatement(this.now, batch, 'true AS is_written')
    await session.rows(sql, values)
    if (this.#released.size === 0) return false
    const [row] = await session.rows<{ has_line: boolean }>(`SELECT ${hasLine('$1')} AS has_line`, [column([...this.#released])])
    return row?.has_line === true
  }

  /** The same as a statement, under a condition. */
  statement(select: string, guard: Guard): ChangeStatement {
    return changeStatement(this.now, this.#batch(), select, guard)
  }

  get releasedKeys(): readonly string[] {
    return [...this.#released]
  }

  /** Takes the slots out of the batch that it frees: the keys, one for each slot. */
  takeFreed(): readonly string[] {
    const freed = this.#rows.get('releases') ?? []
    this.#rows.delete('releases')
    return freed.map(([key]) => key as string)
  }

  #batch(): Batch {
    const deltas = this.counts.rows()
    return new Map([...this.#rows, ...(deltas.length > 0 ? [['deltas', deltas] as const] : [])])
  }

  /** Puts a row where a claim, or first the door, finds it. */
  #place(moving: Moving, isRetrying: boolean, due: Due): void {
    this.counts.move(moving.series, moving.state, isRetrying ? 'retrying' : 'pending')
    this.#add('ready', placeValues(moving, isRetrying, due))
  }

  /** Gives up what it was granted, but for the first `kept` limits. */
  #giveUp({ record: { limits }, granted, state }: Moving, kept: number): void {
    for (const key of givenUp({ limits, granted, kept }, state === 'running')) this.#release(key, 1)
  }

  /** A row that leaves a line may let the next come first. */
  #knock({ line }: Moving): void {
    if (line !== null) this.#release(line, 0)
  }

  #release(key: string, slots: 0 | 1): void {
    this.#released.add(key)
    this.#add('releases', [key, slots])
  }

  #add(part: PartName, row: readonly Value[]): void {
    const rows = this.#rows.get(part)
    if (rows) rows.push(row)
    else this.#rows.set(part, [row])
  }
}

/** Whether one of the keys has a line. */
export function hasLine(keys: string): string {
  return `EXISTS (SELECT 1 FROM punctual.waiting w WHERE w.key = ANY(${keys}::text[]))`
}

/** Rows of `ready`; the last value is the delay of work that is due relative to the store's now. */
function placeValues({ ref, series, kind, record, turn, hasBegun, granted }: Moving, isRetrying: boolean, due: Due): Value[] {
  const { priority, source, startWithinMs } = record
  const limits: readonly Limit[] = record.limits ?? []
  const [dueAt, dueIn] = typeof due === 'number' ? [due, null] : [null, due.in]
  const expiresAt = startWithinMs === null || hasBegun || dueAt === null ? null : dueAt + startWithinMs
  const isGated = granted < limits.length
  const text = limits.length === 0 ? null : JSON.stringify(limits)
  const flags = [hasBegun, isRetrying, isPlanned(source), source === 'recovery', isGated]
  return [kind, priority, dueAt, ref, series, turn, ...flags, granted, expiresAt, text, dueIn]
}

function turnValues({ ref, series, dueAt, record }: Moving, end: TurnRecord): Value[] {
  const { turn, node, startedAt, endedAt, attempt, settings, tasks, reason, error, result } = end
  return [
    ref,
    turn,
    series,
    dueAt,
    end.end,
    node,
    startedAt,
    endedAt,
    attempt,
    toJson(settings),
    toJson(tasks),
    reason,
    toJson(error),
    result,
    record.publish !== undefined && isOver(end.end),
  ]
}

export function attemptValues(ref: number, attempt: AttemptRecord): Value[] {
  const { turn, task, n, state, startedAt, endedAt, retryAt, error, result } = attempt
  return [ref, turn, task, n, state, startedAt, endedAt, retryAt, toJson(error), result]
}
