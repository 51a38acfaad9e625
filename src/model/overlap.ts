import { type DurationInput, parseDuration } from '../time/duration.ts'
import { checkKey, checkOptions, checkWhole } from './limits.ts'

export const overlapPolicies = ['skip', 'allow', 'queue', 'queue-one', 'cancel-previous'] as const
/** The behaviour of a due instant while another occurrence of the job runs, waits or is between two tries. */
export type OverlapPolicy = (typeof overlapPolicies)[number]

/** At most `limit` occurrences that name the same key run at once, in the whole cluster. */
export interface ConcurrencyOptions<Key = string> {
  key: Key
  limit: number
}

/** At most `limit` occurrences that name the same key start within `per`, in the whole cluster. */
export interface RateOptions<Key = string> {
  key: Key
  limit: number
  per: DurationInput
}

/** The key of a limit, in a definition: a text, or a function of the payload, called once when an occurrence is created. */
export type LimitKey<Payload> = string | ((payload: Payload) => string)

export interface ConcurrencyLimit {
  /** Null for the job itself, or while `isByPayload`. */
  readonly key: string | null
  readonly limit: number
  /** The definition makes the key of the payload. */
  readonly isByPayload?: true
}

export interface RateLimit extends ConcurrencyLimit {
  readonly perMs: number
}

/** A number alone limits the job itself. */
export function parseConcurrency(options: number | ConcurrencyOptions<LimitKey<never>>, field: string): ConcurrencyLimit {
  if (typeof options === 'number') return { key: null, limit: checkWhole(options, field, 1, 1_000_000) }
  checkOptions(options, ['key', 'limit'], field)
  return { ...parseKey(options.key, field), limit: checkWhole(options.limit, `${field}.limit`, 1, 1_000_000) }
}

function parseKey(key: LimitKey<never>, field: string): Pick<ConcurrencyLimit, 'key' | 'isByPayload'> {
  return typeof key === 'function' ? { key: null, isByPayload: true } : { key: checkKey(key, `${field}.key`) }
}

export function parseRate(options: RateOptions<LimitKey<never>>, field: string): RateLimit {
  checkOptions(options, ['key', 'limit', 'per'], field)
  const { key, limit, per } = options
  return {
    ...parseKey(key, field),
    limit: checkWhole(limit, `${field}.limit`, 1, 1_000_000),
    perMs: parseDuration(per, `${field}.per`, 1),
  }
}
