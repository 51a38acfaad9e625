// How long ended occurrences are kept, by age and by count, per end state.
import { PunctualError, shown } from '../errors.ts'
import { type DurationInput, parseDuration } from '../time/duration.ts'
import { endStates } from './lifecycle.ts'
import { checkOptions, checkWhole } from './limits.ts'

type EndState = (typeof endStates)[number]

/** How long, and at most how many. Older records, and those beyond the count, are deleted. */
export interface Keep {
  /** Default: as for all states. */
  age?: DurationInput | 'forever'
  /** At most so many of the newest. Default: no limit. */
  count?: number
}

/** How long ended occurrences are kept: an age for all, or ages and counts by end state. */
export type RetentionOptions =
  | DurationInput
  | 'forever'
  | (Keep & { readonly [State in EndState]?: DurationInput | 'forever' | Keep })

/** `ageMs` null: for ever. `count` null: any number. */
export interface Kept {
  readonly ageMs: number | null
  readonly count: number | null
}

export type RetentionPolicy = Readonly<Record<EndState, Kept>>

const keepNames = ['age', 'count'] as const

export function parseRetention(given: RetentionOptions, field: string, otherwise: Kept): RetentionPolicy {
  const all = parseKeep(given, field, otherwise, [...keepNames, ...endStates])
  const own = typeof given === 'object' ? given : {}
  const entries = endStates.map((state) => {
    const keep = own[state]
    return [state, keep === undefined ? all : parseKeep(keep, `${field}.${state}`, all, keepNames)] as const
  })
  return Object.fromEntries(entries) as RetentionPolicy
}

function parseKeep(given: DurationInput | 'forever' | Keep, field: string, otherwise: Kept, names: readonly string[]): Kept {
  if (typeof given === 'string' || typeof given === 'number') return { ageMs: parseAge(given, field), count: otherwise.count }
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new PunctualError(
      'option.invalid',
      `${field} must be a duration, 'forever', or { age, count } with settings by end state; got ${shown(given)}`,
      { field, given: shown(given) },
    )
  checkOptions(given, names, field)
  const { age, count } = given
  return {
    ageMs: age === undefined ? otherwise.ageMs : parseAge(age, `${field}.age`),
    count: count === undefined ? otherwise.count : checkWhole(count, `${field}.count`, 0, 1_000_000_000),
  }
}

function parseAge(age: DurationInput | 'forever', field: string): number | null {
  return age === 'forever' ? null : parseDuration(age, field)
}

/** The age for all states where they have the same, and no count; undefined for a finer policy. */
export function plainAge(policy: RetentionPolicy): number | null | undefined {
  const [first, ...rest] = endStates.map((state) => policy[state])
  if (!first || first.count !== null) return undefined
  return rest.every(({ ageMs, count }) => ageMs === first.ageMs && count === null) ? first.ageMs : undefined
}

/** The same for every state. */
export function keptFor(ageMs: number | null): RetentionPolicy {
  return Object.fromEntries(endStates.map((state) => [state, { ageMs, count: null }])) as RetentionPolicy
}
