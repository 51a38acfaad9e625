import { covers, type PauseRecord } from '../../model/pause.ts'
import { pauseAudit } from '../rules/audit.ts'
import { pauseMessage } from '../rules/message.ts'
import { pauseRule } from '../rules/pause.ts'
import { type PauseRow, pauseRecord } from '../rules/sql/pause-row.ts'
import type { PauseAnswer, PauseRequest } from '../store.ts'
import { appendAudit } from './audit.ts'
import type { Transaction } from './connection/transaction.ts'
import { findJob } from './jobs.ts'
import { type Entry, grantedEntries, readEntry } from './occurrence/entry.ts'
import { addMessage } from './occurrence/insert.ts'
import { makeReady, takeGrantBack } from './occurrence/live-tables.ts'

const select = 'SELECT id, tenant, job, from_at, to_at, reason, by_whom FROM punctual_pause'

export function pause(tx: Transaction, request: PauseRequest): PauseAnswer {
  const { tenant, job, open } = request
  const { now } = tx
  const current = tx.one<PauseRow>(
    `${select} WHERE tenant IS ? AND job IS ? AND (to_at IS NULL OR to_at > ?) ORDER BY id LIMIT 1`,
    tenant,
    job,
    now,
  )
  const newest = tx.one<{ id: number | null }>('SELECT max(id) AS id FROM punctual_pause')?.id ?? 0
  const until = open?.until == null ? null : tx.dueAt(open.until)
  const answer = pauseRule(current && pauseRecord(current), request, { id: newest + 1, until, now })
  if (answer.outcome === 'unchanged') return answer
  appendAudit(tx, pauseAudit(current && pauseRecord(current), request, answer))
  const changed = answer.pause as PauseRecord
  write(tx, changed)
  tx.setMeta('pause_revision', tx.meta('pause_revision') + 1)
  tx.cache.pauses = null
  const spec = tenant === null || job === null ? undefined : findJob(tx, tenant, job)?.spec
  addMessage(tx, pauseMessage(spec?.publish, answer.outcome, changed, now))
  wakePaused(tx)
  // Work that a pause holds back holds no key that other jobs may need.
  if (answer.outcome === 'paused')
    for (const entry of grantedEntries(tx)) if (covers(changed, entry.record.tenant, entry.record.job)) takeGrantBack(tx, entry)
  tx.hints.push({ kind: 'job' })
  tx.hintDue(now)
  return answer
}

function write(tx: Transaction, { id, tenant, job, from, to, reason, by }: PauseRecord): void {
  tx.run(
    `INSERT INTO punctual_pause (id, tenant, job, from_at, to_at, reason, by_whom) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
      ON CONFLICT (id) DO UPDATE SET to_at = ?5, reason = ?6, by_whom = ?7`,
    ...[id, tenant, job, from, to, reason, by],
  )
}

/** Makes all paused work ready. Work that is still paused is set aside again by the next claim. */
function wakePaused(tx: Transaction): void {
  for (const { ref } of tx.all<{ ref: number }>("SELECT ref FROM punctual_aside WHERE reason = 'pause'")) {
    const entry = readEntry(tx, ref) as Entry
    makeReady(tx, entry, entry.dueAt)
  }
}

export function readPauses(tx: Transaction, { since }: { since?: number }): readonly PauseRecord[] {
  const rows =
    since === undefined
      ? tx.all<PauseRow>(`${select} ORDER BY id`)
      : tx.all<PauseRow>(`${select} WHERE to_at IS NULL OR to_at > ? ORDER BY id`, since)
  return rows.map(pauseRecord)
}

export function allPauses(tx: Transaction): readonly PauseRecord[] {
  tx.cache.pauses ??= readPauses(tx, {})
  return tx.cache.pauses
}
