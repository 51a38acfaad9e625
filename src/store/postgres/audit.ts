import { type AuditDigest, type AuditEntry, type AuditRecord, type AuditSeal, rowDigest, sealOf } from '../../model/audit.ts'
import { type AuditedOccurrence, mostPerSegment, occurrenceAudit } from '../rules/audit.ts'
import {
  type AuditSealRow,
  askedAudit,
  auditColumns,
  auditFields,
  auditSeal,
  sealColumns,
  sealValues,
} from '../rules/sql/audit-row.ts'
import type { AuditNote, AuditQuery } from '../store.ts'
import { column } from './connection/arrays.ts'
import { each } from './connection/by-key.ts'
import type { Session } from './connection/session.ts'
import { tryLock } from './connection/try-lock.ts'
import { type Context, readNow, storeNow } from './context.ts'
import { currentRows, currentState } from './occurrence/current-rows.ts'

const append = `INSERT INTO punctual.audit (at, ${auditFields.join(', ')})
  SELECT ${storeNow}, * FROM unnest(${auditFields.map((_, at) => `$${at + 2}::text[]`).join(', ')})
  ON CONFLICT DO NOTHING RETURNING ${auditColumns}`
const appendDigests = 'INSERT INTO punctual.audit_open (seq, digest) SELECT * FROM unnest($1::bigint[], $2::text[])'

/** Appends what is not there yet: an act that is repeated is written once. */
export async function appendAudit(
  session: Session,
  context: Pick<Context, 'now'>,
  entries: readonly (AuditEntry | null)[],
): Promise<void> {
  const given = entries.filter((entry) => entry !== null)
  if (given.length === 0) return
  const values = auditFields.map((field) => column(given.map((entry) => entry[field])))
  const added = (await session.rows<AuditRecord>(append, [context.now(), ...values])).map(auditRecord)
  if (added.length > 0) await session.rows(appendDigests, [column(added.map(({ seq }) => seq)), column(added.map(rowDigest))])
}

/** Writes what an act did to occurrences: their states and due times before and after it. */
export async function auditedOccurrences<Answer>(
  session: Session,
  context: Context,
  { audit, refs }: { readonly audit: AuditNote | undefined; readonly refs: readonly number[] },
  act: () => Promise<Answer>,
): Promise<Answer> {
  if (!audit || refs.length === 0) return act()
  const before = await occurrencesOf(session, refs)
  const answer = await act()
  const after = await occurrencesOf(session, refs)
  const entries = [...before].map(([ref, one]) => occurrenceAudit(audit, one, after.get(ref) ?? null))
  await appendAudit(session, context, entries)
  return answer
}

interface OccurrenceRow {
  readonly ref: number | string
  readonly id: string
  readonly tenant: string
  readonly job: string
  readonly state: string
  readonly due_at: number | string
  readonly is_canceling: boolean
}

const describe = `SELECT o.ref, o.id, s.tenant, s.job, ${currentState} AS state, coalesce(r.due_at, w.due_at, 0)::float8 AS due_at,
    (SELECT true FROM punctual.cancel_request q WHERE q.ref = o.ref) IS NOT NULL AS is_canceling
  FROM unnest($1::bigint[]) k (ref) CROSS JOIN ${each('occurrence e', 'e.ref = k.ref')} o
  CROSS JOIN ${each('series e', 'e.ref = o.series')} s ${currentRows} ORDER BY k.ref`

/** A cancel of running work is a request: it shows as `canceling`. */
export async function occurrencesOf(session: Session, refs: readonly number[]): Promise<Map<number, AuditedOccurrence>> {
  const rows = await session.rows<OccurrenceRow>(describe, [column(refs)])
  return new Map(
    rows.map(({ ref, id, tenant, job, state, due_at, is_canceling }) => {
      const shown = state === 'running' && is_canceling ? 'canceling' : state
      return [Number(ref), { id, tenant, job, state: shown, dueAt: Number(due_at) }]
    }),
  )
}

/**
 * Seals what was appended since, and drops whole segments whose rows are all older than `before`. Rows of transactions that commit
 * later, with smaller numbers, go into the next segment: each seal names its rows. One node at a time seals.
 */
export async function sealAudit(context: Context, before: number | null): Promise<void> {
  await context.db.transaction(async (session) => {
    if (!(await tryLock(session, 'audit'))) return
    const open = await session.rows<DigestRow>(
      `DELETE FROM punctual.audit_open WHERE seq = ANY(ARRAY(SELECT seq FROM punctual.audit_open ORDER BY seq LIMIT ${mostPerSegment}))
        RETURNING seq, digest`,
    )
    const now = await readNow(session, context)
    if (open.length > 0)
      await seal(
        session,
        open.map(auditDigest).toSorted(([a], [b]) => a - b),
        now,
      )
    if (before !== null) await drop(session, before, now)
  })
}

interface DigestRow {
  readonly seq: number
  readonly digest: string
}

function auditDigest({ seq, digest }: DigestRow): AuditDigest {
  return [seq, digest]
}

async function seal(session: Session, rows: readonly AuditDigest[], now: number): Promise<void> {
  const [written] = await session.rows<{ newest_at: number | null }>(
    'SELECT max(at) AS newest_at FROM punctual.audit WHERE seq = ANY($1::bigint[])',
    [column(rows.map(([seq]) => seq))],
  )
  const [newest = null] = await session.rows<Pick<AuditSeal, 'segment' | 'hash'>>(
    'SELECT segment, hash FROM punctual.audit_seal ORDER BY segment DESC LIMIT 1',
  )
  const values = sealValues(sealOf(rows, newest, { newestAt: written?.newest_at ?? now, now }))
  const marks = values.map((_, at) => `$${at + 1}`).join(', ')
  await session.rows(`INSERT INTO punctual.audit_seal (${sealColumns}) VALUES (${marks})`, values)
}

async function drop(session: Session, before: number, now: number): Promise<void> {
  const old = await session.rows<Pick<AuditSealRow, 'segment' | 'rows'>>(
    'SELECT segment, rows FROM punctual.audit_seal WHERE dropped_at IS NULL AND newest_at < $1 ORDER BY segment LIMIT 10',
    [before],
  )
  for (const { segment, rows } of old) {
    const seqs = (JSON.parse(rows) as AuditSeal['rows']).map(([seq]) => seq)
    await session.rows("UPDATE punctual.audit_seal SET dropped_at = $2, rows = '[]' WHERE segment = $1", [segment, now])
    await session.rows('DELETE FROM punctual.audit WHERE seq = ANY($1::bigint[])', [column(seqs)])
  }
}

export async function listAudit(context: Context, query: AuditQuery): Promise<readonly unknown[]> {
  if (query.of === 'unsealed')
    return (
      await context.db.rows<DigestRow>('SELECT seq, digest FROM punctual.audit_open WHERE seq > $1 ORDER BY seq LIMIT $2::int', [
        query.beyond,
        query.limit,
      ])
    ).map(auditDigest)
  if (query.of === 'seals') {
    const rows = await context.db.rows<AuditSealRow>(
      `SELECT ${sealColumns} FROM punctual.audit_seal WHERE segment > $1 ORDER BY segment LIMIT $2::int`,
      [query.beyond, query.limit],
    )
    return rows.map(auditSeal)
  }
  const { where, values, order } = askedAudit(query, (n) => `$${n + 2}`)
  const select = `SELECT ${auditColumns} FROM punctual.audit ${where} ${order} LIMIT $1::int`
  return (await context.db.rows<AuditRecord>(select, [query.limit, ...values])).map(auditRecord)
}

/** In a caller's transaction numbers may come as text. */
function auditRecord(row: AuditRecord): AuditRecord {
  return { ...row, seq: Number(row.seq), at: Number(row.at) }
}
