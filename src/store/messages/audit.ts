import type { AuditAction, AuditEntry, AuditRecord, AuditSeal } from '../../model/audit.ts'

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

/** `isSealed`: it belongs to a segment. A row that waits for its seal does not yet; of an inserted one it is true, and no seal has it. */
export interface AuditLine extends AuditRecord {
  readonly isSealed: boolean
}

export type AuditAnswerTo<Query extends AuditQuery> = Query extends { of: 'seals' } ? readonly AuditSeal[] : readonly AuditLine[]
