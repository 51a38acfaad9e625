import type { Logger } from '../model/context.ts'
import type { RetryFunction } from '../model/retry.ts'
import type { SettingsDiff } from '../model/settings.ts'
import type { UpdatePolicy } from '../model/update.ts'
import type { BacklogGroup, Quota, Store } from '../store/store.ts'
import type { Clock } from '../time/clock.ts'
import type { Bus } from './node/bus.ts'
import type { Registry } from './node/registry.ts'
import type { StoreTime } from './node/store-time.ts'
import type { Rides } from './record/rides.ts'
import type { Timeouts } from './turn/timeouts.ts'

/** All that the engine's parts have in common. Nothing else connects them to the world. */
export interface Env {
  readonly clock: Clock
  /** From 0 to below 1. */
  readonly random: () => number
  /** Random bytes for ids and tokens. */
  readonly randomBytes: (count: number) => Uint8Array
  readonly store: Store
  readonly log: Logger
  readonly events: Bus
  readonly registry: Registry
  readonly time: StoreTime
  readonly timeouts: Timeouts
  readonly rides: Rides
  /** What this process declares: a hash by job id. */
  readonly declared: Map<string, string>
  /** Since when no live node has declared the newest version of a job that this process would take back, by the monotonic clock. */
  readonly unopposedSince: Map<string, number>
  readonly options: EngineOptions
}

/** The engine's settings in their inner form; `docs/reference/defaults.md` lists them all. */
export interface EngineOptions {
  readonly nodeName: string
  /** Orders deployments: of two, the later release has the say about what is declared. */
  readonly release: number | null
  /** What is claimed first of all that is due. */
  readonly pick: 'priority' | 'fair' | ((waiting: readonly BacklogGroup[]) => readonly Quota[])
  /** Whether jobs that no node declares any more are retired, instead of only told of. */
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
  /** When changes of jobs take hold, unless the change says so itself. */
  readonly update: UpdatePolicy
  /** The most occurrences that one claim takes; the store may allow less. */
  readonly claimLimit: number
  readonly pollMs: number
  /** The same while the store cannot tell of what other processes do. */
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
  readonly retentionMs: number
  readonly keyRetentionMs: number
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
  retentionMs: 30 * 86_400_000,
  keyRetentionMs: 90 * 86_400_000,
  mostRecoveries: 2,
}
