// Limits as records: which keys an occurrence must hold in order to run. Stores grant and free them in the commits that claim and end.
import { type DurationInput, parseDuration } from '../time/duration.ts'
import { checkKey, checkOptions, checkWhole } from './limits.ts'
import type { Source } from './lifecycle.ts'
import type { Settings } from './settings.ts'

export const overlapPolicies = ['skip', 'allow', 'queue', 'queue-one', 'cancel-previous'] as const
/** What a due instant of a job does when another occurrence of the job runs, waits or is between two tries. */
export type OverlapPolicy = (typeof overlapPolicies)[number]

/** At most `limit` occurrences that name the same key run at once, in the whole cluster. */
export interface ConcurrencyOptions {
  key: string
  limit: number
}

/** At most `limit` occurrences that name the same key start within `per`, in the whole cluster. */
export interface RateOptions {
  key: string
  limit: number
  per: DurationInput
}

export interface ConcurrencyLimit {
  readonly key: string
  readonly limit: number
}

export interface RateLimit extends ConcurrencyLimit {
  readonly perMs: number
}

/** One key that an occurrence needs. */
export interface Hold {
  readonly kind: 'overlap' | 'concurrency' | 'rate' | 'catch-up'
  /** Unambiguous over kinds and tenants. */
  readonly key: string
  readonly limit: number
  /** Of a rate: the length of the window. Nothing is held; starts are counted. */
  readonly perMs?: number
  /** Of an overlap: what a taken key means. */
  readonly policy?: Exclude<OverlapPolicy, 'allow'>
}

export function parseConcurrency(options: ConcurrencyOptions, field: string): ConcurrencyLimit {
  checkOptions(options, ['key', 'limit'], field)
  return { key: checkKey(options.key, `${field}.key`), limit: checkWhole(options.limit, `${field}.limit`, 1, 1_000_000) }
}

export function parseRate(options: RateOptions, field: string): RateLimit {
  checkOptions(options, ['key', 'limit', 'per'], field)
  const { key, limit, per } = options
  return { key: checkKey(key, `${field}.key`), limit: checkWhole(limit, `${field}.limit`, 1, 1_000_000), perMs: Math.max(1, parseDuration(per, `${field}.per`)) }
}

/** The keys an occurrence needs, in the order in which they are taken; null when there are none, which is the common case. */
export function holdsFor({ tenant, job, source, settings }: { tenant: string; job: string; source: Source; settings: Settings }): readonly Hold[] | null {
  const holds: Hold[] = []
  const policy = overlapFor(source, settings.overlap)
  if (policy !== 'allow') holds.push({ kind: 'overlap', key: holdKey('overlap', tenant, job), limit: 1, policy })
  else if (source === 'recovery') holds.push({ kind: 'catch-up', key: holdKey('catch-up', tenant, job), limit: 1 })
  if (settings.concurrency) holds.push({ kind: 'concurrency', key: holdKey('concurrency', tenant, settings.concurrency.key), limit: settings.concurrency.limit })
  if (settings.rate) holds.push({ kind: 'rate', key: holdKey('rate', tenant, settings.rate.key), limit: settings.rate.limit, perMs: settings.rate.perMs })
  if (source === 'recovery') holds.push({ kind: 'catch-up', key: holdKey('catch-up'), limit: settings.catchUp })
  return holds.length === 0 ? null : holds
}

/** Scheduled instants follow the job's policy; what a person or a gap brings waits its turn; enqueued work does not mind. */
function overlapFor(source: Source, policy: OverlapPolicy): OverlapPolicy {
  if (source === 'schedule') return policy
  if (source === 'deferred' || source === 'timer' || source === 'backfill') return 'allow'
  return policy === 'allow' ? 'allow' : 'queue'
}

function holdKey(...parts: readonly string[]): string {
  return JSON.stringify(parts)
}
