import { occurrenceAudit } from '../rules/audit.ts'
import { movedRecord } from '../rules/moved-record.ts'
import type { MoveAnswer, MoveRequest } from '../store.ts'
import { appendAudit, audited } from './audit.ts'
import { giveBack } from './beat.ts'
import type { Transaction } from './connection/transaction.ts'
import { find } from './find.ts'
import { endUnattended, startOf } from './occurrence/ends.ts'
import { type Entry, readEntry } from './occurrence/entry.ts'
import { addLiveKey, updateOccurrence } from './occurrence/insert.ts'
import { makeReady, reschedule } from './occurrence/live-tables.ts'

export function move(tx: Transaction, { which, to, audit }: MoveRequest): MoveAnswer {
  const entry = find(tx, which)
  if (!entry) return 'unknown'
  const before = audited(tx, entry)
  const answer = moveEntry(tx, entry, to)
  if (audit && answer === 'moved') appendAudit(tx, occurrenceAudit(audit, before, audited(tx, readEntry(tx, entry.ref) as Entry)))
  return answer
}

function moveEntry(tx: Transaction, entry: Entry, to: MoveRequest['to']): MoveAnswer {
  if ('release' in to) return release(tx, entry, to.release)
  if (entry.place === 'claimed') return 'running'
  if ('due' in to) {
    if (entry.place === 'ended') return 'ended'
    moveDue(tx, entry, tx.dueAt(to.due))
    tx.hintDue(entry.dueAt)
    return 'moved'
  }
  if (entry.state !== 'dead') return entry.place === 'ended' ? 'ended' : 'not-dead'
  entry.turn += 1
  if ('discard' in to) {
    endUnattended(tx, entry, 'canceled', to.discard)
    return 'moved'
  }
  if (to.payload !== undefined) replacePayload(tx, entry, to.payload)
  revive(tx, entry, tx.dueAt(to.retry))
  return 'moved'
}

function moveDue(tx: Transaction, entry: Entry, dueAt: number): void {
  const record = movedRecord(entry.record, entry.hasBegun, dueAt)
  if (record !== entry.record) updateOccurrence(tx, entry, record)
  reschedule(tx, entry, dueAt, record)
}

function replacePayload(tx: Transaction, entry: Entry, payload: string | null): void {
  entry.record = { ...entry.record, payload }
  tx.run('UPDATE punctual_occurrence SET payload = ? WHERE ref = ?', payload, entry.ref)
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

function release(tx: Transaction, entry: Entry, reason: string | null): MoveAnswer {
  const { node, place } = entry
  if (place !== 'claimed') return place === 'ended' ? 'ended' : 'not-running'
  // The handler may have begun without a note of it.
  giveBack(tx, entry, { node, startedAt: startOf(tx, entry) ?? tx.now, reason })
  if (node !== null) tx.hints.push({ kind: 'cancel', node })
  return 'moved'
}
