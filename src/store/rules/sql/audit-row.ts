import type { AuditSeal } from '../../../model/audit.ts'
import type { AuditQuery } from '../../store.ts'

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
  const asked: readonly (readonly [column: string, value: string | number | undefined])[] = [
    ['tenant =', tenant],
    ['job =', job],
    ['target =', target],
    ['actor =', actor],
    ['action =', action],
    ['event =', event],
    ['at >=', from],
    ['at <', to],
    [isNewest ? 'seq <' : 'seq >', beyond],
  ]
  const given = asked.flatMap(([column, value]) => (value === undefined ? [] : [[column, value] as const]))
  const where = given.map(([column], n) => `${column} ${mark(n)}`).join(' AND ')
  return {
    where: where && `WHERE ${where}`,
    values: given.map(([, value]) => value),
    order: `ORDER BY seq ${isNewest ? 'DESC' : ''}`,
  }
}
