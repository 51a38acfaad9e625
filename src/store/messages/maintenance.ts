import type { SettingsDiff } from '../../model/settings.ts'
import type { AuditNote } from './audit.ts'
import type { PassedOccurrence, Which } from './claim.ts'

export interface NodeInfo {
  /** Made anew at each start and after each time the node fenced itself. */
  readonly boot: string
  readonly name: string
  readonly pid: number
  readonly concurrency: number
  readonly kinds: readonly string[]
  readonly version: string
  readonly tz: string
  readonly ttlMs: number
  /** Orders deployments, where given. */
  readonly release: number | null
  /** A hash of each job that the node's code declares, by job id. */
  readonly declares: Readonly<Record<string, string>>
  /** Whether the node claims by `pick`: a store may keep an index for it. */
  readonly picks: boolean
  /** Reports of services beside the engine, by name, such as the sides of the timer service. */
  readonly parts: Readonly<Record<string, unknown>>
  /** Whether the node takes no new work until it leaves. A mark in the store stays, whatever later beats carry. */
  readonly isDraining: boolean
}

export interface NodesRequest {
  /** First marks the nodes of this boot id or name as draining. */
  readonly drain?: { readonly node: string; readonly audit?: AuditNote }
}

export interface NodesAnswer {
  readonly now: number
  readonly nodes: readonly NodeRecord[]
  /** Kinds of due work whose handlers no node has, or only nodes that drain. */
  readonly unserved: readonly string[]
  /** Whether `rescue` may find something to do although no node is gone. */
  readonly isRescueDue: boolean
}

/** A node, as the store knows it. */
export interface NodeRecord extends NodeInfo {
  readonly startedAt: number
  readonly beatAt: number
  /** Goes up by one with each beat. */
  readonly beats: number
  readonly running: number
}

export interface Beat {
  readonly node: NodeInfo
  /** Claims the node has members of. */
  readonly claims: readonly string[]
  /** Claims whose answer has not arrived yet. */
  readonly inFlight: readonly string[]
  /** Turns that have run for longer than a beat, with their deadline. */
  readonly long: readonly { ref: number; turn: number; startedAt: number; deadlineAt: number }[]
  /**
   * `join` makes the node known; `leave` is the last beat of a node that stops, and rescue takes what it still holds. `pulse` comes from a
   * thread while the process is blocked: it only keeps a known node alive, and claims and turns are not read.
   */
  readonly phase: 'join' | 'stay' | 'pulse' | 'leave'
}

export interface BeatAnswer {
  readonly now: number
  readonly aliveSince: number
  /** False: the node was declared gone, limits nothing any more and must come back under a new boot id. */
  readonly known: boolean
  /** The listed claims that are gone. */
  readonly lost: readonly string[]
  readonly cancels: readonly CancelNotice[]
  /** True: the node plans and claims nothing any more. */
  readonly isDraining: boolean
  /** Those of `long` that have ended in the store: by `release`, or past their deadline. */
  readonly over: readonly { readonly ref: number; readonly turn: number }[]
}

export interface CancelNotice {
  readonly ref: number
  readonly turn: number
  readonly reason: string | null
}

export interface RescueRequest {
  /** Nodes whose beats have stood still for their ttl by the observer's clock; the store checks by its own. */
  readonly gone: readonly { boot: string; beats: number }[]
  /** The settings of the rescuer's scheduler: the lowest level of the cascade, below those of jobs. */
  readonly settings: SettingsDiff
  /** An occurrence that is lost with its node once more after so many recoveries is dead. */
  readonly mostRecoveries: number
  /** Claims to work off in one call. */
  readonly limit: number
  /** The kinds whose `onComplete` this node can run. */
  readonly kinds: readonly string[]
  /** How long this node has for the hooks it is given before others may run them. */
  readonly hookMs: number
}

export interface RescueAnswer {
  readonly rescued: readonly {
    id: string
    job: string
    turn: number
    outcome: 'lost' | 'stale' | 'released' | 'canceled' | 'failed' | 'dead'
  }[]
  /** Nodes that were removed with the last of their claims. */
  readonly removed: readonly string[]
  /** Whether claims of gone nodes are left for another call. */
  readonly more: boolean
  /** Work that was not started in time, on any node. */
  readonly expired: readonly PassedOccurrence[]
  /** Ended work of `kinds` whose `onComplete` has not run. The rescuer runs it, and sends `settle` its ref in `hooksDone`. */
  readonly openHooks: readonly { readonly ref: number; readonly id: string }[]
}

/** When ended occurrences of one job go: by the instant before which they ended, and by the count of the newest that stay. */
export interface RetentionRule {
  readonly tenant: string
  readonly job: string
  readonly ends: Readonly<Record<string, { readonly endedBefore: number | null; readonly count: number | null }>>
}

export interface PruneRequest {
  /** Of jobs without a rule; null: they stay. */
  readonly endedBefore: number | null
  readonly rules?: readonly RetentionRule[]
  /** Only this ended or dead occurrence, at once. */
  readonly only?: Which
  /** Of `only`, of `job`, and of a pass on call, which has no rules. A pass writes its row in the commit of what it deletes. */
  readonly audit?: AuditNote
  /**
   * Only this job, of which no work is live: its ended and dead work goes, at most `limit` in a call. The call that leaves none also
   * deletes the job with its versions, ranges and pauses, and answers `deleted`. A later job of the name continues the version numbers.
   */
  readonly job?: { readonly tenant: string; readonly job: string }
  /** Pauses that were over before this instant go; null or left out: none. */
  readonly pausesBefore?: number | null
  /** Ranges of passed-over instants that were recorded before it go. */
  readonly rangesBefore?: number | null
  /** Versions go that a later one has replaced before it, also for the instants that are still to be planned. */
  readonly versionsBefore?: number | null
  /** How long ids stay taken that may be used only once. */
  readonly keyRetentionMs: number
  readonly limit: number
  /** Segments of the audit whose rows are all older are dropped; null or left out: none. */
  readonly auditBefore?: number | null
}

export interface PruneAnswer {
  /** To `only`: `live` where it has not ended. To `job`: `live` where some of its work has not; left out where more is to delete. */
  readonly outcome?: 'deleted' | 'unknown' | 'live'
  readonly pruned: number
  /** Whether there may be more to delete right now. */
  readonly more: boolean
}
