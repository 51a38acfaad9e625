import type { AuditSeal } from '../../../model/audit.ts'
import type { AuditQuery } from '../../store.ts'
import { whereOf } from './conditions.ts'

/** The columns of an entry. */
export const auditFields = [
  'act',
  'target',
  'actor',
  'action',
  'tenant',
  'job',
  'before',
  'after',
  'reason',
  'event',
  'refs',
  'data',
] as const
export const auditColumns = `seq, at, ${auditFields.join(', ')}`
export const sealColumns = 'segment, first, last, count, rows, content, previous, hash, sealed_at, newest_at, dropped_at'

/** In the order of the columns. */
export function sealValues(seal: AuditSeal): readonly (string | number | null)[] {
  const { segment, first, last, count, rows, content, previous, hash, sealedAt, newestAt, droppedAt } = seal
  return [segment, first, last, count, JSON.stringify(rows), content, previous, hash, sealedAt, newestAt, droppedAt]
}

export interface AuditSealRow {
  readonly segment: number
  readonly first: number
  readonly last: number
  readonly count: number
  readonly rows: string
  readonly content: string
  readonly previous: string
  readonly hash: string
  readonly sealed_at: number
  readonly newest_at: number
  readonly dropped_at: number | null
}

/** A text that is no list any more is damage, which `verify` reports. */
export function auditSeal({ sealed_at, newest_at, dropped_at, rows, ...seal }: AuditSealRow): AuditSeal {
  return { ...seal, rows: readRows(rows), sealedAt: sealed_at, newestAt: newest_at, droppedAt: dropped_at }
}

function readRows(text: string): AuditSeal['rows'] {
  try {
    const rows: unknown = JSON.parse(text)
    return Array.isArray(rows) ? (rows as AuditSeal['rows']) : []
  } catch {
    return []
  }
}

/** The conditions of a query for rows, their values and the order. `mark` writes the placeholder of the n-th value. */
export function askedAudit(
  query: Extract<AuditQuery, { of: 'rows' }>,
  mark: (n: number) => string,
): { readonly where: string; readonly values: readonly (string | number)[]; readonly order: string } {
  const { tenant, job, target, actor, action, event, from, to, order, beyond } = query
  const isNewest = order === 'newest'
  const { where, values } = whereOf(
    [
      ['tenant = ?', tenant],
      ['job = ?', job],
      ['target = ?', target],
      ['actor = ?', actor],
      ['action = ?', action],
      ['event = ?', event],
      ['at >= ?', from],
      ['at < ?', to],
      [isNewest ? 'seq < ?' : 'seq > ?', beyond],
    ],
    mark,
  )
  return { where, values, order: `ORDER BY seq ${isNewest ? 'DESC' : ''}` }
}
