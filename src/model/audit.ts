// The audit: who did what, and hashes over it. Rows are appended; committed rows are sealed in numbered segments, each with the hash of the
// one before, so a changed, missing or inserted row shows.
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

/** A sealed segment. `rows`: the number and the digest of each; empty once retention has dropped the rows. */
export interface AuditSeal {
  readonly segment: number
  readonly first: number
  readonly last: number
  readonly count: number
  readonly rows: readonly (readonly [seq: number, digest: string])[]
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

/** Seals rows, which are in the order of their numbers. */
export function sealOf(rows: readonly AuditRecord[], before: Pick<AuditSeal, 'segment' | 'hash'> | null, now: number): AuditSeal {
  const digests = rows.map((row) => [row.seq, rowDigest(row)] as const)
  const seal = {
    segment: (before?.segment ?? 0) + 1,
    first: rows[0]?.seq ?? 0,
    last: rows.at(-1)?.seq ?? 0,
    count: rows.length,
    rows: digests,
    content: hashed(digests),
    previous: before?.hash ?? '',
    sealedAt: now,
    newestAt: Math.max(...rows.map(({ at }) => at)),
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
