import { PunctualError, shown } from '../errors.ts'
import { type DurationInput, longestDurationMs, parseDuration } from '../time/duration.ts'
import { checkOneOf, checkOptions, checkWhole } from './limits.ts'

export const retryStrategies = ['exponential', 'fixed', 'proportional'] as const
export type RetryStrategy = (typeof retryStrategies)[number]

/** The argument of a custom retry strategy. */
export interface RetryQuestion {
  /** 1 for the first retry. */
  readonly retry: number
  readonly error: unknown
  /** How long after its creation the occurrence was first due, in ms. */
  readonly delayMs: number
  readonly job: string
  readonly tenant: string
  readonly task: string
  readonly payload: unknown
}

/** A strategy of your own: the wait before this retry, or `false` for no retry. */
export type RetryFunction = (question: RetryQuestion) => DurationInput | false

/** How often a failed task is tried again, and after which waits. */
export interface RetryOptions {
  /** Retries beyond the first attempt. Default 3. */
  max?: number
  /** The wait before the first retry. Default 2 s. */
  interval?: DurationInput
  /** Each wait is the one before times this. Default 2. */
  factor?: number
  /** No wait is longer than this. Default 1 h. */
  maxInterval?: DurationInput
  /** Takes a random part, up to this share from 0 to 1, off each wait. Default 0. */
  jitter?: number
  /** Of `proportional`: wait k is this share of the delay times k, and at most `maxInterval`. Default 0.1. */
  share?: number
  /** `exponential` (default), `fixed`, `proportional` to the delay the work was created with, or a function. */
  strategy?: RetryStrategy | RetryFunction
}

/** Retry options in their stored form; a function is kept by the definition and stored as `custom`. */
export interface RetryPolicy {
  readonly max: number
  readonly intervalMs: number
  readonly factor: number
  readonly maxIntervalMs: number
  readonly jitter: number
  readonly share: number
  readonly strategy: RetryStrategy | 'custom'
}

export const defaultRetry: RetryPolicy = {
  max: 3,
  intervalMs: 2000,
  factor: 2,
  maxIntervalMs: 3_600_000,
  jitter: 0,
  share: 0.1,
  strategy: 'exponential',
}

const optionNames = ['max', 'interval', 'factor', 'maxInterval', 'jitter', 'share', 'strategy']

export function parseRetry(options: RetryOptions, field: string): Partial<RetryPolicy> {
  checkOptions(options, optionNames, field)
  const { max, interval, factor, maxInterval, jitter, share, strategy } = options
  return {
    ...(max !== undefined && { max: checkWhole(max, `${field}.max`, 0, 1_000_000) }),
    ...(interval !== undefined && { intervalMs: parseDuration(interval, `${field}.interval`) }),
    ...(factor !== undefined && { factor: checkBetween(factor, `${field}.factor`, 1, 100) }),
    ...(maxInterval !== undefined && { maxIntervalMs: parseDuration(maxInterval, `${field}.maxInterval`) }),
    ...(jitter !== undefined && { jitter: checkBetween(jitter, `${field}.jitter`, 0, 1) }),
    ...(share !== undefined && { share: checkBetween(share, `${field}.share`, 0, 100) }),
    ...(strategy !== undefined && {
      strategy: typeof strategy === 'function' ? ('custom' as const) : checkOneOf(strategy, `${field}.strategy`, retryStrategies),
    }),
  }
}

/** An error that decides about its own retry: thrown by `ctx.fail`, or any error with these properties. */
export interface RetryHint {
  readonly retryable?: boolean
  readonly retryInMs?: number
}

/**
 * The wait in ms before the next attempt, or null when the task has failed for good.
 * `failures` counts the failed attempts so far, the one just ended included.
 */
export function retryDelay(
  policy: RetryPolicy,
  question: {
    failures: number
    error: unknown
    delayMs: number
    random: number
    custom?: RetryFunction | undefined
    about?: Pick<RetryQuestion, 'job' | 'tenant' | 'task' | 'payload'>
  },
): number | null {
  const { failures, error, delayMs, random, custom, about = nothing } = question
  const { retryable, retryInMs } = hintOf(error)
  if (failures > policy.max || retryable === false) return null
  if (Number.isFinite(retryInMs)) return Math.min(Math.max(0, Math.round(retryInMs as number)), longestDurationMs)
  if (policy.strategy === 'custom' && custom) {
    const wait = custom({ ...about, retry: failures, error, delayMs })
    return wait === false ? null : parseDuration(wait, 'retry.strategy')
  }
  const wait = Math.min(baseWait(policy, failures, delayMs), policy.maxIntervalMs)
  return Math.round(wait * (1 - policy.jitter * random))
}

const nothing = { job: '', tenant: '', task: '', payload: undefined }

/** The retry hint that an error carries. One that cannot be read gives none. */
function hintOf(error: unknown): RetryHint {
  if (typeof error !== 'object' || error === null) return {}
  try {
    const { retryable, retryInMs } = error as RetryHint
    return { ...(retryable !== undefined && { retryable }), ...(retryInMs !== undefined && { retryInMs }) }
  } catch {
    return {}
  }
}

function baseWait({ strategy, intervalMs, factor, share }: RetryPolicy, retry: number, delayMs: number): number {
  if (strategy === 'fixed') return intervalMs
  if (strategy === 'proportional' && delayMs > 0) return delayMs * share * retry
  // Bounded, since no wait at all times infinity would be no number.
  return intervalMs * Math.min(factor ** (retry - 1), Number.MAX_SAFE_INTEGER)
}

function checkBetween(value: unknown, field: string, min: number, max: number): number {
  if (typeof value === 'number' && value >= min && value <= max) return value
  throw new PunctualError('option.invalid', `${field} must be a number from ${min} to ${max}; got ${shown(value)}`, {
    field,
    given: shown(value),
    min,
    max,
  })
}
