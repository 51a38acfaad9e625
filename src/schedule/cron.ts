import { type Zone, zoneNamed } from '../time/zone.ts'
import { type BoundsOptions, boundsOptionNames, parseBounds } from './bounds.ts'
import { type CronPattern, everyHour } from './cron-pattern.ts'
import { parseCron } from './cron-text.ts'
import { endsGap, instantAfter, instantBefore, passes, type WalkRules } from './cron-walk.ts'
import { describeCron } from './describe-cron.ts'
import { InstantSet } from './instant-set.ts'
import type { ScheduleJson } from './schedule.ts'
import { checkChoice, checkOptions } from './schedule-options.ts'

/** The options of `cron`. */
export interface CronOptions extends BoundsOptions {
  /** IANA name or `UTC`, the default. */
  readonly timezone?: string
  /**
   * The rule for wall times that a clock change skips. `run` (default): if the hour field does not cover all hours,
   * one instant at the end of the gap stands for all of them; otherwise, and with `skip`, they do not exist.
   */
  readonly skippedTime?: SkippedTime
  /**
   * Which pass counts when a clock change repeats wall times. `auto` (default): both where second, minute or hour has a
   * `*`, a range or a step, since elapsed time is meant; otherwise the first.
   */
  readonly repeatedTime?: RepeatedTime
}

const skippedTimes = ['run', 'skip'] as const
const repeatedTimes = ['auto', 'first', 'second', 'both'] as const
type SkippedTime = (typeof skippedTimes)[number]
type RepeatedTime = (typeof repeatedTimes)[number]
const optionNames = ['timezone', 'skippedTime', 'repeatedTime', ...boundsOptionNames]
const noOptions: CronOptions = {}

/**
 * The instants at which a cron text matches the wall clock of a zone. Five fields, or six with seconds first; names,
 * lists, ranges, steps, `L`, `W`, `#` and macros. With both day fields set, either may match.
 */
export function cron(text: string, options: CronOptions = noOptions): CronSchedule {
  if (options !== noOptions) checkOptions('cron', options, optionNames)
  const zone = zoneNamed(options.timezone ?? 'UTC')
  return new CronSchedule(text, parseCron(text), zone, options)
}

export class CronSchedule extends InstantSet {
  readonly text: string
  readonly pattern: CronPattern
  /** The rules at clock changes for this text, after `auto` has been decided. */
  readonly rules: CronRules
  readonly #zone: Zone
  readonly #options: CronOptions

  constructor(text: string, pattern: CronPattern, zone: Zone, options: CronOptions) {
    super(parseBounds(options, zone))
    this.text = text
    this.pattern = pattern
    this.rules = cronRules(pattern, options)
    this.#zone = zone
    this.#options = options
  }

  get kind(): 'cron' {
    return 'cron'
  }

  get timezone(): string {
    return this.#zone.name
  }

  /** Itself, when it names its zone. */
  inZone(timezone: string): CronSchedule {
    return this.#options.timezone === undefined ? cron(this.text, { ...this.#options, timezone }) : this
  }

  memberAfter(ms: number): number | null {
    return instantAfter(this.pattern, this.#zone, this.rules, ms)
  }

  memberBefore(ms: number): number | null {
    return instantBefore(this.pattern, this.#zone, this.rules, ms)
  }

  /** Whether the instant is the end of a gap and stands for times that were lost in it. */
  makesUpAt(ms: number): boolean {
    return this.rules.makesUp && endsGap(this.pattern, this.#zone, ms)
  }

  describe(): string {
    return `${describeCron(this.text)} (${this.timezone})${this.bounds?.describe() ?? ''}`
  }

  toJSON(): ScheduleJson {
    const { skippedTime, repeatedTime } = this.rules
    return {
      kind: 'cron',
      text: this.text.trim().replace(/\s+/g, ' '),
      timezone: this.timezone,
      ...(skippedTime !== 'run' && { skippedTime }),
      ...(repeatedTime !== 'auto' && { repeatedTime }),
      ...this.bounds?.toJSON(),
    }
  }
}

export function restoreCron(json: ScheduleJson): CronSchedule {
  const { kind: _, text, ...options } = json
  return cron(text as string, options as CronOptions)
}

interface CronRules extends WalkRules {
  readonly skippedTime: SkippedTime
  readonly repeatedTime: RepeatedTime
}

const sharedRules: CronRules[] = []

/** Equal rules are one object, so a schedule pays one pointer for them. */
function cronRules(pattern: CronPattern, options: CronOptions): CronRules {
  const skippedTime = options.skippedTime === undefined ? 'run' : checkChoice('skippedTime', options.skippedTime, skippedTimes)
  const repeatedTime =
    options.repeatedTime === undefined ? 'auto' : checkChoice('repeatedTime', options.repeatedTime, repeatedTimes)
  const counted = repeatedTime === 'auto' ? (pattern.isInterval ? passes.both : passes.first) : passes[repeatedTime]
  const makesUp = skippedTime === 'run' && pattern.hours !== everyHour
  const known = sharedRules.find(
    (rules) =>
      rules.passes === counted &&
      rules.makesUp === makesUp &&
      rules.skippedTime === skippedTime &&
      rules.repeatedTime === repeatedTime,
  )
  if (known) return known
  const rules = { skippedTime, repeatedTime, passes: counted, makesUp }
  sharedRules.push(rules)
  return rules
}
