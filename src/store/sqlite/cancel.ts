import { occurrenceAudit } from '../rules/audit.ts'
import { isOvertaken } from '../rules/conflict.ts'
import type { CancelAnswer, CancelRequest } from '../store.ts'
import { appendAudit, audited } from './audit.ts'
import type { Transaction } from './connection/transaction.ts'
import { find } from './find.ts'
import { endUnattended, requestCancel } from './occurrence/ends.ts'
import { type Entry, readEntry } from './occurrence/entry.ts'

export function cancel(
  tx: Transaction,
  { which, reason, audit, children = false, keyVersion }: CancelRequest,
): readonly CancelAnswer[] {
  const found = 'entity' in which ? ofEntity(tx, which) : [find(tx, which)].filter((entry) => entry !== null)
  const current = found.filter(({ record }) => !isOvertaken(record.keyVersion, keyVersion))
  const all = children ? withDescendants(tx, current) : current
  return all.map((entry) => {
    const before = audited(tx, entry)
    const outcome = cancelOne(tx, entry, reason)
    if (audit) appendAudit(tx, occurrenceAudit(audit, before, audited(tx, readEntry(tx, entry.ref) as Entry)))
    return { id: entry.id, outcome }
  })
}

function ofEntity(tx: Transaction, { tenant, job, entity }: { tenant: string; job: string; entity: string }): Entry[] {
  const rows = tx.all<{ ref: number }>(
    'SELECT ref FROM punctual_occurrence WHERE series = ? AND entity = ? ORDER BY ref',
    tx.names.findSeries(tenant, job)?.ref ?? null,
    entity,
  )
  return rows.map(({ ref }) => readEntry(tx, ref) as Entry).filter(({ place }) => place !== 'ended')
}

const descendants = `WITH RECURSIVE tree (ref, id) AS (
    SELECT ref, id FROM punctual_occurrence WHERE ref = ?
    UNION SELECT o.ref, o.id FROM tree t JOIN punctual_occurrence o INDEXED BY punctual_occurrence_parent ON o.parent = t.id)
  SELECT ref FROM tree`

/** The entries, and all below them that have not ended, in the order of their creation. */
function withDescendants(tx: Transaction, roots: readonly Entry[]): Entry[] {
  const below = roots.flatMap(({ ref }) => tx.all<{ ref: number }>(descendants, ref).map((row) => row.ref))
  const own = new Map(roots.map((entry) => [entry.ref, entry]))
  return [...new Set(below)]
    .sort((a, b) => a - b)
    .map((ref) => own.get(ref) ?? (readEntry(tx, ref) as Entry))
    .filter((entry) => own.has(entry.ref) || entry.place !== 'ended')
}

function cancelOne(tx: Transaction, entry: Entry, reason: string | null): CancelAnswer['outcome'] {
  if (entry.place === 'claimed') {
    requestCancel(tx, entry, reason)
    return 'canceling'
  }
  if (entry.place === 'ended') return entry.state === 'canceled' ? 'canceled' : 'ended'
  endUnattended(tx, entry, 'canceled', reason)
  return 'canceled'
}
