import type { AttemptLog, AttemptRecord, OccurrenceRecord, Progress, TurnRecord, UniqueKind } from '../../model/occurrence.ts'
import type { SettingsDiff } from '../../model/settings.ts'
import type { AuditEvent, AuditNote } from './audit.ts'
import type { NewOccurrence } from './create.ts'
import type { Due } from './due.ts'

export interface ClaimRef {
  readonly id: string
  /** A secret of the claimer: writes must show it. */
  readonly token: string
}

export interface ClaimRequest extends ClaimRef {
  readonly node: string
  /** The kinds that this node has all handlers for: see `kindOf`. */
  readonly kinds: readonly string[]
  readonly limit: number
  /** Takes only what was due by then; can only lower the store's now. */
  readonly dueBy?: number
  /** The most occurrences that may run at once in the whole cluster. */
  readonly clusterLimit?: number
  /** Work with a rate starts within this time after the claim, or is given back: its windows are longer by as much. Default 20. */
  readonly promptMs?: number
  /** The order in which due work is taken. Default: by priority, then due, then age. */
  readonly pick?: ClaimPick
}

/** `fair`: within a priority one of each tenant in turn. `quotas`: only as many as the first quota that matches allows. */
export type ClaimPick = { readonly kind: 'fair' } | { readonly kind: 'quotas'; readonly quotas: readonly Quota[] }

/** How many of a group one claim may take. A field that is left out matches all. */
export interface Quota {
  readonly tenant?: string
  readonly job?: string
  readonly priority?: number
  readonly limit: number
}

/** How many occurrences of a group are due and may be claimed; counted up to 1,000. */
export interface BacklogGroup {
  readonly tenant: string
  readonly job: string
  readonly priority: number
  readonly count: number
}

export interface ClaimAnswer {
  readonly now: number
  readonly members: readonly ClaimMember[]
  /** Due work that ended without a run: skipped by overlap or pause, missed by its own deadline, canceled by `cancel-previous`. */
  readonly passed: readonly PassedOccurrence[]
  /** When the next claim of these kinds is worth a try; with `pick`, only for work that is not due yet. Null: nothing is in sight. */
  readonly nextDue: number | null
}

export interface PassedOccurrence {
  readonly id: string
  readonly tenant: string
  readonly job: string
  readonly state: 'missed' | 'skipped' | 'canceled'
  readonly reason: string
}

/** One claimed occurrence. The node hands the same object back with every write, so a store may keep more in it than is named here. */
export interface ClaimMember {
  /** The store's own number of the occurrence. */
  readonly ref: number
  readonly turn: number
  readonly record: OccurrenceRecord
  readonly dueAt: number
  /** How often it was lost with its node, or overran. */
  readonly recoveries: number
  /** The settings of the job, of the occurrence's version or, for enqueued work, the newest; null when the job is unknown. */
  readonly jobSettings: SettingsDiff | null
  /** When the latest run of the job that has ended began; never an earlier turn of this occurrence. */
  readonly lastRunAt: number | null
  /** Earlier turns and attempts, in order; empty on the first turn. */
  readonly turns: readonly TurnRecord[]
  readonly attempts: readonly AttemptRecord[]
}

/** Which member of which claim a write is about. */
export interface MemberWrite {
  readonly claim: ClaimRef
  /** As the claim returned it. */
  readonly member: ClaimMember
}

export interface CheckpointItem extends MemberWrite {
  /** Business events of the attempts. */
  readonly events?: readonly AuditEvent[]
  readonly attempts: readonly AttemptRecord[]
  readonly progress?: Progress
  readonly logs?: readonly AttemptLog[]
  /** Records that the handler is about to run, and until when it may. */
  readonly start?: { readonly startedAt: number; readonly deadlineAt: number }
  /**
   * With the ability `tx`: runs inside the commit, with the store's transaction. The fence is checked before it and holds at the
   * commit. Its value is the JSON text of the result of the last of `attempts`. A throw undoes the item. Stores whose transactions
   * are synchronous refuse a promise.
   */
  readonly within?: (tx: unknown) => string | null | Promise<string | null>
  /** Gets the result when the last of `attempts` turns out to be recorded already: what `within` may have done now is undone. */
  readonly recorded?: (result: string | null) => void
  /** Read after `within`: other work to create and to cancel in the same commit. */
  readonly changes?: () => ChildWork
}

/** Work that a handler creates and cancels in its transaction. */
export interface ChildWork {
  readonly creates: readonly NewOccurrence[]
  readonly cancels: readonly CancelRequest[]
}

/**
 * `lost`: the turn is no longer the caller's; nothing of the item was written. `refused`: its cancel was requested, so an item with
 * `within` is undone.
 */
export type WriteAnswer = 'ok' | 'lost' | 'refused'

export interface SettleItem extends MemberWrite {
  /** The end row; stores add the node. */
  readonly end: Omit<TurnRecord, 'turn' | 'node'>
  readonly attempts: readonly AttemptRecord[]
  readonly logs?: readonly AttemptLog[]
  /** For `parked` and `released`: the wait before the next turn. Work given back before its first start keeps its due time instead. */
  readonly delayMs: number
  /** For the end of hooked work: how long this node has for `onComplete` before others may run it. */
  readonly hookMs?: number
}

export interface SettleOptions {
  /** Claims without members left. One that still has some is kept. */
  readonly done?: readonly ClaimRef[]
  /** Ends whose `onComplete` has run on this node: their notes are removed. */
  readonly hooksDone?: readonly number[]
  /** Takes due work in the same commit, as `claim` does. */
  readonly claim?: ClaimRequest
}

export interface SettleAnswer {
  readonly items: readonly WriteAnswer[]
  /** The answer to `claim`; null when none was asked for. */
  readonly claimed: ClaimAnswer | null
}

/** One occurrence, by id or by its key: the live one that has the key, else the newest. `unique` keeps to keys of that kind. */
export type Which =
  | { readonly id: string; readonly tenant?: string }
  | { readonly tenant: string; readonly job: string; readonly key: string; readonly unique?: UniqueKind }

export interface CancelRequest {
  readonly audit?: AuditNote
  readonly which: Which | { readonly tenant: string; readonly job: string; readonly entity: string }
  readonly reason: string | null
  /** Leaves work alone whose key was given a higher version. */
  readonly keyVersion?: number
  /** Cancels also what their handlers created, and what the handlers of that created, and so on. */
  readonly children?: boolean
}

export interface CancelAnswer {
  readonly id: string
  readonly outcome: 'canceled' | 'canceling' | 'ended'
}

export interface MoveRequest {
  readonly audit?: AuditNote
  readonly which: Which
  /**
   * `payload`: JSON text that replaces the payload of the dead work. `release`: ends the turn of running work, whose holder writes
   * nothing any more, and puts it back for its next one; work whose cancel was requested ends.
   */
  readonly to:
    | { readonly due: Due }
    | { readonly retry: Due; readonly payload?: string | null }
    | { readonly discard: string | null }
    | { readonly release: string | null }
}

export type MoveAnswer = 'moved' | 'running' | 'ended' | 'not-dead' | 'not-running' | 'unknown'
