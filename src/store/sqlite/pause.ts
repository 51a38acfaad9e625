import { covers, type PauseRecord } from '../../model/pause.ts'
import { pauseMessage } from '../rules/message.ts'
import * as shared from '../rules/sql/pauses.ts'
import type { PauseAnswer, PauseRequest } from '../store.ts'
import type { Transaction } from './connection/transaction.ts'
import { findJob } from './jobs.ts'
import { type Entry, grantedEntries, readEntry } from './occurrence/entry.ts'
import { addMessage } from './occurrence/insert.ts'
import { makeReady, takeGrantBack } from './occurrence/live-tables.ts'

export function pause(tx: Transaction, request: PauseRequest): PauseAnswer {
  const { now } = tx
  const { answer } = tx.runSteps(shared.putPause(now, request))
  const { outcome, pause: changed } = answer
  if (outcome === 'unchanged' || !changed) return answer
  tx.setMeta('pause_revision', tx.meta('pause_revision') + 1)
  tx.cache.pauses = null
  const { tenant, job } = changed
  const spec = tenant === null || job === null ? undefined : findJob(tx, tenant, job)?.spec
  addMessage(tx, pauseMessage(spec?.publish, outcome, changed, now))
  wakePaused(tx)
  // Work that a pause holds back holds no key that other jobs may need.
  if (outcome === 'paused')
    for (const entry of grantedEntries(tx)) if (covers(changed, entry.record.tenant, entry.record.job)) takeGrantBack(tx, entry)
  tx.hints.push({ kind: 'job' })
  tx.hintDue(now)
  return answer
}

/** Makes all paused work ready. Work that is still paused is set aside again by the next claim. */
function wakePaused(tx: Transaction): void {
  for (const { ref } of tx.all<{ ref: number }>("SELECT ref FROM punctual_aside WHERE reason = 'pause'")) {
    const entry = readEntry(tx, ref) as Entry
    makeReady(tx, entry, entry.dueAt)
  }
}

export function readPauses(tx: Transaction, query: { since?: number }): readonly PauseRecord[] {
  return tx.runSteps(shared.readPauses(query))
}

export function allPauses(tx: Transaction): readonly PauseRecord[] {
  tx.cache.pauses ??= readPauses(tx, {})
  return tx.cache.pauses
}
