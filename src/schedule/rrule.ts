import { createRequire } from 'node:module'
import type { RRuleTemporal } from 'rrule-temporal'
import { PunctualError } from '../errors.ts'
import { zoneNamed } from '../time/zone.ts'
import { type Bounds, type BoundsOptions, boundsOptionNames, parseBounds } from './bounds.ts'
import { InstantSet } from './instant-set.ts'
import { invalidSchedule } from './invalid-schedule.ts'
import { parseRRule, type RRuleText } from './rrule-text.ts'
import type { ScheduleJson } from './schedule.ts'
import { checkOptions } from './schedule-options.ts'

/** The options of `rrule`. */
export interface RRuleOptions extends BoundsOptions {
  /** Where DTSTART is read when it has neither `TZID` nor `Z`. IANA name or `UTC`, the default. */
  readonly timezone?: string
}

const optionNames = ['timezone', ...boundsOptionNames]

/**
 * The instants of an RFC 5545 recurrence rule with its DTSTART, COUNT or UNTIL, BY* parts, RDATE and EXDATE. As the RFC
 * orders, wall times that a clock change skips are dropped, unlike with cron. Needs the package rrule-temporal.
 */
export function rrule(text: string, options: RRuleOptions = {}): RRuleSchedule {
  checkOptions('rrule', options, optionNames)
  const timezone = options.timezone ?? 'UTC'
  zoneNamed(timezone)
  const parsed = parseRRule(text, timezone)
  return new RRuleSchedule(text, parsed, parseBounds(options, zoneNamed(parsed.timezone)))
}

// The library's own search stops at its budget, and beyond this year nothing is looked for.
const lastInstant = Date.UTC(9999, 11, 31)

export class RRuleSchedule extends InstantSet {
  readonly #text: string
  readonly #parsed: RRuleText
  readonly #rule: RRuleTemporal

  constructor(text: string, parsed: RRuleText, bounds: Bounds | null) {
    super(bounds)
    this.#text = text
    this.#parsed = parsed
    this.#rule = openRule(text, parsed)
  }

  get kind(): 'rrule' {
    return 'rrule'
  }

  get timezone(): string {
    return this.#parsed.timezone
  }

  memberAfter(ms: number): number | null {
    if (ms >= lastInstant) return null
    const after = new Date(Math.max(ms, this.#parsed.first - 1))
    return withinBudget(() => this.#rule.next(after, false)?.epochMilliseconds ?? null)
  }

  memberBefore(ms: number): number | null {
    if (ms <= this.#parsed.first) return null
    const before = new Date(Math.min(ms, lastInstant))
    return withinBudget(() => this.#rule.previous(before, false)?.epochMilliseconds ?? null)
  }

  describe(): string {
    const words = load('rrule-temporal/totext').toText(this.#rule, 'en', { excludeTzAbbreviation: true })
    return `${words.charAt(0).toUpperCase()}${words.slice(1)} (${this.timezone})${this.bounds?.describe() ?? ''}`
  }

  toJSON(): ScheduleJson {
    const text = this.#text.trim().replace(/\s+/g, '\n')
    return { kind: 'rrule', text, timezone: this.timezone, ...this.bounds?.toJSON() }
  }
}

export function restoreRRule(json: ScheduleJson): RRuleSchedule {
  const { kind: _, text, ...options } = json
  return rrule(text as string, options as RRuleOptions)
}

interface Modules {
  readonly 'rrule-temporal': typeof import('rrule-temporal')
  readonly 'rrule-temporal/totext': typeof import('rrule-temporal/totext')
}

const require = createRequire(import.meta.url)

/** Optional, and 20 ms to load: only whoever uses a rule pays for it. Factories are synchronous, hence no import(). */
function load<Name extends keyof Modules>(name: Name): Modules[Name] {
  try {
    return require(name)
  } catch (cause) {
    // The same code as for an unregistered kind: this process cannot read the schedule, another may.
    const message = 'rrule() needs the optional package rrule-temporal, which is not installed: npm install rrule-temporal'
    throw new PunctualError('schedule.unknown', message, { kind: 'rrule', package: 'rrule-temporal' }, { cause })
  }
}

function openRule(text: string, parsed: RRuleText): RRuleTemporal {
  const { RRuleTemporal } = load('rrule-temporal')
  try {
    return new RRuleTemporal({ rruleString: parsed.lines })
  } catch (cause) {
    throw invalidSchedule(text, 0, cause instanceof Error ? cause.message : String(cause))
  }
}

/** The library throws when it has searched for long without a hit; for a schedule that means: there is none. */
function withinBudget(search: () => number | null): number | null {
  try {
    return search()
  } catch (error) {
    if (error instanceof Error && /maximum|exceeded/i.test(error.message)) return null
    throw error
  }
}
