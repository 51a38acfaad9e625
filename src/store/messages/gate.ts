import type { Page } from '../query.ts'
import type { AuditNote } from './audit.ts'
import type { MemberWrite } from './claim.ts'

export const gateStates = ['reserved', 'done', 'unknown'] as const
/** `reserved`: the effect is under way. `done`: its outcome is recorded. `unknown`: it may have happened or not. */
export type GateState = (typeof gateStates)[number]

export interface GateKey {
  readonly tenant: string
  readonly scope: string
  readonly key: string
}

/** One effect that happens at most once. */
export interface GateRecord extends GateKey {
  /** A reservation whose holder is gone is `unknown`. */
  readonly state: GateState
  /** A hash of the payload that the effect belongs to; null where none was given. */
  readonly fingerprint: string | null
  /** The occurrence that reserved it last; null outside of jobs. */
  readonly occurrence: string | null
  /** How often it was reserved: 2 or more after an unknown outcome. */
  readonly tries: number
  /** How many duplicates got the recorded outcome. */
  readonly hits: number
  readonly reservedAt: number
  /** When its outcome was recorded, or became unknown by report. */
  readonly endedAt: number | null
  /** When a recorded outcome is forgotten; null: never. */
  readonly expiresAt: number | null
  /** JSON text. */
  readonly result: string | null
  /** Why the outcome is unknown. */
  readonly reason: string | null
}

/** A secret of one call: only its holder may record or release a reservation. */
interface Held extends GateKey {
  readonly holder: string
}

export interface GateReserve extends Held {
  readonly act: 'reserve'
  readonly fingerprint: string | null
  readonly occurrence: string | null
  /** The turn that the effect belongs to: the reservation is refused when it is lost, and ends with it. */
  readonly member: MemberWrite | null
  /** The reservation ends after this long, in any case. */
  readonly holdMs: number
  /** Whether the caller can resolve an unknown outcome, and takes such a key over. */
  readonly takesUnknown: boolean
  /**
   * With the ability `tx`: the effect, in the commit of the key. Its value is the outcome as JSON text; a throw undoes both. Stores
   * whose transactions are synchronous refuse a promise.
   */
  readonly within?: (tx: unknown) => string | null | Promise<string | null>
  /** How long the outcome of `within` is kept; null: for ever. */
  readonly keepMs: number | null
}

export interface GateOutcome extends Held {
  readonly act: 'record'
  readonly result: string | null
  readonly keepMs: number | null
}

/** The effect did not happen: the key is free. */
export interface GateRelease extends Held {
  readonly act: 'release'
}

/** The outcome is unknown. */
export interface GateDoubt extends Held {
  readonly act: 'doubt'
  readonly reason: string
}

/** A person's word about an unknown outcome: it happened, with this result, or (null) it did not. */
export interface GateResolve extends GateKey {
  readonly act: 'resolve'
  readonly audit?: AuditNote
  readonly to: { readonly result: string | null; readonly keepMs: number | null } | null
}

export interface GateList {
  readonly act: 'list'
  readonly tenant?: string
  readonly scope?: string
  readonly key?: string
  readonly state?: GateState
  readonly limit: number
  readonly cursor?: string
}

export type GateWrite = GateReserve | GateOutcome | GateRelease | GateDoubt | GateResolve
export type GateRequest = GateWrite | GateList

export interface GateAnswer {
  /**
   * To `reserve`: `reserved`; `taken` (reserved, and the outcome of the reservation before is unknown); `performed` (`within` has run);
   * `done`, `unknown`, `busy` (another holder is in the middle of it), `mismatch` (another fingerprint), `lost` (the turn is over).
   * To the others: `recorded`, `released`, `unknown`, `resolved`; or `lost` (another holder has the key), `none` (no such key),
   * `busy`, `done`.
   */
  readonly outcome:
    | 'reserved'
    | 'taken'
    | 'performed'
    | 'done'
    | 'unknown'
    | 'busy'
    | 'mismatch'
    | 'lost'
    | 'recorded'
    | 'released'
    | 'resolved'
    | 'none'
  readonly gate: GateRecord | null
}

export type GateAnswerTo<Request extends GateRequest> = Request extends GateList ? Page<GateRecord> : GateAnswer
