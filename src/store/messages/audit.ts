import type { AuditAction, AuditDigest, AuditEntry, AuditRecord, AuditSeal } from '../../model/audit.ts'

/** Travels with the verb that makes a change: the store writes one row for each target that it changes, in the same commit. */
export interface AuditNote {
  /** Made once for an act: a repeated call writes nothing more. */
  readonly act: string
  readonly actor: string
  readonly action: AuditAction
  readonly reason: string | null
}

/** A business event, which travels with the checkpoint or the end of its turn. */
export type AuditEvent = AuditEntry

export type AuditQuery =
  | {
      readonly of: 'rows'
      readonly tenant?: string
      readonly job?: string
      readonly target?: string
      readonly actor?: string
      readonly action?: AuditAction
      readonly event?: string
      readonly from?: number
      readonly to?: number
      /** `oldest`: rows after `beyond`, in order. `newest`: rows before it, the newest first. */
      readonly order: 'newest' | 'oldest'
      readonly beyond?: number
      readonly limit: number
    }
  | {
      readonly of: 'seals'
      /** Segments after this one, in order. */
      readonly beyond: number
      readonly limit: number
    }
  | {
      /** The digests of rows that wait for their seal. */
      readonly of: 'unsealed'
      /** Of rows after this one, in order. */
      readonly beyond: number
      readonly limit: number
    }

export type AuditAnswerTo<Query extends AuditQuery> = Query extends { of: 'rows' }
  ? readonly AuditRecord[]
  : Query extends { of: 'seals' }
    ? readonly AuditSeal[]
    : readonly AuditDigest[]
