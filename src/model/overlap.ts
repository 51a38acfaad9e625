import { type DurationInput, parseDuration } from '../time/duration.ts'
import { checkKey, checkOptions, checkWhole } from './limits.ts'

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

export function parseConcurrency(options: ConcurrencyOptions, field: string): ConcurrencyLimit {
  checkOptions(options, ['key', 'limit'], field)
  return { key: checkKey(options.key, `${field}.key`), limit: checkWhole(options.limit, `${field}.limit`, 1, 1_000_000) }
}

export function parseRate(options: RateOptions, field: string): RateLimit {
  checkOptions(options, ['key', 'limit', 'per'], field)
  const { key, limit, per } = options
  return {
    key: checkKey(key, `${field}.key`),
    limit: checkWhole(limit, `${field}.limit`, 1, 1_000_000),
    perMs: parseDuration(per, `${field}.per`, 1),
  }
}
