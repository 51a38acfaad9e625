import type { Limit, LimitKind } from '../../../model/limit.ts'
import type { PauseRecord } from '../../../model/pause.ts'
import type { Door, Verdict } from '../../rules/door.ts'
import { verdictOn } from '../../rules/verdict.ts'
import type { PassedOccurrence } from '../../store.ts'
import type { Transaction } from '../connection/transaction.ts'
import { servedKinds } from '../nodes.ts'
import { endTurn, endUnattended, requestCancel } from '../occurrence/ends.ts'
import { type Entry, liveColumns, occurrenceColumns, readEntry } from '../occurrence/entry.ts'
import { countRates, writeReleases } from '../occurrence/keys.ts'
import { leave, makeReady, makeWait, setAside } from '../occurrence/live-tables.ts'
import { entryOf, type WorkRow } from './due-entries.ts'
import { KeyCounts } from './key-counts.ts'

/** Arrivals that one pass looks at: the next goes on from there. */
const mostArrivals = 2000

/** The doorman's view of the file, during one claim. The write lock is the door's lock. */
export class SqliteDoor implements Door<Entry> {
  readonly #tx: Transaction
  readonly #dueBy: number
  readonly #pauses: readonly PauseRecord[]
  readonly #keys: KeyCounts
  /** Work that no table holds while the door decides about it. */
  readonly #inHand = new Map<number, Entry>()
  /** Work that was let in. It becomes a row only if the claim has no room for it. */
  readonly #granted = new Set<Entry>()
  #served: ReadonlySet<string> | null = null
  readonly passed: PassedOccurrence[] = []

  constructor(tx: Transaction, dueBy: number, pauses: readonly PauseRecord[]) {
    this.#tx = tx
    this.#dueBy = dueBy
    this.#pauses = pauses
    this.#keys = new KeyCounts(tx)
  }

  /** Work of these kinds that was let in. */
  grantedOf(kinds: readonly string[]): Entry[] {
    return [...this.#granted].filter(({ kind, dueAt }) => kinds.includes(kind) && dueAt <= this.#dueBy)
  }

  /** Takes an entry for the claim. */
  claim(entry: Entry, promptMs: number | undefined): void {
    if (!this.#granted.delete(entry)) leave(this.#tx, entry)
    entry.place = 'claimed'
    countRates(this.#tx, entry, promptMs)
  }

  /** Writes what the claim has no room for, which is another's to take. */
  writeGranted(): void {
    for (const entry of this.#granted) makeReady(this.#tx, entry, entry.dueAt)
    if (this.#granted.size > 0) this.#tx.hintDue(this.#tx.now)
    this.#granted.clear()
  }

  finish(): void {
    this.writeGranted()
    this.#keys.write()
    if (this.#tx.releases.length > 0) writeReleases(this.#tx)
  }

  takeReleases(): { key: string; slots: number }[] {
    const { now, releases } = this.#tx
    const due = releases.filter(({ freeAt }) => freeAt <= now)
    if (due.length > 0) this.#tx.releases = releases.filter(({ freeAt }) => freeAt > now)
    const written = this.#tx.all<{ key: string; slots: number }>(
      'SELECT key, slots FROM punctual_release WHERE free_at <= ? ORDER BY free_at, seq',
      now,
    )
    if (written.length > 0) this.#tx.run('DELETE FROM punctual_release WHERE free_at <= ?', now)
    return [...written, ...due]
  }

  hasReleases(): boolean {
    return this.#tx.releases.some(({ freeAt }) => freeAt <= this.#tx.now)
  }

  takeArrivals(): Entry[] {
    const tx = this.#tx
    const due: Entry[] = []
    let row = tx.one<ArrivalKind>(nextArrival, -1)
    for (; row; row = tx.one<ArrivalKind>(nextArrival, row.kind)) {
      if (row.due_at > this.#dueBy || !this.isServed(tx.names.kindName(row.kind))) continue
      const rows = tx.all<WorkRow>(selectArrivals, row.kind, this.#dueBy, mostArrivals)
      for (const one of rows) due.push(entryOf(tx, one, 'arrival'))
    }
    const taken = due.sort(byDue).slice(0, mostArrivals)
    for (const entry of taken) {
      leave(tx, entry)
      this.#inHand.set(entry.ref, entry)
    }
    return taken
  }

  verdict({ record, dueAt, hasBegun }: Entry): Verdict | null {
    if (this.#pauses.length === 0 && record.startWithinMs === null) return null
    return verdictOn({ ...record, dueAt, hasBegun }, this.#pauses, this.#tx.now)
  }

  isServed(kind: string): boolean {
    this.#served ??= servedKinds(this.#tx)
    return this.#served.has(kind)
  }

  used(key: string): number {
    return this.#keys.used(key)
  }

  setUsed(key: string, used: number): void {
    this.#keys.setUsed(key, used)
  }

  holder(key: string): Entry | null {
    const ref = this.#keys.holder(key)
    return ref === null ? null : (this.#inHand.get(ref) ?? readEntry(this.#tx, ref))
  }

  setHolder(key: string, entry: Entry): void {
    if (entry.limits[entry.granted]?.kind === 'overlap') this.#keys.setHolder(key, entry.ref)
  }

  lineKind(key: string): LimitKind | null {
    const select = 'SELECT reason FROM punctual_waiting WHERE key = ? LIMIT 1'
    return this.#tx.one<{ reason: LimitKind }>(select, key)?.reason ?? null
  }

  *line(key: string): Generator<Entry, void, undefined> {
    const tx = this.#tx
    let last: LineRow = { priority: -1, recovery: 0, due_at: 0, ref: 0 }
    for (let size = 2; ; size *= 8) {
      const rows = tx.all<WorkRow & LineRow & { readonly reason: LimitKind }>(
        selectLine,
        key,
        last.priority,
        last.recovery,
        last.due_at,
        last.ref,
        size,
      )
      for (const row of rows) {
        const entry = entryOf(tx, row, 'waiting')
        entry.wait = { reason: row.reason, key, wakeAt: null }
        yield entry
      }
      if (rows.length < size) return
      last = rows.at(-1) as LineRow
    }
  }

  leaveLine(entry: Entry): void {
    leave(this.#tx, entry)
    this.#inHand.set(entry.ref, entry)
  }

  wait(entry: Entry, limit: Limit): void {
    this.#inHand.delete(entry.ref)
    makeWait(this.#tx, entry, limit)
  }

  advance(entry: Entry): Entry {
    entry.granted += 1
    return entry
  }

  grant(entry: Entry): void {
    this.#granted.add(entry)
  }

  pass(entry: Entry, verdict: Verdict): void {
    this.#inHand.delete(entry.ref)
    this.#granted.delete(entry)
    if (!('state' in verdict)) return setAside(this.#tx, entry, verdict)
    const { id, tenant, job } = entry.record
    endTurn(this.#tx, entry, entry.endRow(verdict.state, this.#tx.now, { reason: verdict.reason }))
    this.passed.push({ id, tenant, job, ...verdict })
  }

  cancelHolder(key: string, next: Entry): void {
    const holder = this.holder(key)
    const reason = `gave way to ${next.id}`
    if (holder?.place === 'claimed') requestCancel(this.#tx, holder, reason)
    else if (holder?.isIdle) {
      const { id, tenant, job } = holder.record
      this.#inHand.delete(holder.ref)
      this.#granted.delete(holder)
      endUnattended(this.#tx, holder, 'canceled', reason)
      this.passed.push({ id, tenant, job, state: 'canceled', reason })
    }
  }
}

interface ArrivalKind {
  readonly kind: number
  readonly due_at: number
}

const nextArrival = 'SELECT kind, due_at FROM punctual_arrival WHERE kind > ? ORDER BY kind, due_at LIMIT 1'
const selectArrivals = `SELECT ${occurrenceColumns}, ${liveColumns} FROM punctual_arrival w CROSS JOIN punctual_occurrence o ON o.ref = w.ref
  WHERE w.kind = ? AND w.due_at <= ? ORDER BY w.due_at, w.ref LIMIT ? + 0`

function byDue(a: Entry, b: Entry): number {
  return a.dueAt - b.dueAt || a.ref - b.ref
}

/** A place in a line. */
interface LineRow {
  readonly priority: number
  readonly recovery: number
  readonly due_at: number
  readonly ref: number
}

const selectLine = `SELECT ${occurrenceColumns}, ${liveColumns}, w.priority, w.recovery, w.reason
  FROM punctual_waiting w CROSS JOIN punctual_occurrence o ON o.ref = w.ref
  WHERE w.key = ? AND (w.priority, w.recovery, w.due_at, w.ref) > (?, ?, ?, ?)
  ORDER BY w.priority, w.recovery, w.due_at, w.ref LIMIT ? + 0`
