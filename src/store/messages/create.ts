import type { Refs } from '../../model/context.ts'
import type { OccurrenceState, Source } from '../../model/lifecycle.ts'
import type { Limit } from '../../model/limit.ts'
import type { Replay, UniqueKind } from '../../model/occurrence.ts'
import type { SettingsDiff } from '../../model/settings.ts'
import type { AuditNote } from './audit.ts'
import type { ClaimAnswer, ClaimRequest, MemberWrite } from './claim.ts'
import type { Due } from './due.ts'

export const onConflicts = ['keep', 'reschedule', 'replace'] as const
export type OnConflict = (typeof onConflicts)[number]

/**
 * How calls under one live key share an occurrence. `debounce`: until it begins, each call replaces its payload and moves it by `waitMs`
 * from now, at most `longestMs` after its creation. `throttle`: for `perMs` after its creation calls return it, ended or not. In both
 * cases a call that finds the key with work that has begun, and may not return it, creates new work, which takes the key.
 */
export type Pace =
  | { readonly debounce: { readonly waitMs: number; readonly longestMs: number | null } }
  | { readonly throttle: { readonly perMs: number } }

export interface NewOccurrence {
  readonly id: string
  readonly tenant: string
  readonly job: string
  readonly definition: string
  readonly source: Source
  readonly key: string | null
  readonly unique: UniqueKind
  /** Orders the requests for a key: one whose version is not higher than the existing one's changes nothing. */
  readonly keyVersion?: number
  readonly entity: string | null
  /** The id of the occurrence whose handler creates it. */
  readonly parent: string | null
  /** The turn of that handler. The row is refused when the turn is over, or was canceled: no cancel of its parent would reach it. */
  readonly maker?: MemberWrite
  readonly refs: Refs
  readonly payload: string | null
  readonly settings: SettingsDiff | null
  readonly priority: number
  /** `declared`: the caller does not know the job; its definition, limits, hooks and `startWithinMs` are those of the version in force. */
  readonly limits: readonly Limit[] | 'declared' | null
  readonly replay: Replay | null
  readonly startWithinMs: number | null
  /** Whether its end is noted for `onComplete`. */
  readonly isHooked: boolean
  /** Where its end is published: see `outletText`. */
  readonly publish?: string
  /** The version of the job it belongs to; null for the one in force. */
  readonly version: number | null
  readonly due: Due
  /** The instant it stands for, where that is not its first due time: a replay keeps the origin's. */
  readonly scheduledAt: number | null
  readonly onConflict: OnConflict | Pace
}

export interface CreateOptions {
  /** Of a store with the ability `join`: the caller's transaction, in the form that the store knows. */
  readonly tx?: unknown
  /** Takes due work in the same commit, as `claim` does, preferably the rows just created. Not with `tx`. */
  readonly claim?: ClaimRequest
  /** Not with `claim`. */
  readonly audit?: AuditNote
}

export interface CreateAnswer {
  readonly rows: readonly CreatedRow[]
  /** The answer to `claim`; null when none was asked for, or the store could not claim in the same commit. */
  readonly claimed: ClaimAnswer | null
}

export interface CreatedRow {
  readonly id: string
  /** `refused`: by the turn of its `maker`. */
  readonly outcome: 'created' | 'existing' | 'moved' | 'replaced' | 'tombstoned' | 'refused'
  /** The state of the occurrence now; null for a tombstone or a refused row. */
  readonly state: OccurrenceState | null
  /** For `existing`: whether its payload is another than the one given. */
  readonly differs: boolean
}
