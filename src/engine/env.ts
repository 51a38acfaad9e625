import type { Logger } from '../model/context.ts'
import type { RetryFunction } from '../model/retry.ts'
import type { SettingsDiff } from '../model/settings.ts'
import type { UpdatePolicy } from '../model/update.ts'
import type { ObservedStore } from '../store/observed.ts'
import type { BacklogGroup, Quota } from '../store/store.ts'
import type { Clock } from '../time/clock.ts'
import type { Bus } from './node/bus.ts'
import type { Registry } from './node/registry.ts'
import type { StoreTime } from './node/store-time.ts'
import type { Figures } from './record/figures.ts'
import type { JoinedClaims } from './record/joined-claims.ts'
import type { WorkPort } from './turn/children.ts'
import type { Timeouts } from './turn/timeouts.ts'
import type { TracePort } from './turn/trace-port.ts'

/** All that the engine's parts have in common. Nothing else connects them to the world. */
export interface Env {
  readonly clock: Clock
  /** From 0 to below 1. */
  readonly random: () => number
  /** Random bytes for ids and tokens. */
  readonly randomBytes: (count: number) => Uint8Array
  readonly store: ObservedStore
  readonly log: Logger
  readonly events: Bus
  readonly registry: Registry
  readonly time: StoreTime
  readonly timeouts: Timeouts
  readonly joinedClaims: JoinedClaims
  readonly figures: Figures
  /** The declarations of this process: a hash by job id. */
  readonly declared: Map<string, string>
  /** Since when no live node has declared the newest version of a job that this process would take back, by the monotonic clock. */
  readonly unopposedSince: Map<string, number>
  /** Services beside the engine whose state travels with each beat, by name. */
  readonly parts: Map<string, () => unknown>
  /** The client's functions for handlers. */
  readonly work: { port: WorkPort | null }
  /** The tracer, where one is set. */
  readonly trace: { port: TracePort | null }
  readonly options: EngineOptions
}

/** The engine's settings in their inner form; `docs/reference/defaults.md` lists them all. */
export interface EngineOptions {
  readonly nodeName: string
  /** Orders deployments: of two, the later release decides what is declared. */
  readonly release: number | null
  /** The order of claims among due work. */
  readonly pick: 'priority' | 'fair' | ((waiting: readonly BacklogGroup[]) => readonly Quota[])
  /** Whether jobs that no node declares any more are retired. Otherwise they are only logged. */
  readonly retireOrphans: boolean
  /** Occurrences that run at once in the whole cluster; null for no limit. */
  readonly clusterLimit: number | null
  /** Occurrences that run at once on this node. */
  readonly concurrency: number
  /** The scheduler's level of the settings cascade. */
  readonly settings: SettingsDiff
  /** The scheduler's own retry strategy, which cannot be stored. */
  readonly retryFunction: RetryFunction | undefined
  /** The zone of schedules that name none. */
  readonly timezone: string
  /** The update policy of changes that name none. */
  readonly update: UpdatePolicy
  /** The most occurrences that one claim takes; the store may allow less. */
  readonly claimLimit: number
  readonly pollMs: number
  /** The same while no hints of other processes arrive. */
  readonly deafPollMs: number
  /** How often other nodes' beats are looked at. */
  readonly watchMs: number
  readonly horizonMs: number
  readonly beatMs: number
  readonly ttlMs: number
  /** How long before its ttl a node that cannot beat stops itself. */
  readonly ttlMarginMs: number
  readonly graceMs: number
  /** How long a handler may go on after its signal before it is written off. */
  readonly writeOffMs: number
  readonly keyRetentionMs: number
  /** How long rows of the audit, closed pauses, ranges and replaced versions are kept; null: for ever. */
  readonly auditRetentionMs: number | null
  readonly pauseRetentionMs: number | null
  readonly rangeRetentionMs: number | null
  readonly versionRetentionMs: number | null
  /** How long the outcome of an effect is remembered. */
  readonly gateRetentionMs: number
  /** The waits before the recoveries of an occurrence whose node was lost; one more loss makes it dead. */
  readonly mostRecoveries: number
}

export const defaultOptions: Omit<EngineOptions, 'nodeName' | 'settings' | 'retryFunction'> = {
  release: null,
  clusterLimit: null,
  retireOrphans: false,
  pick: 'priority',
  update: 'immediate',
  timezone: 'UTC',
  concurrency: 10,
  claimLimit: 1000,
  pollMs: 2000,
  deafPollMs: 1000,
  watchMs: 2000,
  horizonMs: 10_000,
  beatMs: 5000,
  ttlMs: 15_000,
  ttlMarginMs: 3000,
  graceMs: 30_000,
  writeOffMs: 5000,
  keyRetentionMs: 90 * 86_400_000,
  auditRetentionMs: null,
  pauseRetentionMs: 365 * 86_400_000,
  rangeRetentionMs: 365 * 86_400_000,
  versionRetentionMs: null,
  gateRetentionMs: 90 * 86_400_000,
  mostRecoveries: 2,
}
