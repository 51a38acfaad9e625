// Decides about instants that came due while no node ran.
import { PunctualError } from '../errors.ts'
import { type DurationInput, parseDuration } from '../time/duration.ts'
import { checkOneOf, checkOptions, checkWhole } from './limits.ts'

export const recoveryStrategies = ['all', 'last', 'mark-missed', 'bounded', 'compressed'] as const
export type RecoveryStrategy = (typeof recoveryStrategies)[number]

export type RecoveryOptions =
  | Exclude<RecoveryStrategy, 'bounded'>
  | {
      strategy: RecoveryStrategy
      /** `bounded`: at most so many run, the newest. At most 1,000. */
      maxOccurrences?: number
      /** `bounded`: none older than this runs. */
      maxAge?: DurationInput
    }

/** Recovery options in their stored form. */
export interface RecoveryPolicy {
  readonly strategy: RecoveryStrategy
  readonly maxOccurrences?: number
  readonly maxAgeMs?: number
}

/** The instants that one compressed run stands for. */
export interface Span {
  readonly from: number
  readonly to: number
  readonly count: number
}

/** Instants that were passed over: a single one, or a range with its count. */
export interface Passed {
  readonly from: number
  readonly to: number
  readonly count: number
  readonly state: 'missed' | 'skipped'
  readonly reason: string
}

/** The decision about the instants of a gap. */
export interface GapDecision {
  /** Oldest first. */
  readonly run: readonly { readonly at: number; readonly span: Span | null }[]
  readonly passed: readonly Passed[]
}

/** Up to so many instants that are passed over get a record each; more become one range record. */
export const singleRecords = 1000
export const mostBounded = 1000

export function parseRecovery(options: RecoveryOptions, field: string): RecoveryPolicy {
  if (typeof options === 'string') return checkedStrategy({ strategy: checkOneOf(options, field, recoveryStrategies) }, field)
  checkOptions(options, ['strategy', 'maxOccurrences', 'maxAge'], field)
  const { maxOccurrences, maxAge } = options
  return checkedStrategy(
    {
      strategy: checkOneOf(options.strategy, `${field}.strategy`, recoveryStrategies),
      ...(maxOccurrences !== undefined && {
        maxOccurrences: checkWhole(maxOccurrences, `${field}.maxOccurrences`, 0, mostBounded),
      }),
      ...(maxAge !== undefined && { maxAgeMs: parseDuration(maxAge, `${field}.maxAge`) }),
    },
    field,
  )
}

function checkedStrategy(policy: RecoveryPolicy, field: string): RecoveryPolicy {
  const hasBounds = policy.maxOccurrences !== undefined || policy.maxAgeMs !== undefined
  if ((policy.strategy === 'bounded') === hasBounds) return policy
  const message = hasBounds
    ? 'maxOccurrences and maxAge belong to the strategy bounded'
    : 'bounded needs maxOccurrences, maxAge or both'
  throw new PunctualError('option.invalid', `${field}: ${message}`, { field, given: policy.strategy })
}

/**
 * Decides about the instants of a gap, which come oldest first and may be millions: memory use is bounded by the kept ones.
 * Under `all` everything runs; the caller bounds how many it hands over at once.
 */
export function decideGap(
  { strategy, maxOccurrences = mostBounded, maxAgeMs = Number.POSITIVE_INFINITY }: RecoveryPolicy,
  instants: Iterable<number>,
  now: number,
): GapDecision {
  if (strategy === 'all') return { run: Array.from(instants, (at) => ({ at, span: null })), passed: [] }
  const keep = strategy === 'mark-missed' ? 0 : strategy === 'bounded' ? maxOccurrences : 1
  const newest: number[] = []
  const passed = new PassedInstants()
  const span = { from: 0, to: 0, count: 0 }
  for (const at of instants) {
    if (span.count++ === 0) span.from = at
    span.to = at
    if (keep === 0 || (strategy === 'bounded' && at <= now - maxAgeMs)) passed.add(at)
    else if (newest.push(at) > keep) passed.add(newest.shift() as number)
  }
  const run = newest.map((at) => ({ at, span: strategy === 'compressed' ? span : null }))
  return {
    run,
    passed: passed.records(
      strategy === 'compressed' ? { state: 'skipped', reason: 'compressed' } : { state: 'missed', reason: 'downtime' },
    ),
  }
}

/** Instants in order, each by itself while they are few, and only their range once they are many. */
export class PassedInstants {
  #singles: number[] = []
  #from = 0
  #to = 0
  #count = 0

  add(at: number): void {
    if (this.#count === 0) this.#from = at
    this.#to = at
    if (++this.#count <= singleRecords) this.#singles.push(at)
    else this.#singles = []
  }

  records(as: Pick<Passed, 'state' | 'reason'>): readonly Passed[] {
    if (this.#count > singleRecords) return [{ from: this.#from, to: this.#to, count: this.#count, ...as }]
    return this.#singles.map((at) => ({ from: at, to: at, count: 1, ...as }))
  }
}
