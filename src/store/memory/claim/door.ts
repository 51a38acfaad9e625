import type { Limit, LimitKind } from '../../../model/limit.ts'
import type { PauseRecord } from '../../../model/pause.ts'
import { type Door, limitOf, type Verdict } from '../../rules/door.ts'
import { verdictOn } from '../../rules/verdict.ts'
import type { PassedOccurrence } from '../../store.ts'
import type { Entry } from '../entry.ts'
import type { State } from '../state.ts'

/** Arrivals that one pass looks at: the next goes on from there. */
const mostArrivals = 2000

/** The doorman's view of the state, during one claim. */
export class MemoryDoor implements Door<Entry> {
  readonly state: State
  readonly #dueBy: number
  readonly #pauses: readonly PauseRecord[]
  readonly passed: PassedOccurrence[] = []
  readonly granted: Entry[] = []

  constructor(state: State, dueBy: number) {
    this.state = state
    this.#dueBy = dueBy
    this.#pauses = state.pauses
  }

  takeReleases() {
    const { now, releases } = this.state
    const due = releases.filter(({ freeAt }) => freeAt <= now)
    if (due.length > 0) this.state.releases = releases.filter(({ freeAt }) => freeAt > now)
    return due
  }

  hasReleases(): boolean {
    return this.state.releases.some(({ freeAt }) => freeAt <= this.state.now)
  }

  takeArrivals(): Entry[] {
    const { arrivals, served } = this.state
    const taken: Entry[] = []
    while (taken.length < mostArrivals) {
      const entry = arrivals.earliest(served)
      if (!entry || entry.dueAt > this.#dueBy) break
      entry.ticket += 1
      taken.push(entry)
    }
    return taken
  }

  verdict(entry: Entry): Verdict | null {
    const { record, dueAt, hasBegun } = entry
    const needsLook = this.#pauses.length > 0 || record.startWithinMs !== null
    return needsLook ? verdictOn({ ...record, dueAt, hasBegun }, this.#pauses, this.state.now) : null
  }

  isServed(kind: string): boolean {
    return this.state.served.has(kind)
  }

  used(key: string): number {
    return this.state.used.get(key) ?? 0
  }

  setUsed(key: string, used: number): void {
    if (used < 0) throw new RangeError(`The count of ${key} fell below 0`)
    if (used > 0) this.state.used.set(key, used)
    else {
      this.state.used.delete(key)
      this.state.holders.delete(key)
    }
  }

  holder(key: string): Entry | null {
    return this.state.holders.get(key) ?? null
  }

  setHolder(key: string, entry: Entry): void {
    this.state.holders.set(key, entry)
  }

  lineKind(key: string): LimitKind | null {
    const first = this.state.lines.first(key)
    return first ? limitOf(first).kind : null
  }

  line(key: string): Iterable<Entry> {
    return this.state.lines.of(key)
  }

  leaveLine(entry: Entry): void {
    this.state.lines.remove(entry.wait?.key as string, entry)
  }

  wait(entry: Entry, limit: Limit): void {
    this.state.makeWait(entry, limit)
  }

  advance(entry: Entry): Entry {
    entry.granted += 1
    return entry
  }

  grant(entry: Entry): void {
    this.state.makeReady(entry, entry.dueAt)
    this.granted.push(entry)
  }

  pass(entry: Entry, verdict: Verdict): void {
    const state = this.state
    if (!('state' in verdict)) return state.setAside(entry, verdict)
    const { id, tenant, job } = entry
    state.endTurn(entry, entry.endRow(verdict.state, state.now, { reason: verdict.reason }))
    this.passed.push({ id, tenant, job, ...verdict })
  }

  cancelHolder(key: string, next: Entry): void {
    const state = this.state
    const holder = state.holders.get(key)
    const reason = `gave way to ${next.id}`
    if (holder?.place === 'claimed') {
      holder.cancel ??= { reason }
      state.hint({ kind: 'cancel', node: state.nodeOf(holder) as string })
    } else if (holder && holder.place !== 'ended') {
      const { id, tenant, job } = holder
      state.endUnattended(holder, 'canceled', reason)
      this.passed.push({ id, tenant, job, state: 'canceled', reason })
    }
  }
}
