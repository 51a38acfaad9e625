// The audit: who did what, and hashes over it. Rows are appended, each with a digest beside it. The digests of committed rows are sealed in
// numbered segments, each with the hash of the one before, so a changed, missing or inserted row shows.
import { createHash } from 'node:crypto'

/** Acts that are recorded with the change they make. `event` is a business event of `ctx.audit`. */
export const auditActions = [
  'schedule',
  'update',
  'reset',
  'rollback',
  'retire',
  'pause',
  'resume',
  'trigger',
  'replay',
  'backfill',
  'cancel',
  'reschedule',
  'retry',
  'discard',
  'release',
  'resolve',
  'drain',
  'create-token',
  'revoke-token',
  'delete',
  'prune',
  'event',
] as const
/** The kind of an act in the audit. */
export type AuditAction = (typeof auditActions)[number]

/** The actor of business events and of acts of the scheduler itself. */
export const systemActor = 'SYSTEM'

/** One row of the audit. Objects are kept as the JSON text that was hashed. */
export interface AuditEntry {
  /** One act may touch several targets: a row is known by both. */
  readonly act: string
  /** The id of the occurrence, the name of the job, the key of an effect; '' where there is none. */
  readonly target: string
  readonly actor: string
  readonly action: AuditAction
  readonly tenant: string | null
  readonly job: string | null
  readonly before: string | null
  readonly after: string | null
  readonly reason: string | null
  /** The name of a business event. */
  readonly event: string | null
  readonly refs: string | null
  readonly data: string | null
}

export interface AuditRecord extends AuditEntry {
  /** In the order of their writing; numbers may be missing. */
  readonly seq: number
  readonly at: number
}

/** A row's number, and the digest that was made of it when it was appended. */
export type AuditDigest = readonly [seq: number, digest: string]

/** A sealed segment. `rows` is empty once retention has dropped the rows. */
export interface AuditSeal {
  readonly segment: number
  readonly first: number
  readonly last: number
  readonly count: number
  readonly rows: readonly AuditDigest[]
  /** Over all rows. */
  readonly content: string
  /** The hash of the segment before; '' for the first. */
  readonly previous: string
  readonly hash: string
  readonly sealedAt: number
  /** When its newest row was written. */
  readonly newestAt: number
  readonly droppedAt: number | null
}

export function rowDigest(row: AuditRecord): string {
  const { seq, at, act, target, actor, action, tenant, job, before, after, reason, event, refs, data } = row
  return hashed([seq, at, act, target, actor, action, tenant, job, before, after, reason, event, refs, data]).slice(0, 22)
}

/**
 * Seals the digests that were kept since their rows were appended, in the order of the rows' numbers. The rows themselves are not read: one that was
 * changed or removed meanwhile does not match its digest.
 * @param newestAt When the newest of the rows was written.
 */
export function sealOf(
  rows: readonly AuditDigest[],
  before: Pick<AuditSeal, 'segment' | 'hash'> | null,
  { newestAt, now }: { readonly newestAt: number; readonly now: number },
): AuditSeal {
  const seal = {
    segment: (before?.segment ?? 0) + 1,
    first: rows[0]?.[0] ?? 0,
    last: rows.at(-1)?.[0] ?? 0,
    count: rows.length,
    rows,
    content: hashed(rows),
    previous: before?.hash ?? '',
    sealedAt: now,
    newestAt,
    droppedAt: null,
  }
  return { ...seal, hash: sealHash(seal) }
}

function sealHash({ segment, first, last, count, content, previous, sealedAt, newestAt }: Omit<AuditSeal, 'hash'>): string {
  return hashed([segment, first, last, count, content, previous, sealedAt, newestAt])
}

/** Whether a seal is as it was written; its place after the one before is another question. */
export function isSealWhole(seal: AuditSeal): boolean {
  return seal.hash === sealHash(seal) && (seal.droppedAt !== null || seal.content === hashed(seal.rows))
}

function hashed(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64url')
}
