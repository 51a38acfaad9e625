// Whether a due occurrence gets the keys it needs. All is decided under the write lock, so that limits hold across processes.
import type { Hold } from '../../model/limit.ts'
import type { WaitRecord } from '../../model/occurrence.ts'
import { bareEnd } from '../../model/turn.ts'
import { requestCancel } from './cancel-request.ts'
import { endTurn } from './ending.ts'
import { free, hold, holdersByAge, isTaken, keysOf } from './keys.ts'
import { takeOut } from './place.ts'
import { type Standing, standings } from './standing.ts'
import type { Transaction } from './transaction.ts'

/** Whether a due occurrence may run: it has all its keys, waits for one, or gives way to another. */
export type Grant = { readonly granted: true } | { readonly wait: WaitRecord } | { readonly skip: string }

interface Claimant {
  readonly ref: number
  readonly id: string
  readonly turn: number
  readonly holds: readonly Hold[]
}

export class Holds {
  readonly #tx: Transaction
  /** When occurrences were started, by the key of their rate: read once, however many ask. */
  readonly #starts = new Map<string, readonly number[]>()

  constructor(tx: Transaction) {
    this.#tx = tx
  }

  acquire(claimant: Claimant): Grant {
    const { ref, holds } = claimant
    const held = keysOf(this.#tx, ref)
    const taken: Hold[] = []
    for (const one of holds) {
      if (one.perMs !== undefined || held.includes(one.key)) continue
      const blocked = isTaken(this.#tx, one) ? giveWay(this.#tx, claimant, one) : null
      if (blocked) return this.#refuse(ref, taken, blocked)
      hold(this.#tx, ref, one.key)
      held.push(one.key)
      taken.push(one)
    }
    // Rates come last, so that no start is counted for one that waits for something else.
    const rates = holds.filter((one) => one.perMs !== undefined)
    for (const rate of rates) {
      const wakeAt = this.#nextStart(rate)
      if (wakeAt !== null) return this.#refuse(ref, taken, { wait: { reason: 'rate', key: null, wakeAt } })
    }
    for (const rate of rates) this.#noteStart(rate)
    return { granted: true }
  }

  /** A place in the overlap is kept while waiting for something else; nothing else is held idle. */
  #refuse(ref: number, taken: readonly Hold[], grant: Grant): Grant {
    for (const { kind, key } of taken) if (kind !== 'overlap') free(this.#tx, ref, key)
    return grant
  }

  /** When the next start fits into the window; null when it does now. */
  #nextStart({ key, limit, perMs = 0 }: Hold): number | null {
    const after = this.#tx.now - perMs
    const starts = this.#startsOf(key)
    const recent = starts.filter((at) => at > after)
    if (recent.length < starts.length) this.#tx.run('DELETE FROM punctual_rate_start WHERE key = ? AND at <= ?', key, after)
    this.#starts.set(key, recent)
    const oldest = recent[recent.length - limit]
    return oldest === undefined ? null : oldest + perMs
  }

  #noteStart({ key, perMs = 0 }: Hold): void {
    const { now } = this.#tx
    this.#starts.set(key, [...this.#startsOf(key), now])
    this.#tx.run('INSERT INTO punctual_rate_start (key, at, until) VALUES (?, ?, ?)', key, now, now + perMs)
  }

  #startsOf(key: string): readonly number[] {
    const known = this.#starts.get(key)
    if (known) return known
    return this.#tx.all<[number]>('SELECT at FROM punctual_rate_start WHERE key = ? ORDER BY seq', key).map(([at]) => at)
  }
}

/** What a taken key means; null when it has become free. */
function giveWay(tx: Transaction, claimant: Claimant, { kind, key, limit, ...hold }: Hold): Grant | null {
  // One that was tried before is a person's wish: it waits for its turn.
  const policy = claimant.turn === 1 ? hold.policy : 'queue'
  if (policy === 'skip') return { skip: firstHolder(tx, key) as string }
  if (policy === 'cancel-previous') {
    for (const ref of holdersByAge(tx, key)) cancelForNext(tx, ref, claimant.id)
    if (!isTaken(tx, { key, limit })) return null
  }
  const queued = policy === undefined || policy === 'queue' ? undefined : firstInQueue(tx, key)
  return queued === undefined ? { wait: { reason: kind, key, wakeAt: null } } : { skip: queued }
}

function firstHolder(tx: Transaction, key: string): string | undefined {
  return tx.one<[string]>(
    'SELECT o.id FROM punctual_hold h CROSS JOIN punctual_occurrence o ON o.ref = h.ref WHERE h.key = ? ORDER BY h.seq LIMIT 1',
    key,
  )?.[0]
}

function firstInQueue(tx: Transaction, key: string): string | undefined {
  return tx.one<[string]>(
    'SELECT o.id FROM punctual_waiting w CROSS JOIN punctual_occurrence o ON o.ref = w.ref WHERE w.key = ? ORDER BY w.seq LIMIT 1',
    key,
  )?.[0]
}

function cancelForNext(tx: Transaction, ref: number, next: string): void {
  const reason = `gave way to ${next}`
  const holder = standings(tx, 'o.ref = ?', ref)[0] as Standing
  if (holder.place === 'ready' || holder.place === 'waiting') {
    takeOut(tx, holder.place, holder)
    tx.stirred.push(ref)
    endTurn(tx, holder, bareEnd('canceled', tx.now, { reason }), holder.state)
  } else {
    requestCancel(tx, holder, reason)
    tx.hints.push({ kind: 'cancel' })
  }
}
