// What is known of jobs and occurrences, and the rules by which it changes. The memory store keeps all of it here; a store in a
// database loads the part that a verb is about, runs the verb on it and writes what has changed. No function here awaits.
import type { JobRecord, VersionRecord } from '../../model/job.ts'
import { isEnd, type OccurrenceState, stateAfter } from '../../model/lifecycle.ts'
import type { AttemptRecord, OccurrenceRecord, Progress, TurnRecord, WaitRecord } from '../../model/occurrence.ts'
import type { PauseRecord } from '../../model/pause.ts'
import { bareEnd } from '../../model/turn.ts'
import type { Due, Hint, NodeRecord, RangeRecord } from '../store.ts'
import { ReadyQueue } from './ready-queue.ts'

/** An occurrence with its live place and its history. */
export interface Entry {
  readonly ref: number
  record: OccurrenceRecord
  dueAt: number
  /** The turn it is in, or will be in next. */
  turn: number
  place: 'ready' | 'waiting' | 'claimed' | 'ended'
  /** Why it waits, while it does. */
  wait: WaitRecord | null
  /** The keys it holds, from its first claim to its end. */
  readonly holding: Set<string>
  /** Changes whenever the entry enters or leaves the ready queue. */
  ticket: number
  claim: string | null
  start: { readonly turn: number; readonly startedAt: number; readonly deadlineAt: number } | null
  /** A cancel was asked for while it ran. */
  cancel: { readonly reason: string | null } | null
  readonly turns: TurnRecord[]
  readonly attempts: AttemptRecord[]
  progress: Progress | null
}

export interface Claim {
  readonly id: string
  readonly token: string
  readonly node: string
  readonly refs: readonly number[]
}

/** Hears of what cannot be read off the ledger afterwards, in the order in which it happened. */
export interface Journal {
  ended(entry: Entry, end: TurnRecord): void
  /** One more start under a limited rate. */
  started(key: string, at: number, until: number): void
  /** A key was freed that nobody waits for here. */
  noneWaits(key: string): void
}

export interface LedgerOptions {
  readonly now: () => number
  /** Numbers occurrences that come into being. */
  readonly newRef: () => number
  readonly journal?: Journal
}

export class Ledger {
  readonly entries = new Map<number, Entry>()
  readonly byId = new Map<string, Entry>()
  readonly liveKeys = new Map<string, Entry>()
  readonly tombstones = new Map<string, number>()
  readonly ready = new ReadyQueue<Entry>()
  readonly claims = new Map<string, Claim>()
  readonly jobs = new Map<string, JobRecord>()
  readonly versions = new Map<string, readonly VersionRecord[]>()
  readonly pauses: PauseRecord[] = []
  pauseRevision = 0
  readonly ranges: RangeRecord[] = []
  readonly holders = new Map<string, Set<Entry>>()
  /** When occurrences with a limited rate were started, by key. */
  readonly starts = new Map<string, readonly number[]>()
  /** How many hold a key beside those that are in `holders`: a part of a ledger need not know them all. */
  readonly unseenHolders = new Map<string, number>()
  /** How many run beside those that are members of `claims`. */
  unseenRunning = 0
  readonly waiting = new Set<Entry>()
  readonly lastRuns = new Map<string, number>()
  readonly failuresInRow = new Map<string, number>()
  readonly nodes = new Map<string, NodeRecord>()
  readonly listeners = new Set<(hint: Hint) => void>()
  aliveSince = 0
  readonly #options: LedgerOptions

  constructor(options: LedgerOptions) {
    this.#options = options
  }

  get now(): number {
    return this.#options.now()
  }

  dueAt(due: Due): number {
    return typeof due === 'number' ? due : this.now + due.in
  }

  add(record: OccurrenceRecord, dueAt: number = record.scheduledAt): Entry {
    const entry: Entry = {
      ref: this.#options.newRef(),
      record,
      dueAt,
      turn: 1,
      place: 'ended',
      wait: null,
      holding: new Set(),
      ticket: 0,
      claim: null,
      start: null,
      cancel: null,
      turns: [],
      attempts: [],
      progress: null,
    }
    this.entries.set(entry.ref, entry)
    this.byId.set(record.id, entry)
    if (record.key !== null && record.unique === 'live') this.liveKeys.set(liveKey(record), entry)
    this.makeReady(entry, entry.dueAt)
    return entry
  }

  /** Puts an entry that was known before in its place. */
  restore(entry: Entry): void {
    this.entries.set(entry.ref, entry)
    this.byId.set(entry.record.id, entry)
    if (entry.record.key !== null && entry.record.unique === 'live' && !isEnd(stateOf(entry)))
      this.liveKeys.set(liveKey(entry.record), entry)
    if (entry.place === 'ready') this.ready.push(entry.record.kind, entry.record.priority, entry)
    if (entry.place === 'waiting') this.waiting.add(entry)
  }

  remove(entry: Entry): void {
    this.leaveReady(entry, 'ended')
    this.#freeHolds(entry)
    this.entries.delete(entry.ref)
    this.byId.delete(entry.record.id)
  }

  makeReady(entry: Entry, dueAt: number): void {
    this.leaveReady(entry, 'ready')
    entry.dueAt = dueAt
    this.ready.push(entry.record.kind, entry.record.priority, entry)
  }

  leaveReady(entry: Entry, place: Exclude<Entry['place'], 'waiting'>): void {
    entry.place = place
    entry.ticket += 1
    entry.claim = null
    entry.wait = null
    this.waiting.delete(entry)
  }

  makeWait(entry: Entry, wait: WaitRecord): void {
    this.leaveReady(entry, 'ended')
    entry.place = 'waiting'
    entry.wait = wait
    this.waiting.add(entry)
    this.passOn(entry)
  }

  /** Puts an entry off by somebody's wish: one that has not begun gives up its place with its time. */
  reschedule(entry: Entry, dueAt: number): void {
    this.makeReady(entry, dueAt)
    if (entry.turn === 1) this.#freeHolds(entry)
    else this.passOn(entry)
  }

  /** Writes the end row of the entry's turn; a further turn, if any, is the caller's to begin. */
  endTurn(entry: Entry, end: TurnRecord): void {
    entry.turns.push(end)
    this.leaveReady(entry, 'ended')
    const state = stateAfter[end.end]
    this.#options.journal?.ended(entry, end)
    // A turn that another follows is not a run yet: an occurrence must not see itself as the run before it.
    if (end.startedAt !== null && (isEnd(state) || state === 'dead')) this.#noteRun(entry, end.startedAt)
    if (isEnd(state) || state === 'dead') this.#freeHolds(entry)
    this.#countFailures(entry, end)
    if (isEnd(state) && entry.record.unique === 'live' && entry.record.key !== null) this.liveKeys.delete(liveKey(entry.record))
  }

  /** Puts an entry whose turn has ended back for its next one. */
  nextTurn(entry: Entry, dueAt: number): void {
    entry.turn += 1
    entry.cancel = null
    this.makeReady(entry, dueAt)
  }

  /** Tells others of work that came into being or moved. */
  hint(hint: Hint): void {
    for (const listener of this.listeners) listener(hint)
  }

  #freeHolds(entry: Entry): void {
    const held = [...entry.holding]
    this.passOn(entry)
    for (const key of held) this.free(entry, key)
  }

  holderCount(key: string): number {
    return (this.holders.get(key)?.size ?? 0) + (this.unseenHolders.get(key) ?? 0)
  }

  noteStart(key: string, perMs: number): void {
    const { now } = this
    this.starts.set(key, [...(this.starts.get(key) ?? []), now])
    this.#options.journal?.started(key, now, now + perMs)
  }

  free(entry: Entry, key: string): void {
    entry.holding.delete(key)
    this.holders.get(key)?.delete(entry)
    this.wake(key)
  }

  /** One that was let try for a key and does not take it leaves the chance to the next. */
  passOn(entry: Entry): void {
    for (const { key, perMs } of entry.record.holds ?? [])
      if (perMs === undefined && !entry.holding.has(key) && entry.wait?.key !== key) this.wake(key)
  }

  /** Lets the oldest that waits for the key try again, if there is room for it. */
  wake(key: string): void {
    const [next] = [...this.waiting].filter(({ wait }) => wait?.key === key).sort((a, b) => a.dueAt - b.dueAt || a.ref - b.ref)
    if (!next) this.#options.journal?.noneWaits(key)
    const limit = next?.record.holds?.find((hold) => hold.key === key)?.limit ?? 0
    if (!next || this.holderCount(key) >= limit) return
    this.makeReady(next, next.dueAt)
    this.hint({ kind: 'due', at: this.now })
  }

  #countFailures({ record }: Entry, { end }: TurnRecord): void {
    const key = jobKey(record.tenant, record.job)
    if (end === 'completed') this.failuresInRow.delete(key)
    else if (end === 'failed' || end === 'dead') this.failuresInRow.set(key, (this.failuresInRow.get(key) ?? 0) + 1)
  }

  #noteRun({ record }: Entry, startedAt: number): void {
    const key = jobKey(record.tenant, record.job)
    this.lastRuns.set(key, Math.max(this.lastRuns.get(key) ?? 0, startedAt))
  }
}

/** Names hold no line breaks, so that no two jobs share a key. */
export function jobKey(tenant: string, name: string): string {
  return `${tenant}\n${name}`
}

/** The job that a key stands for. */
export function jobOf(key: string): { tenant: string; job: string } {
  const [tenant, job] = key.split('\n') as [string, string]
  return { tenant, job }
}

export function liveKey({ tenant, job, key }: { tenant: string; job: string; key: string | null }): string {
  return JSON.stringify([tenant, job, key])
}

export function stateOf(entry: Entry): OccurrenceState {
  if (entry.place === 'claimed') return 'running'
  if (entry.place === 'waiting') return 'waiting'
  const last = entry.turns.at(-1)
  if (!last) return 'pending'
  return entry.place === 'ready' && last.end === 'dead' ? 'retrying' : stateAfter[last.end]
}

/** The end row of the entry's turn, of which only the manner and the time are known. */
export function endOf(entry: Entry, end: TurnRecord['end'], now: number, more: Partial<TurnRecord> = {}): TurnRecord {
  return { turn: entry.turn, ...bareEnd(end, now, more) }
}
