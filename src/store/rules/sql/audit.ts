import { type AuditDigest, type AuditEntry, type AuditRecord, type AuditSeal, rowDigest, sealOf } from '../../../model/audit.ts'
import type { AuditQuery } from '../../store.ts'
import { mostPerSegment } from '../audit.ts'
import { whereOf } from './conditions.ts'
import { asJson, type Clock, marks, rows, type Steps, storeNow } from './steps.ts'

/** The columns of an entry. */
const fields = [
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
const columns = `seq, at, ${fields.join(', ')}`
const sealColumns = 'segment, first, last, count, rows, content, previous, hash, sealed_at, newest_at, dropped_at'

const append = `INSERT INTO punctual.audit (at, ${fields.join(', ')})
  SELECT ${storeNow}, ${fields.map((field) => `e.value ->> '${field}'`).join(', ')} FROM json_array_elements($2::json) e WHERE true
  ON CONFLICT DO NOTHING RETURNING ${columns}`
const appendDigests = `INSERT INTO punctual.audit_open (seq, digest)
  SELECT (e.value ->> 'seq')::bigint, e.value ->> 'digest' FROM json_array_elements($1::json) e`

/** Appends what is not there yet: an act that is repeated is written once. */
export function* appendAudit(clock: Clock, entries: readonly (AuditEntry | null)[]): Steps<void> {
  const given = entries.filter((entry) => entry !== null)
  if (given.length === 0) return
  const added = (yield* rows<AuditRecord>(append, [clock, asJson(given)])).map(auditRecord)
  if (added.length > 0) yield* rows(appendDigests, [asJson(added.map((row) => ({ seq: row.seq, digest: rowDigest(row) })))])
}

/** In a caller's transaction numbers may come as text. */
function auditRecord(row: AuditRecord): AuditRecord {
  return { ...row, seq: Number(row.seq), at: Number(row.at) }
}

interface OpenRow {
  readonly seq: number
  readonly digest: string
}

const takeOpen = `DELETE FROM punctual.audit_open
  WHERE seq IN (SELECT seq FROM punctual.audit_open ORDER BY seq LIMIT ${mostPerSegment}) RETURNING seq, digest`

/**
 * Seals what was appended since, and drops whole segments whose rows are all older than `before`. Rows of transactions that commit
 * later, with smaller numbers, go into the next segment: each seal names its rows. One node at a time seals.
 */
export function* sealAudit(now: number, before: number | null): Steps<void> {
  const open = (yield* rows<OpenRow>(takeOpen)).toSorted((a, b) => a.seq - b.seq)
  if (open.length > 0) {
    const seqs = open.map(({ seq }) => seq)
    const [written] = yield* rows<{ at: number | null }>(
      'SELECT max(at) AS at FROM punctual.audit WHERE seq = ANY($1::bigint[])',
      [seqs],
    )
    const [newest = null] = yield* rows<Pick<AuditSeal, 'segment' | 'hash'>>(
      'SELECT segment, hash FROM punctual.audit_seal ORDER BY segment DESC LIMIT 1',
    )
    const values = sealValues(sealOf(open.map(auditDigest), newest, { newestAt: written?.at ?? now, now }))
    yield* rows(`INSERT INTO punctual.audit_seal (${sealColumns}) VALUES (${marks(values.length)})`, values)
  }
  if (before !== null) yield* drop(before, now)
}

function* drop(before: number, now: number): Steps<void> {
  const old = yield* rows<Pick<SealRow, 'segment' | 'rows'>>(
    'SELECT segment, rows FROM punctual.audit_seal WHERE dropped_at IS NULL AND newest_at < $1 ORDER BY segment LIMIT 10',
    [before],
  )
  for (const { segment, rows: sealed } of old) {
    yield* rows("UPDATE punctual.audit_seal SET dropped_at = $2, rows = '[]' WHERE segment = $1", [segment, now])
    yield* rows('DELETE FROM punctual.audit WHERE seq = ANY($1::bigint[])', [readRows(sealed).map(([seq]) => seq)])
  }
}

function auditDigest({ seq, digest }: Pick<OpenRow, 'seq' | 'digest'>): AuditDigest {
  return [seq, digest]
}

export function* listAudit(query: AuditQuery): Steps<readonly AuditRecord[] | readonly AuditSeal[] | readonly AuditDigest[]> {
  const { limit, beyond = 0 } = query
  if (query.of === 'unsealed') {
    const select = 'SELECT seq, digest FROM punctual.audit_open WHERE seq > $1 ORDER BY seq LIMIT $2::int + 0'
    return (yield* rows<OpenRow>(select, [beyond, limit])).map(auditDigest)
  }
  if (query.of === 'seals') {
    const select = `SELECT ${sealColumns} FROM punctual.audit_seal WHERE segment > $1 ORDER BY segment LIMIT $2::int + 0`
    return (yield* rows<SealRow>(select, [beyond, limit])).map(auditSeal)
  }
  const isNewest = query.order === 'newest'
  const { where, values } = whereOf(
    [
      ['tenant = ?', query.tenant],
      ['job = ?', query.job],
      ['target = ?', query.target],
      ['actor = ?', query.actor],
      ['action = ?', query.action],
      ['event = ?', query.event],
      ['at >= ?', query.from],
      ['at < ?', query.to],
      [isNewest ? 'seq < ?' : 'seq > ?', query.beyond],
    ],
    2,
  )
  const select = `SELECT ${columns} FROM punctual.audit WHERE ${where} ORDER BY seq ${isNewest ? 'DESC' : ''} LIMIT $1::int + 0`
  return (yield* rows<AuditRecord>(select, [limit, ...values])).map(auditRecord)
}

interface SealRow {
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

/** In the order of the columns. */
function sealValues(seal: AuditSeal): readonly (string | number | null)[] {
  const { segment, first, last, count, rows, content, previous, hash, sealedAt, newestAt, droppedAt } = seal
  return [segment, first, last, count, JSON.stringify(rows), content, previous, hash, sealedAt, newestAt, droppedAt]
}

/** A text that is no list any more is damage, which `verify` reports. */
function auditSeal({ sealed_at, newest_at, dropped_at, rows, ...seal }: SealRow): AuditSeal {
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
