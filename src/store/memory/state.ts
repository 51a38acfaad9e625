// All that the memory store knows, and the few moves by which an occurrence gets from one place to another. No function here awaits.

import type { AuditRecord, AuditSeal } from '../../model/audit.ts'
import { causeOf } from '../../model/cause.ts'
import type { JobRecord, VersionRecord } from '../../model/job.ts'
import { isEnd, stateAfter } from '../../model/lifecycle.ts'
import type { Limit } from '../../model/limit.ts'
import type { OccurrenceRecord, TurnRecord, WaitRecord } from '../../model/occurrence.ts'
import type { PauseRecord } from '../../model/pause.ts'
import { mayHaveBegun } from '../../model/turn.ts'
import { givenUp, keptBetweenTurns, type Release, releasesAtClaim } from '../rules/door.ts'
import { endMessage } from '../rules/message.ts'
import type { Tombstone } from '../rules/tombstone.ts'
import type { Due, FigureRow, Hint, NodeRecord, RangeRecord, TokenRecord } from '../store.ts'
import { Entry } from './entry.ts'
import type { GateEntry } from './gate.ts'
import { MemoryHints } from './hints.ts'
import { Lines } from './lines.ts'
import { DueQueue } from './queue.ts'
import { Runs } from './runs.ts'

export interface Claim {
  readonly id: string
  readonly token: string
  readonly node: string
  readonly refs: readonly number[]
}

export class State {
  readonly entries = new Map<number, Entry>()
  readonly byId = new Map<string, Entry>()
  /** The occurrences of each key, oldest first. */
  readonly byKey = new Map<string, Entry[]>()
  readonly liveKeys = new Map<string, Entry>()
  readonly tombstones = new Map<string, Tombstone & { readonly until: number }>()
  audit: AuditRecord[] = []
  lastAudit = 0
  readonly unsealed = new Map<number, string>()
  readonly seals: AuditSeal[] = []
  readonly gates = new Map<string, GateEntry>()

  /** Work that may be claimed, and work that lacks a grant. */
  readonly ready = new DueQueue<Entry>()
  readonly arrivals = new DueQueue<Entry>()
  /** Due work that waits for a key, and work that waits for the end of a pause or for the planner. */
  readonly lines = new Lines()
  readonly aside = new Set<Entry>()
  readonly used = new Map<string, number>()
  readonly holders = new Map<string, Entry>()
  /** Slots that are or will be free, not yet counted. `ref`: of the start that takes part in a rate. */
  releases: (Release & { readonly ref: number | null })[] = []

  readonly claims = new Map<string, Claim>()
  running = 0
  /** A claim found the cluster's limit reached: the next end sends a hint. */
  isClusterFull = false

  readonly jobs = new Map<string, JobRecord>()
  readonly versions = new Map<string, readonly VersionRecord[]>()
  /** The last version of deleted jobs. */
  readonly lastVersions = new Map<string, number>()
  readonly pauses: PauseRecord[] = []
  pauseRevision = 0
  readonly ranges: RangeRecord[] = []
  readonly runs = new Runs()
  /** Ends whose `onComplete` has not run: for whom it is kept, and from when on others may run it. */
  readonly hookNotes = new Map<number, { readonly node: string | null; readonly freeAt: number }>()

  figures: FigureRow[] = []
  /** Those that nodes have added lately, by id. */
  readonly addedFigures = new Map<string, readonly FigureRow[]>()
  readonly tokens = new Map<string, TokenRecord>()

  readonly nodes = new Map<string, NodeRecord>()
  served: ReadonlySet<string> = new Set()
  aliveSince = 0
  lastAliveAt = 0
  readonly hints = new MemoryHints(() => this.now)

  readonly #now: () => number
  #lastRef = 0

  constructor(now: () => number) {
    this.#now = now
  }

  get now(): number {
    return this.#now()
  }

  dueAt(due: Due): number {
    return typeof due === 'number' ? due : this.now + due.in
  }

  add(record: OccurrenceRecord, dueAt: number): Entry {
    const entry = new Entry(++this.#lastRef, record, dueAt)
    this.entries.set(entry.ref, entry)
    this.byId.set(record.id, entry)
    if (record.key !== null) {
      const key = keyOf(record)
      this.byKey.set(key, [...(this.byKey.get(key) ?? []), entry])
      if (record.unique === 'live') this.liveKeys.set(key, entry)
    }
    this.makeReady(entry, dueAt)
    return entry
  }

  remove(entry: Entry): void {
    this.revisitLine(entry)
    this.#leave(entry)
    this.giveUpKeys(entry)
    this.entries.delete(entry.ref)
    this.byId.delete(entry.id)
    this.hookNotes.delete(entry.ref)
    if (entry.record.key === null) return
    const key = keyOf(entry.record)
    const left = (this.byKey.get(key) ?? []).filter((other) => other !== entry)
    if (left.length > 0) this.byKey.set(key, left)
    else this.byKey.delete(key)
    if (this.liveKeys.get(key) === entry) this.liveKeys.delete(key)
  }

  /** Puts an entry where a claim, or first the door, finds it. */
  makeReady(entry: Entry, dueAt: number): void {
    this.#leave(entry)
    entry.place = 'ready'
    entry.dueAt = dueAt
    const queue = entry.granted < entry.limits.length ? this.arrivals : this.ready
    queue.push(entry.kind, entry.priority, entry)
  }

  makeClaimed(entry: Entry, claim: string): void {
    this.#leave(entry)
    entry.place = 'claimed'
    entry.claim = claim
    this.running += 1
  }

  /** Puts an entry into the line of a key. */
  makeWait(entry: Entry, { kind, key }: Limit): void {
    this.#leave(entry)
    entry.place = 'waiting'
    entry.wait = { reason: kind, key, wakeAt: null }
    this.lines.add(key, entry)
  }

  /** Lets an entry wait for something else than a key. It holds no key meanwhile. */
  setAside(entry: Entry, wait: WaitRecord): void {
    this.#leave(entry)
    this.giveUpKeys(entry)
    entry.place = 'waiting'
    entry.wait = wait
    this.aside.add(entry)
  }

  /** Moves an entry that does not run to another time: one that has not begun gives up its place with its time. */
  reschedule(entry: Entry, dueAt: number, record: OccurrenceRecord = entry.record): void {
    this.revisitLine(entry)
    if (!entry.hasBegun) this.giveUpKeys(entry)
    this.#leave(entry)
    entry.record = record
    this.makeReady(entry, dueAt)
  }

  /** Writes the end row of the entry's turn. `nextTurn` goes on from there; without it the occurrence has ended or is dead. */
  endTurn(entry: Entry, end: TurnRecord): void {
    const state = stateAfter[end.end]
    const isOver = isEnd(state) || state === 'dead'
    const isClaimed = entry.place === 'claimed'
    entry.turns.push(end)
    this.revisitLine(entry)
    this.#leave(entry)
    entry.place = 'ended'
    if (state === 'dead') entry.cause = causeOf(end.error)
    if (isClaimed && this.isClusterFull) {
      this.isClusterFull = false
      this.hint({ kind: 'due', at: this.now })
    }
    this.runs.noteHook(entry.record, end)
    if (!isOver) return
    this.giveUpKeys(entry, isClaimed)
    // A turn that another follows is no run yet: an occurrence must not see itself as the run before it.
    if (end.startedAt !== null) this.runs.noteRun(entry.record, end.startedAt)
    entry.hasBegun ||= mayHaveBegun(end)
    if (entry.record.key !== null && this.liveKeys.get(keyOf(entry.record)) === entry) this.liveKeys.delete(keyOf(entry.record))
    this.addMessage(endMessage(entry.record, end, this.now))
  }

  /** Stores a message about an event, where there is one. */
  addMessage(message: OccurrenceRecord | null): void {
    if (!message || this.byId.has(message.id)) return
    this.add(message, message.scheduledAt)
    this.hint({ kind: 'due', at: message.scheduledAt })
  }

  /** Puts an entry whose turn has just ended back for its next one. */
  nextTurn(entry: Entry, end: TurnRecord, dueAt: number): void {
    entry.hasBegun ||= mayHaveBegun(end)
    const kept = keptBetweenTurns(entry.record.limits, entry.hasBegun)
    this.giveUpKeys(entry, true, kept)
    if (!mayHaveBegun(end)) this.#returnRates(entry)
    entry.turn += 1
    entry.cancel = null
    this.makeReady(entry, dueAt)
  }

  /** Ends an occurrence that does not run: no executor will report it. */
  endUnattended(entry: Entry, end: 'canceled' | 'missed' | 'skipped', reason: string | null): void {
    this.endTurn(entry, entry.endRow(end, this.now, { reason }))
    if (end === 'canceled' && entry.record.isHooked) this.noteHook(entry)
  }

  /** Notes an end until `onComplete` has run for it. Without `kept`, any node may run it at once. */
  noteHook({ ref }: Entry, kept: { node: string | null; freeAt: number } = { node: null, freeAt: this.now }): void {
    this.hookNotes.set(ref, kept)
  }

  /** The node that runs the entry. */
  nodeOf({ claim }: Entry): string | null {
    return claim === null ? null : (this.claims.get(claim)?.node ?? null)
  }

  /** Gives up what the entry was granted, but for the first `kept` limits. */
  giveUpKeys(entry: Entry, isClaimed = false, kept = 0): void {
    const { record, granted } = entry
    for (const key of givenUp({ limits: record.limits, granted, kept }, isClaimed)) this.release(key, 1)
    entry.granted = Math.min(granted, kept)
  }

  /** Takes back what an entry was granted that does not run: it comes to the door again. */
  takeGrantBack(entry: Entry): void {
    this.revisitLine(entry)
    this.giveUpKeys(entry)
    this.makeReady(entry, entry.dueAt)
  }

  putNode(node: NodeRecord): void {
    this.nodes.set(node.boot, node)
    this.#noteServed()
  }

  /** Hooks that a node has left behind are free for others, and so are the keys of work that no node serves any more. */
  removeNode(boot: string): void {
    this.nodes.delete(boot)
    this.#noteServed()
    for (const [ref, { node }] of this.hookNotes) if (node === boot) this.hookNotes.set(ref, { node: null, freeAt: this.now })
    for (const entry of this.entries.values()) {
      const isIdle = entry.place === 'ready' || entry.place === 'waiting'
      if (isIdle && entry.granted > 0 && !this.served.has(entry.kind)) this.takeGrantBack(entry)
    }
  }

  #noteServed(): void {
    this.served = new Set([...this.nodes.values()].flatMap(({ kinds }) => kinds))
  }

  /** An entry that leaves a line may let the next come first. */
  revisitLine({ wait, place }: Entry): void {
    if (place === 'waiting' && wait?.key != null) this.release(wait.key, 0)
  }

  release(key: string, slots: 0 | 1): void {
    this.releases.push({ key, slots, freeAt: this.now, ref: null })
    if (this.lines.first(key)) this.hint({ kind: 'due', at: this.now })
  }

  /** Claimed work takes part in its rates until their windows have passed, or until it is given back without a start. */
  countRates({ ref, record, turn }: Entry, promptMs: number | undefined): void {
    const starts = releasesAtClaim(record.limits, this.now, promptMs)
    // Starts of earlier turns have happened.
    if (turn > 1 && starts.length > 0) this.releases = this.releases.map((one) => (one.ref === ref ? { ...one, ref: null } : one))
    for (const start of starts) this.releases.push({ ...start, ref })
  }

  /** A start that did not happen takes no part in its rates. */
  #returnRates({ ref }: Entry): void {
    this.releases = this.releases.map((one) => (one.ref === ref ? { ...one, freeAt: this.now, ref: null } : one))
  }

  hint(hint: Hint): void {
    this.hints.send(hint)
  }

  #leave(entry: Entry): void {
    if (entry.place === 'claimed') this.running -= 1
    if (entry.wait?.key != null) this.lines.remove(entry.wait.key, entry)
    this.aside.delete(entry)
    entry.ticket += 1
    entry.claim = null
    entry.wait = null
    entry.cause = null
  }
}

/** A caller's key, of one of the two kinds. */
export function keyOf({ tenant, job, key, unique }: Pick<OccurrenceRecord, 'tenant' | 'job' | 'key' | 'unique'>): string {
  return JSON.stringify([tenant, job, unique, key])
}
