import { occurrenceAudit, pruneAudit } from '../rules/audit.ts'
import { sealAudit } from '../rules/sql/audit.ts'
import { foldFigures } from '../rules/sql/figures.ts'
import { dropVersions } from '../rules/sql/jobs.ts'
import { dropExpiredTokens } from '../rules/sql/tokens.ts'
import type { PruneAnswer, PruneRequest, RetentionRule, Which } from '../store.ts'
import { appendAudit, audited } from './audit.ts'
import type { Transaction } from './connection/transaction.ts'
import { find } from './find.ts'
import { forgetGates } from './gate.ts'
import { foldCreated } from './occurrence/counts.ts'
import { type Entry, readEntry } from './occurrence/entry.ts'
import { remove, removeWithHook } from './occurrence/remove.ts'
import { dropRanges, pruneJob } from './prune/job.ts'
import { isLastEnd } from './schema/tables.ts'

/** Deletes ended occurrences, those that ended first before the others. Hooks that have not run keep theirs. */
export function prune(tx: Transaction, request: PruneRequest): PruneAnswer {
  const { endedBefore, keyRetentionMs, limit, auditBefore = null, pausesBefore = null, rules = [], only, audit } = request
  if (only) return pruneOnly(tx, only, request)
  if (request.job) return pruneJob(tx, request.job, request)
  tx.run('DELETE FROM punctual_tombstone WHERE until < ?', tx.now)
  forgetGates(tx, limit)
  tx.runSteps(sealAudit(tx.now, auditBefore))
  foldCreated(tx)
  tx.runSteps(foldFigures(tx.now))
  tx.runSteps(dropExpiredTokens(tx.now))
  if (pausesBefore !== null && tx.run('DELETE FROM punctual_pause WHERE to_at < ?', pausesBefore) > 0) tx.cache.pauses = null
  dropRanges(tx, request.rangesBefore ?? null)
  if (request.versionsBefore != null) tx.runSteps(dropVersions(request.versionsBefore))
  const own = rules.flatMap((rule) => {
    const series = tx.names.findSeries(rule.tenant, rule.job)?.ref
    return series === undefined ? [] : [{ series, ends: rule.ends }]
  })
  const refs = own.flatMap(({ series, ends }) => pastOf(tx, series, ends, limit)).slice(0, limit)
  if (endedBefore !== null && refs.length < limit) {
    const except = own.length === 0 ? '' : `AND series NOT IN (${own.map(({ series }) => series).join(', ')})`
    const rows = tx.all<{ ref: number }>(
      `SELECT ref FROM punctual_turn t WHERE ended_at < ? AND ${isLastEnd} ${except}
        AND ${hasNoHookNote} ORDER BY ended_at LIMIT ? + 0`,
      endedBefore,
      limit - refs.length,
    )
    refs.push(...rows.map(({ ref }) => ref))
  }
  for (const ref of refs) remove(tx, readEntry(tx, ref) as Entry, tx.now + keyRetentionMs)
  if (refs.length > 0) tx.blocks.prune()
  appendAudit(tx, pruneAudit(audit, refs.length))
  return { pruned: refs.length, more: refs.length === limit }
}

const hasNoHookNote = 'NOT EXISTS (SELECT 1 FROM punctual_hook_note u WHERE u.ref = t.ref)'
const pastAge = `SELECT ref FROM punctual_turn t INDEXED BY punctual_turn_ended
  WHERE ended_at < ? AND ${isLastEnd} AND series = ? AND end = ? AND ${hasNoHookNote} ORDER BY ended_at LIMIT ? + 0`
const firstBeyond = 'SELECT ref FROM punctual_turn WHERE series = ? AND end = ? ORDER BY ref DESC LIMIT 1 OFFSET ? + 0'
const allBeyond = `SELECT ref FROM punctual_turn t WHERE series = ? AND end = ? AND ref <= ? AND ${hasNoHookNote} ORDER BY ref LIMIT ? + 0`

/** The ended occurrences of a job that its rule lets go. Neither look walks the records that stay, but for those that `count` keeps. */
function pastOf(tx: Transaction, series: number, ends: RetentionRule['ends'], limit: number): number[] {
  return Object.entries(ends).flatMap(([end, { endedBefore, count }]) => {
    const old = endedBefore === null ? [] : tx.all<{ ref: number }>(pastAge, endedBefore, series, end, limit)
    const first = count === null ? undefined : tx.one<{ ref: number }>(firstBeyond, series, end, count)
    const beyond = first ? tx.all<{ ref: number }>(allBeyond, series, end, first.ref, limit) : []
    return [...new Set([...old, ...beyond].map(({ ref }) => ref))]
  })
}

/** Deletes one record that is no longer needed by anyone. */
function pruneOnly(tx: Transaction, which: Which, { keyRetentionMs, audit }: PruneRequest): PruneAnswer {
  const entry = find(tx, which)
  if (!entry) return { pruned: 0, more: false, outcome: 'unknown' }
  if (entry.place !== 'ended') return { pruned: 0, more: false, outcome: 'live' }
  foldCreated(tx)
  appendAudit(tx, occurrenceAudit(audit, audited(tx, entry), null))
  removeWithHook(tx, entry, tx.now + keyRetentionMs)
  tx.blocks.prune()
  return { pruned: 1, more: false, outcome: 'deleted' }
}
