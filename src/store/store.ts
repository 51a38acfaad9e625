// The contract between the engine and every store. Each verb is one atomic act, safe to repeat after an unknown outcome.
// A store only stores: retries, timeouts and schedules are decided above it. Instants are epoch milliseconds of the store's clock.
import type { Refs } from '../model/context.ts'
import type { Hold } from '../model/hold.ts'
import type { JobOverride, JobRecord, JobSpec, VersionRecord } from '../model/job.ts'
import type { OccurrenceState, Source } from '../model/lifecycle.ts'
import type {
  AttemptRecord,
  OccurrenceHistory,
  OccurrenceRecord,
  OccurrenceSummary,
  Progress,
  Replay,
  TurnRecord,
  UniqueKind,
} from '../model/occurrence.ts'
import type { PauseRecord, PauseScope } from '../model/pause.ts'
import type { Passed, Span } from '../model/recovery.ts'
import type { SettingsDiff } from '../model/settings.ts'
import type { Clock } from '../time/clock.ts'
import type { Ability } from './abilities.ts'
import type { OccurrenceFilter, Page } from './query.ts'

export interface Store {
  readonly name: string
  readonly abilities: ReadonlySet<Ability>
  /** The most occurrences that one claim or one settle may carry. */
  readonly batchLimit: number

  /** Checks the schema, the clock and the durability, and makes the store usable. Repeating it is harmless. */
  open(env: StoreEnv): Promise<void>
  close(): Promise<void>

  /** Creates a job, adds a version to it, or finds it unchanged. Planned but unclaimed instants of the old version are taken back. */
  putJob(put: JobPut): Promise<JobPutAnswer>
  readJobs(query: JobQuery): Promise<readonly JobRecord[]>
  /** All versions of a job, oldest first. */
  readVersions(query: { tenant: string; name: string }): Promise<readonly VersionRecord[]>
  /** Opens or closes an interval in which a job, a tenant or everything is paused. */
  pause(request: PauseRequest): Promise<PauseAnswer>
  /** Intervals in force at or after `since`, or all. */
  readPauses(query: { since?: number }): Promise<readonly PauseRecord[]>

  /** The jobs with an instant to plan up to `horizonMs` from now, the most urgent first. */
  jobsToPlan(query: { horizonMs: number; limit: number }): Promise<PlanWork>
  /** Creates planned occurrences and moves cursors, each job on its own: a job that has changed meanwhile is left alone. */
  plan(plans: readonly JobPlan[]): Promise<readonly PlanAnswer[]>
  /**
   * With `tx`, of a store with the ability `join`: in a transaction of the caller's. See `Queryable`. Without, what somebody's open
   * transaction holds up for more than a moment is refused with `store.busy` and `isHeld` in its details, and nothing is created.
   */
  create(rows: readonly NewOccurrence[], tx?: Queryable): Promise<readonly CreateAnswer[]>

  /** The next due instant of these kinds, and the store's time: a hint for when to wake. */
  peek(query: { kinds: readonly string[] }): Promise<{ now: number; nextDue: number | null }>
  /** What is due and may be claimed, by tenant, job and priority. */
  waiting(query: { kinds: readonly string[] }): Promise<readonly WaitingGroup[]>
  /**
   * Takes due occurrences. Claiming again under the same id returns the same members, those already ended left out.
   * A node that has not joined, and who claims again with another token, gets `claim.lost`.
   */
  claim(request: ClaimRequest): Promise<ClaimAnswer>
  /** Records ended attempts, a start or progress of members that go on. */
  checkpoint(items: readonly CheckpointItem[]): Promise<readonly WriteAnswer[]>
  /** Ends turns. `done` names claims none of whose members is left. One that has some after all stands on. */
  settle(items: readonly SettleItem[], done: readonly ClaimRef[]): Promise<readonly WriteAnswer[]>
  /** With `tx`, of a store with the ability `join`: in a transaction of the caller's. See `Queryable`. */
  cancel(request: CancelRequest, tx?: Queryable): Promise<readonly CancelAnswer[]>
  /** Moves one occurrence by a person's wish: another time, another chance, or the end of a dead one. */
  move(request: MoveRequest): Promise<MoveAnswer>

  beat(beat: Beat): Promise<BeatAnswer>
  /** Ends what gone nodes held and what has overrun its deadline, and puts it back or buries it. */
  rescue(request: RescueRequest): Promise<RescueAnswer>
  /** Deletes ended occurrences past their time, at most `limit`; their ids stay taken as tombstones. Dead ones stay. */
  prune(request: PruneRequest): Promise<PruneAnswer>

  get(which: Which): Promise<OccurrenceHistory | null>
  list(filter: OccurrenceFilter): Promise<Page<OccurrenceSummary>>
  /** Ranges of instants that were passed over and have no records of their own, the newest first. */
  listRanges(query: { tenant?: string; job?: string; limit: number }): Promise<readonly RangeRecord[]>
  counts(query: { tenant?: string; job?: string }): Promise<JobCounts>
  /** All nodes, the definitions of which something is due that none of them can run, and whether a rescue is due. */
  nodes(): Promise<NodesAnswer>

  /** Tells everybody that something may be due or canceled of which nobody was told, as in a transaction of a caller's. */
  wake(): Promise<void>
  /** Whether who subscribes is told just now of what other processes do, so that looks without a hint may be rarer. */
  readonly isHearing: boolean
  /** Hints about changes that others made. Missing one costs time, never work. */
  subscribe(listener: (hint: Hint) => void): () => void
}

/** What a store is given by whoever opens it. Stores with a clock of their own use this one only for timers. */
export interface StoreEnv {
  readonly clock: Clock
  readonly random: () => number
}

/**
 * A transaction of the caller's. A store that takes part in it neither begins nor ends nor repeats anything, sends no statement
 * that could fail by what others have written, and tells nobody: only the caller knows whether and when it is committed.
 */
export interface Queryable {
  /** Runs one statement with values for $1, $2 and so on. A row is an object or an array, in the order of the columns. */
  query(text: string, values: unknown[]): PromiseLike<{ rows: unknown[] }>
}

/** An instant, or a delay from the store's now. */
export type Due = number | { readonly in: number }

// ── jobs ──

export interface JobPut {
  readonly tenant: string
  readonly name: string
  readonly spec: JobSpec
  readonly declared: JobSpec | null
  readonly override: JobOverride | null
  /** From when on the version is in force; null for now. Planned instants of other versions from then on are taken back. */
  readonly effectiveAt: number | null
  readonly by: string | null
  /** Refuses the put when the job's version is another. 0: must not exist. */
  readonly expectedVersion?: number
}

export interface JobPutAnswer {
  readonly outcome: 'created' | 'updated' | 'unchanged' | 'conflict'
  readonly job: JobRecord | null
}

export interface PauseRequest extends PauseScope {
  /** `null` closes what is open for exactly this scope. */
  readonly open: { readonly until: Due | null; readonly reason: string | null; readonly by: string | null } | null
}

export interface PauseAnswer {
  readonly outcome: 'paused' | 'resumed' | 'unchanged'
  /** The interval that was opened, closed or found. */
  readonly pause: PauseRecord | null
}

export interface JobQuery {
  readonly tenant?: string
  readonly name?: string
  /** Those that follow this one, in the order of name and tenant. */
  readonly after?: { readonly name: string; readonly tenant: string }
  readonly limit: number
}

// ── planning ──

export interface PlanWork {
  readonly now: number
  /** Since when some node has beaten without a break. */
  readonly aliveSince: number
  /** Counts changes of pauses: a plan made before one is refused after it. */
  readonly pauseRevision: number
  readonly jobs: readonly PlanCandidate[]
  /** When the next job beyond the horizon wants planning, less the horizon; null when none does. */
  readonly nextAt: number | null
}

export interface PlanCandidate {
  readonly job: JobRecord
  /** Every version that is in force somewhere from the cursor on, oldest first. */
  readonly versions: readonly VersionRecord[]
  /** Planned instants that came due while no node was there, in order: they wait for the planner's word. */
  readonly stranded: readonly number[]
  /** Pauses of the job that reach beyond the cursor, or beyond the first stranded instant. */
  readonly pauses: readonly PauseRecord[]
}

export interface JobPlan {
  readonly tenant: string
  readonly job: string
  /** The plan is refused unless the job still has this version and this cursor. */
  readonly version: number
  readonly cursor: number
  readonly pauseRevision: number
  readonly through: number
  readonly nextAt: number | null
  readonly tz: string
  readonly rows: readonly PlannedOccurrence[]
  /** Instants that were passed over, many at a time. */
  readonly ranges: readonly Passed[]
  /** Stranded instants that are to run after all, as recovery. */
  readonly revive: readonly { readonly at: number; readonly holds: readonly Hold[] | null; readonly span: Span | null }[]
  /** Stranded instants that end here. */
  readonly drop: readonly { readonly at: number; readonly state: 'missed' | 'skipped'; readonly reason: string }[]
}

export interface PlannedOccurrence {
  readonly id: string
  /** The nominal instant. */
  readonly at: number
  readonly dueAt: number
  readonly version: number
  readonly source: Source
  readonly priority: number
  readonly holds: readonly Hold[] | null
  readonly span: Span | null
  readonly startWithinMs: number | null
  /** Recorded as passed over right away. */
  readonly end: { readonly state: 'missed' | 'skipped'; readonly reason: string } | null
}

export type PlanAnswer = { readonly outcome: 'planned'; readonly created: number } | { readonly outcome: 'behind' }

export type OnConflict = 'keep' | 'reschedule' | 'replace'

export interface NewOccurrence {
  readonly id: string
  readonly tenant: string
  readonly job: string
  readonly definition: string
  readonly source: Source
  readonly key: string | null
  readonly unique: UniqueKind
  readonly entity: string | null
  readonly refs: Refs
  readonly payload: string | null
  readonly settings: SettingsDiff | null
  readonly priority: number
  /** `declared`: the caller does not know the job; its definition, limits and `startWithinMs` are those of the version in force. */
  readonly holds: readonly Hold[] | 'declared' | null
  readonly replay: Replay | null
  readonly startWithinMs: number | null
  /** The version of the job it belongs to; null for the one in force. */
  readonly version: number | null
  readonly due: Due
  /** The instant it stands for, when that is another than the due one. */
  readonly scheduledAt?: number
  readonly onConflict: OnConflict
}

export interface CreateAnswer {
  readonly id: string
  readonly outcome: 'created' | 'existing' | 'moved' | 'replaced' | 'tombstoned'
  /** For `existing`: whether its payload is another than the one given. */
  readonly differs: boolean
}

// ── running ──

export interface ClaimRef {
  readonly id: string
  /** A secret of the claimer: writes must show it. */
  readonly token: string
}

export interface ClaimRequest extends ClaimRef {
  readonly node: string
  /** What this node has all handlers for: see `kindOf`. */
  readonly kinds: readonly string[]
  readonly limit: number
  /** Takes only what was due by then; can only lower the store's now. */
  readonly dueBy?: number
  /** The most occurrences that may run at once in the whole cluster. */
  readonly clusterLimit?: number
  /** What is taken first of all that is due. Default: by priority, then due, then age. */
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

/** How many occurrences of a group are due and wait to be claimed; counted up to 1,000. */
export interface WaitingGroup {
  readonly tenant: string
  readonly job: string
  readonly priority: number
  readonly count: number
}

export interface ClaimAnswer {
  readonly now: number
  readonly members: readonly ClaimMember[]
  /** What was found due and ended without a run: skipped by overlap or pause, missed by its own deadline. */
  readonly passed: readonly PassedOccurrence[]
  /** The next due instant of these kinds that is left; with `pick`, of those that are not due yet. */
  readonly nextDue: number | null
}

export interface PassedOccurrence {
  readonly id: string
  readonly tenant: string
  readonly job: string
  readonly state: 'missed' | 'skipped'
  readonly reason: string
}

export interface ClaimMember {
  /** The store's own handle of the occurrence, for all writes under the claim. */
  readonly ref: number
  readonly turn: number
  readonly record: OccurrenceRecord
  readonly dueAt: number
  /** How often it was lost with its node, or overran. */
  readonly recoveries: number
  /** What the occurrence's version of the job changes in the settings, the newest for enqueued work; null when the job is unknown. */
  readonly jobSettings: SettingsDiff | null
  /** When the latest run of the job that has ended began; never an earlier turn of this occurrence. */
  readonly lastRunAt: number | null
  /** Earlier turns and attempts, in order; empty on the first turn. */
  readonly turns: readonly TurnRecord[]
  readonly attempts: readonly AttemptRecord[]
}

/** Which member of which claim a write is about. */
export interface MemberRef {
  readonly claim: ClaimRef
  readonly ref: number
  readonly turn: number
}

export interface CheckpointItem extends MemberRef {
  readonly attempts: readonly AttemptRecord[]
  readonly progress?: Progress
  /** Records that the handler is about to run, and until when it may. */
  readonly start?: { readonly startedAt: number; readonly deadlineAt: number }
  /**
   * With the ability `tx`: runs inside the commit, with the store's transaction. The fence is checked before it and holds at the
   * commit. Its value is the JSON text of the result of the last of `attempts`. A throw undoes the item. Stores whose transactions
   * are synchronous refuse a promise.
   */
  readonly within?: (tx: unknown) => string | null | Promise<string | null>
  /** Is told the result when the last of `attempts` turns out to be recorded already: what `within` may have done now is undone. */
  readonly recorded?: (result: string | null) => void
}

/** `lost`: the turn is no longer the caller's; nothing of the item was written. */
export type WriteAnswer = 'ok' | 'lost'

export interface SettleItem extends MemberRef {
  /** The end row; stores add the node. */
  readonly end: Omit<TurnRecord, 'turn' | 'node'>
  readonly attempts: readonly AttemptRecord[]
  /** For `parked` and `released`: the wait before the next turn. */
  readonly delayMs: number
}

/** One occurrence, by id or by its key. */
export type Which =
  | { readonly id: string; readonly tenant?: string }
  | { readonly tenant: string; readonly job: string; readonly key: string }

export interface CancelRequest {
  readonly which: Which | { readonly tenant: string; readonly job: string; readonly entity: string }
  readonly reason: string | null
}

export interface CancelAnswer {
  readonly id: string
  readonly outcome: 'canceled' | 'canceling' | 'ended'
}

export interface MoveRequest {
  readonly which: Which
  readonly to: { readonly due: Due } | { readonly retry: Due } | { readonly discard: string | null }
}

export type MoveAnswer = 'moved' | 'running' | 'ended' | 'not-dead' | 'unknown'

// ── care ──

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
  /** What the node's code declares: a hash by job id. */
  readonly declares: Readonly<Record<string, string>>
  /** Whether the node claims by `pick`, so that a store may keep its kinds in an order that suits it. */
  readonly picks: boolean
}

export interface NodesAnswer {
  readonly now: number
  readonly nodes: readonly NodeRecord[]
  readonly unserved: readonly string[]
  /** Whether `rescue` may find something to do although no node is gone. */
  readonly isRescueDue: boolean
}

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
  /** `join` makes the node known; `leave` is the last beat of a node that stops, and what it still holds is left to rescue. */
  readonly phase: 'join' | 'stay' | 'leave'
}

export interface BeatAnswer {
  readonly now: number
  readonly aliveSince: number
  /** False: the node was declared gone, holds nothing any more and must come back under a new boot id. */
  readonly known: boolean
  /** Of the listed claims, those that no longer stand. */
  readonly lost: readonly string[]
  readonly cancels: readonly CancelNotice[]
}

export interface CancelNotice {
  readonly ref: number
  readonly turn: number
  readonly reason: string | null
}

export interface RescueRequest {
  /** Nodes whose beats have stood still for their ttl by the observer's clock; the store checks by its own. */
  readonly gone: readonly { boot: string; beats: number }[]
  /** The wait before the k-th recovery; an occurrence lost more often than this list is long becomes dead. */
  readonly delaysMs: readonly number[]
  /** Claims to work off in one call. */
  readonly limit: number
}

export interface RescueAnswer {
  readonly rescued: readonly {
    id: string
    job: string
    turn: number
    outcome: 'lost' | 'stale' | 'released' | 'canceled' | 'dead'
  }[]
  /** Nodes that were removed with the last of their claims. */
  readonly removed: readonly string[]
  /** Whether claims of gone nodes are left for another call. */
  readonly more: boolean
  /** What was not started in time, on any node. */
  readonly expired: readonly PassedOccurrence[]
}

export interface PruneRequest {
  readonly endedBefore: number
  /** How long ids stay taken that may be used only once. */
  readonly keyRetentionMs: number
  readonly limit: number
}

export interface PruneAnswer {
  readonly pruned: number
  /** Whether there may be more to delete right now. */
  readonly more: boolean
}

// ── reading ──

/** How many occurrences stand where, and when the latest run that has ended began, however long ago it was pruned. */
export interface JobCounts {
  readonly states: Readonly<Record<OccurrenceState, number>>
  readonly lastRunAt: number | null
  /** Failures since the last success, over the jobs asked for. */
  readonly failuresInRow: number
}

/** A range of instants of a job that were passed over. */
export interface RangeRecord extends Passed {
  readonly tenant: string
  readonly job: string
  readonly version: number
  readonly recordedAt: number
}

export type Hint = { readonly kind: 'due'; readonly at: number } | { readonly kind: 'cancel' } | { readonly kind: 'job' }
