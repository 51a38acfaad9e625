// The door: the one place that grants limit keys. A key is a count and a line. Due work takes its place in the line of its next key,
// ordered by priority, live work before recovery runs, due time and age; while the head of the line fits its own limit, it is let in.
// Keys are asked for in the order of the door, and granted ones are kept while the next is waited for.
// Memory and SQLite run this code; the other stores have it in their own language and are compared with it.
import { type Limit, type LimitKind, limitKinds, rankOf } from '../../model/limit.ts'
import type { WaitRecord } from '../../model/occurrence.ts'
import type { PassedOccurrence } from '../messages/claim.ts'

/** A due occurrence at the door. */
export interface AtDoor {
  readonly ref: number
  readonly id: string
  readonly kind: string
  readonly priority: number
  readonly dueAt: number
  /** Catches up with an instant of the past. */
  readonly isRecovery: boolean
  /** Some attempt of it may have begun. */
  readonly hasBegun: boolean
  readonly limits: readonly Limit[]
  /** So many of its limits have been granted. */
  readonly granted: number
}

/** The fate of due work that may not ask for a key: it ends, or waits for something else than a key. */
export type Verdict = Pick<PassedOccurrence, 'state' | 'reason'> | WaitRecord

/** The counts and lines of a store, as the doorman reads and changes them. */
export interface Door<Row extends AtDoor> {
  /** Removes and returns the slots that are free by now, and knocks: keys whose line has changed, with 0 slots. */
  takeReleases(): Iterable<{ readonly key: string; readonly slots: number }>
  hasReleases(): boolean
  /** Removes and returns due work that lacks a grant and is in no line, of kinds that some node serves. */
  takeArrivals(): Iterable<Row>
  verdict(row: Row): Verdict | null
  /** Whether some node can run this kind. */
  isServed(kind: string): boolean
  used(key: string): number
  setUsed(key: string, used: number): void
  /** The occurrence that was granted the key last. */
  holder(key: string): { readonly id: string; readonly isRecovery: boolean } | null
  setHolder(key: string, row: Row): void
  /** The kind of limit that a key is; null when its line is empty. */
  lineKind(key: string): LimitKind | null
  /** The line of a key, in order, read only as far as needed. Rows that were read may leave it meanwhile. */
  line(key: string): Iterable<Row>
  leaveLine(row: Row): void
  /** Puts a row into the line of its next key. */
  wait(row: Row, limit: Limit): void
  /** Counts one more granted limit and returns the row so. */
  advance(row: Row): Row
  /** Makes a row with all its limits an ordinary one, for any node to claim that can run it. */
  grant(row: Row): void
  /** Ends a row that may not run, or sets it aside; releases what it was granted. */
  pass(row: Row, verdict: Verdict): void
  /** Asks the holder to stop for the next. One that does not run ends at once and releases its keys. */
  cancelHolder(key: string, next: Row): void
}

/** Passes of one admission: ends in one pass may free keys for the next. */
const mostPasses = 3

/** Lets in what may come in. */
export function admit<Row extends AtDoor>(door: Door<Row>): void {
  for (let pass = 0; pass < mostPasses; pass++) {
    admitOnce(door)
    if (!door.hasReleases()) return
  }
}

/** For each rank of limits: the touched keys with their newcomers. */
type Arrivals<Row> = readonly Map<string, Row[]>[]

function admitOnce<Row extends AtDoor>(door: Door<Row>): void {
  const arrivals = limitKinds.map(() => new Map<string, Row[]>())
  const freed = new Map<string, number>()
  for (const { key, slots } of door.takeReleases()) freed.set(key, (freed.get(key) ?? 0) + slots)
  for (const [key, slots] of freed) {
    if (slots > 0) door.setUsed(key, door.used(key) - slots)
    const kind = door.lineKind(key)
    if (kind) newcomersOf(arrivals, { kind, key })
  }
  for (const row of door.takeArrivals()) {
    const verdict = door.verdict(row)
    if (verdict) door.pass(row, verdict)
    else newcomersOf(arrivals, limitOf(row)).push(row)
  }
  for (const rank of arrivals) {
    while (rank.size > 0) {
      const touched = [...rank]
      rank.clear()
      for (const [key, newcomers] of touched) visit(door, arrivals, key, newcomers)
    }
  }
}

/** Lets in the head of one line as long as it fits, then refuses the newcomers that are left. */
function visit<Row extends AtDoor>(door: Door<Row>, arrivals: Arrivals<Row>, key: string, newcomers: Row[]): void {
  const before = door.used(key)
  let used = before
  let isOpen = true
  const line = new Line(newcomers.sort(inLine), door.line(key))
  for (let next = line.next(isOpen); next; next = line.next(isOpen)) {
    const { row, isNew } = next
    if (!isNew && !door.isServed(row.kind)) continue
    const verdict = isNew ? null : door.verdict(row)
    isOpen &&= verdict !== null || used < limitOf(row).limit
    if (!isNew && (verdict || isOpen)) door.leaveLine(row)
    if (verdict) door.pass(row, verdict)
    else if (isOpen) {
      used += 1
      door.setHolder(key, row)
      letIn(door, arrivals, door.advance(row))
    } else if (isNew) refuse(door, arrivals, row, limitOf(row))
  }
  if (used !== before) door.setUsed(key, used)
}

function letIn<Row extends AtDoor>(door: Door<Row>, arrivals: Arrivals<Row>, row: Row): void {
  if (row.granted === row.limits.length) door.grant(row)
  else newcomersOf(arrivals, limitOf(row)).push(row)
}

function refuse<Row extends AtDoor>(door: Door<Row>, arrivals: Arrivals<Row>, row: Row, limit: Limit): void {
  // Work that has begun was let in before or is retried on a person's request: it waits for its turn.
  const policy = row.hasBegun ? 'queue' : (limit.policy ?? 'queue')
  // Work that has just given up the key may still be its holder: no one gives way to itself.
  const holder = policy === 'queue' ? null : door.holder(limit.key)
  const other = holder?.id === row.id ? null : holder
  if (other && policy === 'cancel-previous') {
    door.cancelHolder(limit.key, row)
    stop(arrivals, other.id)
  }
  const rival = policy === 'queue' ? null : rivalOf(door, limit.key, policy === 'skip' ? other : null)
  if (rival) door.pass(row, { state: 'skipped', reason: `overlap: ${rival.id}` })
  else door.wait(row, limit)
}

/** Work that was canceled on its way to its next key goes no further. */
function stop<Row extends AtDoor>(arrivals: Arrivals<Row>, id: string): void {
  for (const keys of arrivals)
    for (const [key, rows] of keys)
      if (rows.some((row) => row.id === id))
        keys.set(
          key,
          rows.filter((row) => row.id !== id),
        )
}

/** The occurrence to which a newcomer gives way. Recovery runs are no rivals: live work waits for them, one at a time. */
function rivalOf<Row extends AtDoor>(
  door: Door<Row>,
  key: string,
  holder: ReturnType<Door<Row>['holder']>,
): { readonly id: string } | null {
  if (holder && !holder.isRecovery) return holder
  for (const row of door.line(key)) if (!row.isRecovery) return row
  return null
}

/** Newcomers and the rows of a line together, in order. The line is read no further than it is walked. */
class Line<Row extends AtDoor> {
  readonly #newcomers: readonly Row[]
  readonly #waiting: Iterator<Row>
  #at = 0
  /** The next row of the line; undefined while it has not been read. */
  #head: Row | null | undefined

  constructor(newcomers: readonly Row[], waiting: Iterable<Row>) {
    this.#newcomers = newcomers
    this.#waiting = waiting[Symbol.iterator]()
  }

  /** Of a line that is closed only the newcomers are of interest. */
  next(isOpen: boolean): { readonly row: Row; readonly isNew: boolean } | null {
    const newcomer = this.#newcomers[this.#at]
    if (isOpen && this.#head === undefined) this.#head = this.#read()
    const head = isOpen ? this.#head : null
    if (head && (!newcomer || inLine(head, newcomer) < 0)) {
      this.#head = undefined
      return { row: head, isNew: false }
    }
    this.#at += 1
    return newcomer ? { row: newcomer, isNew: true } : null
  }

  #read(): Row | null {
    const { done, value } = this.#waiting.next()
    return done ? null : value
  }
}

/** The order of a line. */
export function inLine(a: AtDoor, b: AtDoor): number {
  return a.priority - b.priority || Number(a.isRecovery) - Number(b.isRecovery) || a.dueAt - b.dueAt || a.ref - b.ref
}

/** The limit that a row lacks next. */
export function limitOf({ limits, granted }: Pick<AtDoor, 'limits' | 'granted'>): Limit {
  return limits[granted] as Limit
}

function newcomersOf<Row extends AtDoor>(arrivals: Arrivals<Row>, limit: Pick<Limit, 'kind' | 'key'>): Row[] {
  const keys = arrivals[rankOf(limit)] as Map<string, Row[]>
  const rows = keys.get(limit.key) ?? []
  keys.set(limit.key, rows)
  return rows
}

/** A freed slot of a key. `freeAt` is later than now for rates alone. */
export interface Release {
  readonly key: string
  readonly slots: 0 | 1
  readonly freeAt: number
}

/** A claimer that promises nothing starts rated work within this time. */
export const defaultPromptMs = 20

/** The releases that a claim appends: the slots of rates, for the end of their windows. `promptMs`: how late its work may start. */
export function releasesAtClaim(limits: readonly Limit[] | null, now: number, promptMs = defaultPromptMs): readonly Release[] {
  if (limits === null) return []
  return limits.flatMap(({ key, perMs }) => (perMs === undefined ? [] : [{ key, slots: 1, freeAt: now + perMs + promptMs }]))
}

/** How many of its limits an occurrence keeps between two turns: once it has begun all but its rates, before that none. */
export function keptBetweenTurns(limits: readonly Limit[] | null, hasBegun: boolean): number {
  if (limits === null || !hasBegun) return 0
  const firstRate = limits.findIndex(({ kind }) => kind === 'rate')
  return firstRate < 0 ? limits.length : firstRate
}

/** The keys among the granted ones that are given up, `kept` of them not. Of claimed work the rates are not: their slots come back by time. */
export function givenUp(
  { limits, granted, kept = 0 }: { limits: readonly Limit[] | null; granted: number; kept?: number },
  isClaimed: boolean,
): readonly string[] {
  if (limits === null) return []
  return limits.slice(kept, granted).flatMap(({ kind, key }) => (isClaimed && kind === 'rate' ? [] : [key]))
}
