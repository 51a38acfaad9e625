// The options by which several calls share one occurrence.
import { PunctualError } from '../errors.ts'
import { checkObject, checkOptions } from '../model/limits.ts'
import type { RetentionPolicy } from '../model/retention.ts'
import type { Pace } from '../store/store.ts'
import { type DurationInput, parseDuration } from '../time/duration.ts'

/** Options of `enqueue` that need a `key`. */
export interface PaceOptions {
  /**
   * Calls under one key become one run with the last payload, `wait` after the last call, and at the latest `longest` after the first.
   * @example { key: 'cart-7', debounce: { wait: '5s', longest: '1m' } }
   */
  debounce?: { wait: DurationInput; longest?: DurationInput }
  /** Calls under one key within this time of the first return that one: the first payload wins. */
  throttle?: DurationInput
}

interface Given extends PaceOptions {
  readonly key?: string
  readonly onConflict?: unknown
  readonly delay?: unknown
  readonly runAt?: unknown
}

/** Null where the calls do not share anything. `retention`: that of the job, where it is known. */
export function paceOf(given: Given, retention: RetentionPolicy | null): Pace | null {
  const { debounce, throttle, key } = given
  if (debounce === undefined && throttle === undefined) return null
  const field = debounce === undefined ? 'throttle' : 'debounce'
  if (key === undefined) throw refused(field, `${field} needs a key: calls with the same key share one occurrence`)
  const excluded = ['onConflict', ...(debounce === undefined ? [] : ['throttle', 'delay', 'runAt'])] as const
  for (const other of excluded)
    if (given[other as keyof Given] !== undefined) throw refused(field, `${field} and ${other} exclude each other`)
  return debounce === undefined ? throttleOf(throttle as DurationInput, retention) : debounceOf(debounce)
}

/** A record that is deleted within the time could not be returned any more. */
function throttleOf(throttle: DurationInput, retention: RetentionPolicy | null): Pace {
  const perMs = positive(throttle, 'throttle')
  const ages = Object.values(retention ?? {}).map(({ ageMs }) => ageMs ?? Number.POSITIVE_INFINITY)
  const shortest = Math.min(...ages)
  if (perMs >= shortest)
    throw refused('throttle', `throttle (${perMs} ms) must be shorter than the retention of the job (${shortest} ms)`)
  return { throttle: { perMs } }
}

function debounceOf(debounce: NonNullable<PaceOptions['debounce']>): Pace {
  checkObject(debounce, 'debounce')
  checkOptions(debounce, ['wait', 'longest'], 'debounce')
  const waitMs = positive(debounce.wait, 'debounce.wait')
  const longestMs = debounce.longest === undefined ? null : positive(debounce.longest, 'debounce.longest')
  if (longestMs !== null && longestMs < waitMs)
    throw refused('debounce.longest', `debounce.longest (${longestMs} ms) must be at least debounce.wait (${waitMs} ms)`)
  return { debounce: { waitMs, longestMs } }
}

function positive(given: DurationInput, field: string): number {
  const ms = parseDuration(given, field)
  if (ms > 0) return ms
  throw refused(field, `${field} must be longer than 0`)
}

function refused(field: string, message: string): PunctualError {
  return new PunctualError('option.invalid', message, { field })
}
