// The contract between the engine and every store. Each verb is one atomic act, safe to repeat after an unknown outcome.
// Retries, timeouts and schedules are decided above it; what may run, who gives way and what a lost turn becomes, in rules/.
// Instants are epoch milliseconds of the store's clock.
import type { JobRecord, VersionRecord } from '../model/job.ts'
import type { OccurrenceHistory, OccurrenceSummary } from '../model/occurrence.ts'
import type { PauseRecord } from '../model/pause.ts'
import type { Clock } from '../time/clock.ts'
import type { Ability } from './abilities.ts'
import type { AuditAnswerTo, AuditQuery } from './messages/audit.ts'
import type {
  BacklogGroup,
  CancelAnswer,
  CancelRequest,
  CheckpointItem,
  ClaimAnswer,
  ClaimRequest,
  MoveAnswer,
  MoveRequest,
  SettleAnswer,
  SettleItem,
  SettleOptions,
  Which,
  WriteAnswer,
} from './messages/claim.ts'
import type { CreateAnswer, CreateOptions, NewOccurrence } from './messages/create.ts'
import type { DueQuery, DueRow, FigureAdd, FigureQuery, FigureRow } from './messages/figure.ts'
import type { GateAnswerTo, GateRequest } from './messages/gate.ts'
import type { Hints } from './messages/hint.ts'
import type { JobPut, JobPutAnswer, JobQuery, PauseAnswer, PauseRequest } from './messages/job.ts'
import type {
  Beat,
  BeatAnswer,
  NodesAnswer,
  NodesRequest,
  PruneAnswer,
  PruneRequest,
  RescueAnswer,
  RescueRequest,
} from './messages/maintenance.ts'
import type { JobPlan, PlanAnswer, PlanWork } from './messages/plan.ts'
import type { CountsQuery, JobCounts, RangeRecord } from './messages/read.ts'
import type { TokenRecord, TokenRequest } from './messages/token.ts'
import type { OccurrenceFilter, Page } from './query.ts'

export type * from './messages/audit.ts'
export type * from './messages/claim.ts'
export type * from './messages/create.ts'
export type * from './messages/due.ts'
export type * from './messages/figure.ts'
export type * from './messages/gate.ts'
export type * from './messages/hint.ts'
export type * from './messages/job.ts'
export type * from './messages/maintenance.ts'
export type * from './messages/plan.ts'
export type * from './messages/read.ts'
export type * from './messages/token.ts'
export type * from './messages/transaction.ts'

/** The contract of every store. */
export interface Store {
  readonly name: string
  readonly abilities: ReadonlySet<Ability>
  /** The most occurrences that one claim or one settle may carry. */
  readonly batchLimit: number
  /** How another thread of the process opens the same data. Left out by stores that no other thread can open. */
  readonly reopen?: Reopen | undefined
  readonly hints: Hints

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
   * Creates occurrences. Rows that another open transaction blocks for more than a moment are refused with `store.busy` and `isHeld`
   * in its details, and nothing is created.
   */
  create(rows: readonly NewOccurrence[], options?: CreateOptions): Promise<CreateAnswer>

  /** When a claim of these kinds is worth a try, and the store's time: a hint. */
  peek(query: { kinds: readonly string[] }): Promise<{ now: number; nextDue: number | null }>
  /** The number of due occurrences that may be claimed, by tenant, job and priority. */
  backlog(query: { kinds: readonly string[] }): Promise<readonly BacklogGroup[]>
  /**
   * Takes due occurrences. Claiming again under the same id returns the same members, those already ended left out.
   * A node that has not joined, or a second claim with another token, gets `claim.lost`.
   */
  claim(request: ClaimRequest): Promise<ClaimAnswer>
  /** Records ended attempts, a start or progress of members that go on. */
  checkpoint(items: readonly CheckpointItem[]): Promise<readonly WriteAnswer[]>
  /** Ends turns, and may take the next work in the same commit. */
  settle(items: readonly SettleItem[], options?: SettleOptions): Promise<SettleAnswer>
  /** With `tx`, of a store with the ability `join`: in the caller's transaction. */
  cancel(request: CancelRequest, tx?: unknown): Promise<readonly CancelAnswer[]>
  /** Moves one occurrence on a person's request: another time, another chance, or the end of a dead one. */
  move(request: MoveRequest): Promise<MoveAnswer>

  /** Reserves the key of an effect, records or releases it, resolves an unknown outcome, or lists keys. */
  gate<Request extends GateRequest>(request: Request): Promise<GateAnswerTo<Request>>

  /** Rows of the audit, or the seals of its segments. `prune` seals what has been written since. */
  listAudit<Query extends AuditQuery>(query: Query): Promise<AuditAnswerTo<Query>>

  beat(beat: Beat): Promise<BeatAnswer>
  /** Ends the turns of gone nodes and turns past their deadline, and puts the work back or buries it. Hands out hooks left behind. */
  rescue(request: RescueRequest): Promise<RescueAnswer>
  /** Deletes ended occurrences past their time, at most `limit`; their ids stay taken as tombstones. Dead ones stay. Folds counts and figures. */
  prune(request: PruneRequest): Promise<PruneAnswer>

  get(which: Which): Promise<OccurrenceHistory | null>
  list(filter: OccurrenceFilter): Promise<Page<OccurrenceSummary>>
  /** Ranges of passed-over instants without records, the newest first. */
  listRanges(query: { tenant?: string; job?: string; limit: number }): Promise<readonly RangeRecord[]>
  counts(query: CountsQuery): Promise<JobCounts>
  /** Live work that may be claimed, in the order in which it is due. Work that waits for a key, a pause or the planner is left out. */
  listDue(query: DueQuery): Promise<readonly DueRow[]>
  /** Figures of a span, the newest first; several rows may cover the same span. Or adds what a node has counted, and returns none. */
  figures(request: FigureQuery | FigureAdd): Promise<readonly FigureRow[]>
  /** Stores, finds or deletes tokens of the HTTP interface. The answer: those that were found, stored or deleted. */
  tokens(request: TokenRequest): Promise<readonly TokenRecord[]>
  /** All nodes, the kinds of due work that none of them can run, and whether a rescue is due. `drain` marks nodes first. */
  nodes(request?: NodesRequest): Promise<NodesAnswer>
}

/** The factory of a store and its arguments, all of which can be sent to a thread. */
export interface Reopen {
  /** The module's URL. */
  readonly module: string
  /** The export that makes the store. */
  readonly factory: string
  readonly given: readonly unknown[]
}

/** The environment of a store. A store on a server uses its clock only for timers. */
export interface StoreEnv {
  readonly clock: Clock
  readonly random: () => number
}
