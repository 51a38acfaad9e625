import { type AuditDigest, type AuditEntry, type AuditRecord, type AuditSeal, rowDigest, sealOf } from '../../model/audit.ts'
import { type AuditedOccurrence, mostPerSegment } from '../rules/audit.ts'
import {
  type AuditSealRow,
  askedAudit,
  auditColumns,
  auditFields,
  auditSeal,
  sealColumns,
  sealValues,
} from '../rules/sql/audit-row.ts'
import type { AuditQuery } from '../store.ts'
import type { Transaction } from './connection/transaction.ts'
import { cancelOf } from './occurrence/ends.ts'
import type { Entry } from './occurrence/entry.ts'

const append = `INSERT INTO punctual_audit (at, ${auditFields.join(', ')}) VALUES (?${', ?'.repeat(auditFields.length)})
  ON CONFLICT DO NOTHING RETURNING seq`

/** Appends what is not there yet: an act that is repeated is written once. */
export function appendAudit(tx: Transaction, ...entries: readonly (AuditEntry | null)[]): void {
  for (const entry of entries) {
    if (!entry) continue
    const row = tx.one<{ seq: number }>(append, tx.now, ...auditFields.map((field) => entry[field]))
    if (!row) continue
    const digest = rowDigest({ ...entry, seq: row.seq, at: tx.now })
    tx.run('INSERT INTO punctual_audit_open (seq, digest) VALUES (?, ?)', row.seq, digest)
  }
}

/** The entry as the audit shows it. A cancel of running work is a request: it shows as `canceling`. */
export function audited(tx: Transaction, { id, ref, record, state, dueAt, isIdle }: Entry): AuditedOccurrence {
  const { tenant, job } = record
  const shown = state === 'running' && cancelOf(tx, ref) ? 'canceling' : state
  return { id, tenant, job, state: shown, dueAt: isIdle ? dueAt : 0 }
}

/** Seals what was appended since, and drops whole segments whose rows are all older than `before`. */
export function sealAudit(tx: Transaction, before: number | null): void {
  const rows = unsealed(tx, 0, mostPerSegment)
  const last = rows.at(-1)?.[0]
  if (last !== undefined) {
    const newest = tx.one<Pick<AuditSeal, 'segment' | 'hash'>>(
      'SELECT segment, hash FROM punctual_audit_seal ORDER BY segment DESC LIMIT 1',
    )
    const written = tx.one<{ at: number | null }>(
      'SELECT max(at) AS at FROM punctual_audit WHERE seq IN (SELECT seq FROM punctual_audit_open WHERE seq <= ?)',
      last,
    )
    const seal = sealOf(rows, newest ?? null, { newestAt: written?.at ?? tx.now, now: tx.now })
    const values = sealValues(seal)
    tx.run(`INSERT INTO punctual_audit_seal (${sealColumns}) VALUES (?${', ?'.repeat(values.length - 1)})`, ...values)
    tx.run('DELETE FROM punctual_audit_open WHERE seq <= ?', last)
  }
  if (before === null) return
  const select =
    'SELECT segment, first, last FROM punctual_audit_seal WHERE dropped_at IS NULL AND newest_at < ? ORDER BY segment LIMIT 10'
  for (const { segment, first, last: end } of tx.all<AuditSealRow>(select, before)) {
    tx.run("UPDATE punctual_audit_seal SET dropped_at = ?, rows = '[]' WHERE segment = ?", tx.now, segment)
    tx.run('DELETE FROM punctual_audit WHERE seq BETWEEN ? AND ?', first, end)
  }
}

function unsealed(tx: Transaction, beyond: number, limit: number): AuditDigest[] {
  const select = 'SELECT seq, digest FROM punctual_audit_open WHERE seq > ? ORDER BY seq LIMIT ? + 0'
  return tx.all<{ seq: number; digest: string }>(select, beyond, limit).map(({ seq, digest }) => [seq, digest])
}

export function listAudit(tx: Transaction, query: AuditQuery): readonly unknown[] {
  if (query.of === 'unsealed') return unsealed(tx, query.beyond, query.limit)
  if (query.of === 'seals') {
    const select = `SELECT ${sealColumns} FROM punctual_audit_seal WHERE segment > ? ORDER BY segment LIMIT ? + 0`
    return tx.all<AuditSealRow>(select, query.beyond, query.limit).map(auditSeal)
  }
  const { where, values, order } = askedAudit(query, () => '?')
  return tx.all<AuditRecord>(`SELECT ${auditColumns} FROM punctual_audit ${where} ${order} LIMIT ? + 0`, ...values, query.limit)
}
