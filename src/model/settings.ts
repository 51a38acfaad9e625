// The cascade of settings: defaults ← scheduler ← definition ← job ← task ← occurrence. Each level stores only what differs.
import { PunctualError, shown } from '../errors.ts'
import { type DurationInput, parseDuration } from '../time/duration.ts'
import { checkOneOf, checkOptions, checkWhole } from './limits.ts'
import {
  type ConcurrencyLimit,
  type ConcurrencyOptions,
  type OverlapPolicy,
  overlapPolicies,
  parseConcurrency,
  parseRate,
  type RateLimit,
  type RateOptions,
} from './overlap.ts'
import { parseRecovery, type RecoveryOptions, type RecoveryPolicy } from './recovery.ts'
import { keptFor, parseRetention, type RetentionOptions, type RetentionPolicy } from './retention.ts'
import { defaultRetry, parseRetry, type RetryFunction, type RetryOptions, type RetryPolicy } from './retry.ts'

/** Modes that can be set for a job; only a definition can make a graph. */
export const jobModes = ['sequential', 'parallel'] as const
export const taskModes = [...jobModes, 'graph'] as const
export const failureStrategies = ['fail-fast', 'continue', 'hold'] as const
export type JobMode = (typeof jobModes)[number]
/** The order of the tasks of a job. */
export type TaskMode = (typeof taskModes)[number]
/** The effect of a failed task on the other tasks. */
export type FailureStrategy = (typeof failureStrategies)[number]

/** Settings of a single task; at a higher level they are the defaults of every task below. */
export interface TaskSettingsOptions {
  /** How a failed attempt is tried again. Default: 3 retries after 2, 4 and 8 s. */
  retry?: RetryOptions
  /** One attempt of one task may take this long. Default 5 min. */
  timeout?: DurationInput
  /** The effect of a task that has failed for good on its peers. Default `fail-fast`. */
  onFailure?: FailureStrategy
}

/** Settings of a job, a definition or the whole scheduler. */
export interface SettingsOptions extends TaskSettingsOptions {
  /** A whole turn of an occurrence may take this long, waits between turns not counted. Default 1 h. */
  executionTimeout?: DurationInput
  /** `sequential` (default): each task sees the results of all earlier ones. `parallel`: all at once. */
  mode?: JobMode
  /** 0–9, lower first. Default 5. */
  priority?: number
  /** Whether work out of retries waits as `dead` for a person. Default: enqueued work does, scheduled work does not. */
  deadLetter?: boolean
  /** The behaviour of a scheduled instant while another occurrence of the job is under way. Default `skip`. */
  overlap?: OverlapPolicy
  /** The strategy for instants that came due while no node ran. Default `all`. */
  recovery?: RecoveryOptions
  /** Recovered occurrences that run at once in the whole cluster. Default 10. */
  catchUp?: number
  /** At most so many occurrences with this key run at once, in the whole cluster. A number alone limits the job itself. */
  concurrency?: number | ConcurrencyOptions
  /** At most so many occurrences with this key start within a time, in the whole cluster. */
  rate?: RateOptions
  /** An occurrence that has not started this long after it was due ends as missed. Default: it waits for ever. */
  startWithin?: DurationInput
  /** The job is paused after so many failures in a row. Default: never. */
  autoPause?: number
  /** How long ended occurrences are kept: an age, `forever`, or ages and counts by end state. Default 30 days. */
  retention?: RetentionOptions
}

export interface TaskSettings {
  readonly retry: RetryPolicy
  readonly timeoutMs: number
  readonly onFailure: FailureStrategy
}

/** The settings of a run, all of them. */
export interface Settings extends TaskSettings {
  readonly executionTimeoutMs: number
  readonly mode: TaskMode
  readonly priority: number
  readonly deadLetter: boolean | 'enqueued'
  readonly overlap: OverlapPolicy
  readonly recovery: RecoveryPolicy
  readonly catchUp: number
  readonly concurrency: ConcurrencyLimit | null
  readonly rate: RateLimit | null
  readonly startWithinMs: number | null
  readonly autoPause: number | null
  /** Paths of the payload whose values are hidden: an option of the definition alone. */
  readonly redact: readonly string[] | null
  readonly retention: RetentionPolicy
}

/** The changes of one level of the cascade. */
export type SettingsDiff = { readonly [K in keyof Omit<Settings, 'retry'>]?: Settings[K] } & {
  readonly retry?: Partial<RetryPolicy>
}

const defaultAgeMs = 30 * 86_400_000

export const defaultSettings: Settings = {
  retry: defaultRetry,
  timeoutMs: 300_000,
  onFailure: 'fail-fast',
  executionTimeoutMs: 3_600_000,
  mode: 'sequential',
  priority: 5,
  deadLetter: 'enqueued',
  overlap: 'skip',
  recovery: { strategy: 'all' },
  catchUp: 10,
  concurrency: null,
  rate: null,
  startWithinMs: null,
  autoPause: null,
  redact: null,
  retention: keptFor(defaultAgeMs),
}

export const taskSettingNames = ['retry', 'timeout', 'onFailure'] as const
export const settingNames = [
  ...taskSettingNames,
  'executionTimeout',
  'mode',
  'priority',
  'deadLetter',
  'overlap',
  'recovery',
  'catchUp',
  'concurrency',
  'rate',
  'startWithin',
  'autoPause',
  'retention',
] as const

/** The stored form of settings options. Refuses unknown names and values out of range, naming the field. */
export function parseSettings(
  options: SettingsOptions,
  where: string,
  { allowed = settingNames, modes = jobModes }: { allowed?: readonly string[]; modes?: readonly TaskMode[] } = {},
): SettingsDiff {
  checkOptions(options, allowed, where)
  const { retry, timeout, onFailure, executionTimeout, mode, priority, deadLetter } = options
  return {
    ...parsePolicies(options, where),
    ...(retry !== undefined && { retry: parseRetry(retry, `${where}.retry`) }),
    ...(timeout !== undefined && { timeoutMs: parseDuration(timeout, `${where}.timeout`, 1) }),
    ...(onFailure !== undefined && { onFailure: checkOneOf(onFailure, `${where}.onFailure`, failureStrategies) }),
    ...(executionTimeout !== undefined && {
      executionTimeoutMs: parseDuration(executionTimeout, `${where}.executionTimeout`, 1),
    }),
    ...(mode !== undefined && { mode: checkOneOf<TaskMode>(mode, `${where}.mode`, modes) }),
    ...(priority !== undefined && { priority: checkWhole(priority, `${where}.priority`, 0, 9) }),
    ...(deadLetter !== undefined && { deadLetter: checkBoolean(deadLetter, `${where}.deadLetter`) }),
  }
}

function parsePolicies(options: SettingsOptions, where: string): SettingsDiff {
  const { overlap, recovery, catchUp, concurrency, rate, startWithin, autoPause, retention } = options
  return {
    ...(overlap !== undefined && { overlap: checkOneOf(overlap, `${where}.overlap`, overlapPolicies) }),
    ...(recovery !== undefined && { recovery: parseRecovery(recovery, `${where}.recovery`) }),
    ...(catchUp !== undefined && { catchUp: checkWhole(catchUp, `${where}.catchUp`, 1, 100_000) }),
    ...(concurrency !== undefined && { concurrency: parseConcurrency(concurrency, `${where}.concurrency`) }),
    ...(rate !== undefined && { rate: parseRate(rate, `${where}.rate`) }),
    ...(startWithin !== undefined && { startWithinMs: parseDuration(startWithin, `${where}.startWithin`, 1) }),
    ...(retention !== undefined && {
      retention: parseRetention(retention, `${where}.retention`, { ageMs: defaultAgeMs, count: null }),
    }),
    ...(autoPause !== undefined && { autoPause: checkWhole(autoPause, `${where}.autoPause`, 1, 1_000_000) }),
  }
}

/** The custom retry function of a level, which cannot be stored and so stays with the code. */
export function retryFunction(options: TaskSettingsOptions | undefined): RetryFunction | undefined {
  const strategy = options?.retry?.strategy
  return typeof strategy === 'function' ? strategy : undefined
}

/** The settings that result from the defaults and the given levels, the later ones winning field by field. */
export function cascade(...levels: readonly (SettingsDiff | null | undefined)[]): Settings {
  let settings = defaultSettings
  for (const level of levels) if (level) settings = { ...settings, ...level, retry: { ...settings.retry, ...level.retry } }
  return settings
}

/** The settings that differ from the defaults, or null for none. They are frozen with an occurrence at its first start. */
export function differences(settings: Settings): SettingsDiff | null {
  // Retention is a matter of the record, not of the run.
  const { retry, retention: _, ...rest } = settings
  const own = changed(rest, defaultSettings as typeof rest)
  const ownRetry = changed(retry, defaultRetry)
  if (ownRetry) return { ...own, retry: ownRetry }
  return own
}

function changed<T extends object>(value: T, base: T): Partial<T> | null {
  const entries = Object.entries(value).filter(([name, entry]) => entry !== base[name as keyof T])
  return entries.length === 0 ? null : (Object.fromEntries(entries) as Partial<T>)
}

export function checkBoolean(value: unknown, field: string): boolean {
  if (typeof value === 'boolean') return value
  throw new PunctualError('option.invalid', `${field} must be true or false; got ${shown(value)}`, { field, given: shown(value) })
}
