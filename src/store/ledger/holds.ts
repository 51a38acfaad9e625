// The limits of design: keys are granted in the commit that claims, and freed in the one that ends the holder.

import type { Hold } from '../../model/hold.ts'
import type { WaitRecord } from '../../model/occurrence.ts'
import { type Entry, endOf, type Ledger } from './ledger.ts'

/** Whether a due entry may run: it has all its keys, waits for one, or gives way to another. */
export type Grant =
  | { readonly granted: true }
  | { readonly granted: false; readonly wait: WaitRecord }
  | { readonly granted: false; readonly skip: string }

export function acquire(ledger: Ledger, entry: Entry, now: number): Grant {
  const taken: Hold[] = []
  const refuse = (grant: Grant): Grant => {
    // A place in the overlap is kept while waiting for something else; nothing else is held idle.
    for (const hold of taken) if (hold.kind !== 'overlap') ledger.free(entry, hold.key)
    return grant
  }
  const holds = entry.record.holds ?? []
  for (const hold of holds) {
    if (hold.perMs !== undefined || entry.holding.has(hold.key)) continue
    const blocked = isTaken(ledger, hold) ? giveWay(ledger, entry, hold) : null
    if (blocked) return refuse(blocked)
    holdersOf(ledger, hold.key).add(entry)
    entry.holding.add(hold.key)
    taken.push(hold)
  }
  // Rates come last, so that no start is counted for one that waits for something else.
  const rates = holds.filter((hold) => hold.perMs !== undefined)
  for (const rate of rates) {
    const wakeAt = nextStart(ledger, rate, now)
    if (wakeAt !== null) return refuse({ granted: false, wait: { reason: 'rate', key: null, wakeAt } })
  }
  for (const { key, perMs = 0 } of rates) ledger.noteStart(key, perMs)
  return { granted: true }
}

/** What a taken key means; null when it has become free. */
function giveWay(ledger: Ledger, entry: Entry, hold: Hold): Grant | null {
  // One that was tried before is a person's wish: it waits for its turn.
  const policy = entry.turn === 1 ? hold.policy : 'queue'
  if (policy === 'skip') return { granted: false, skip: firstId(holdersOf(ledger, hold.key)) }
  if (policy === 'cancel-previous') {
    for (const holder of [...holdersOf(ledger, hold.key)]) cancelForNext(ledger, holder, entry)
    if (!isTaken(ledger, hold)) return null
  }
  const queued = [...ledger.waiting].filter((other) => other.wait?.key === hold.key)
  if (policy !== undefined && policy !== 'queue' && queued.length > 0) return { granted: false, skip: firstId(queued) }
  return { granted: false, wait: { reason: hold.kind, key: hold.key, wakeAt: null } }
}

function cancelForNext(ledger: Ledger, holder: Entry, next: Entry): void {
  const reason = `gave way to ${next.record.id}`
  if (holder.place !== 'claimed') return ledger.endTurn(holder, endOf(holder, 'canceled', ledger.now, { reason }))
  holder.cancel ??= { reason }
  ledger.hint({ kind: 'cancel' })
}

function isTaken(ledger: Ledger, { key, limit }: Hold): boolean {
  return ledger.holderCount(key) >= limit
}

function holdersOf(ledger: Ledger, key: string): Set<Entry> {
  const holders = ledger.holders.get(key) ?? new Set()
  ledger.holders.set(key, holders)
  return holders
}

function firstId(entries: Iterable<Entry>): string {
  const [first] = entries
  return (first as Entry).record.id
}

/** When the next start fits into the window; null when it does now. */
function nextStart(ledger: Ledger, { key, limit, perMs = 0 }: Hold, now: number): number | null {
  const recent = (ledger.starts.get(key) ?? []).filter((at) => at > now - perMs)
  ledger.starts.set(key, recent)
  const oldest = recent[recent.length - limit]
  return oldest === undefined ? null : oldest + perMs
}
