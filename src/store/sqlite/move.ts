import type { MoveAnswer, MoveRequest } from '../store.ts'
import type { Transaction } from './connection/transaction.ts'
import { find } from './find.ts'
import { endUnattended } from './occurrence/ends.ts'
import type { Entry } from './occurrence/entry.ts'
import { addLiveKey } from './occurrence/insert.ts'
import { makeReady, reschedule } from './occurrence/places.ts'

export function move(tx: Transaction, { which, to }: MoveRequest): MoveAnswer {
  const entry = find(tx, which)
  if (!entry) return 'unknown'
  if (entry.place === 'claimed') return 'running'
  if ('due' in to) {
    if (entry.place === 'ended') return 'ended'
    reschedule(tx, entry, tx.dueAt(to.due))
    tx.hintDue(entry.dueAt)
    return 'moved'
  }
  if (entry.state !== 'dead') return entry.place === 'ended' ? 'ended' : 'not-dead'
  entry.turn += 1
  if ('discard' in to) {
    endUnattended(tx, entry, 'canceled', to.discard)
    return 'moved'
  }
  revive(tx, entry, tx.dueAt(to.retry))
  return 'moved'
}

function revive(tx: Transaction, entry: Entry, dueAt: number): void {
  const { series, ref, record } = entry
  entry.isRetrying = true
  makeReady(tx, entry, dueAt)
  if (record.key !== null && record.unique === 'live') {
    const owned = 'SELECT 1 FROM punctual_live_key WHERE series = ? AND key = ? AND owner = 1'
    addLiveKey(tx, { series, key: record.key, ref }, tx.one(owned, series, record.key) === undefined)
  }
  tx.hintDue(dueAt)
}
