import { hostname } from 'node:os'
import { defaultOptions, type EngineOptions } from '../engine/env.ts'
import type { HandlerMap } from '../engine/registry.ts'
import { PunctualError, shown } from '../errors.ts'
import type { Logger } from '../model/context.ts'
import type { AnyDefinition } from '../model/definition.ts'
import { checkName, checkObject, checkOneOf, checkOptions, checkWhole } from '../model/limits.ts'
import { parseSettings, retryFunction, type SettingsOptions, settingNames } from '../model/settings.ts'
import type { BacklogGroup, Quota, Store } from '../store/store.ts'
import type { Clock } from '../time/clock.ts'
import { type DurationInput, parseDuration } from '../time/duration.ts'

/** What `createPunctual` takes. Settings given here are the defaults of every job. */
export interface PunctualOptions extends Omit<SettingsOptions, 'concurrency'> {
  store: Store
  /** The jobs this process declares. */
  jobs?: readonly AnyDefinition[]
  /** Handlers by job name (and task name), for definitions that carry none. */
  handlers?: HandlerMap
  /** How this node is shown. Default: the host's name. */
  name?: string
  /** Occurrences that run at once on this node. Default 10. */
  concurrency?: number
  /** Occurrences that run at once in the whole cluster. Default: no limit. */
  clusterConcurrency?: number
  /**
   * What is claimed first of all that is due: by `priority` (default), `fair` across tenants, or by quotas that a function makes of what
   * waits. One that throws, or returns none, claims nothing until the next look.
   */
  pick?: 'priority' | 'fair' | ((waiting: readonly BacklogGroup[]) => readonly Quota[])
  /** Retires jobs that no node declares any more. Default: they are told of. */
  prune?: boolean
  /** Orders deployments: what code of a later release declares is not undone by code of an earlier one. */
  release?: number
  /** The most occurrences one claim takes. Default 1,000; a claim follows the free slots. */
  claimLimit?: number
  /** The safety net behind exact wake-ups. Default 1 s. */
  poll?: DurationInput
  /** How often the node says that it lives. Default 5 s. */
  beat?: DurationInput
  /** A node whose beats stand still for so long is gone. Default 15 s. */
  ttl?: DurationInput
  /** How often other nodes are looked at. Default 2 s. */
  watch?: DurationInput
  /** How long `stop` waits for running handlers. Default 30 s. */
  grace?: DurationInput
  /** How long a handler may go on after its signal before it is written off. Default 5 s. */
  writeOff?: DurationInput
  /** How long ended occurrences are kept. Default 30 days. */
  retention?: DurationInput
  /** How long the ids of pruned occurrences stay taken: what "ever" means for a key. Default 90 days. */
  keyRetention?: DurationInput
  log?: Logger
  /** For tests: see `manualClock` of `punctual/testing`. */
  clock?: Clock
  /** For tests: numbers from 0 to below 1. */
  random?: () => number
}

type Duration = 'poll' | 'beat' | 'ttl' | 'watch' | 'grace' | 'writeOff' | 'retention' | 'keyRetention'

/** Names by which some settings are known elsewhere, and what they are here. */
const synonyms: Readonly<Record<string, (value: never) => Partial<PunctualOptions>>> = {
  defaultMaxRetries: (max: number) => ({ retry: { max } }),
  retryDelayBaseSeconds: (seconds: number) => ({ retry: { interval: seconds * 1000 } }),
  jobClaimTimeout: (ttl: DurationInput) => ({ ttl }),
  maxConcurrentJobs: (concurrency: number) => ({ concurrency }),
  jobPollingIntervalMs: (poll: number) => ({ poll }),
  maxClaimBatchSize: (claimLimit: number) => ({ claimLimit }),
  staleJobClaimCheckInterval: (watch: DurationInput) => ({ watch }),
}

const ownNames = [
  'store',
  'jobs',
  'handlers',
  'name',
  'concurrency',
  'clusterConcurrency',
  'pick',
  'prune',
  'release',
  'claimLimit',
  'poll',
  'beat',
  'ttl',
  'watch',
  'grace',
  'writeOff',
  'retention',
  'keyRetention',
  'log',
  'clock',
  'random',
]

export function parseOptions(given: PunctualOptions): { options: PunctualOptions; engine: EngineOptions } {
  checkObject(given ?? {}, 'options of createPunctual')
  checkOptions(given, [...ownNames, ...settingNames, ...Object.keys(synonyms)], 'createPunctual')
  const options = withSynonyms(given ?? {})
  if (typeof options.store?.claim !== 'function') {
    throw new PunctualError(
      'option.invalid',
      "store must be a store, such as memory() of 'punctual/memory' or sqlite('punctual.db') of 'punctual/sqlite'",
      { field: 'store' },
    )
  }
  checkMethods(options.log, 'log', ['debug', 'info', 'warn', 'error'])
  checkMethods(options.clock, 'clock', ['wall', 'mono', 'timer', 'poll', 'soon'])
  if (options.random !== undefined && typeof options.random !== 'function')
    throw new PunctualError('option.invalid', `random must be a function; got ${shown(options.random)}`, { field: 'random' })
  const settings = Object.fromEntries(
    Object.entries(options).filter(([name]) => name !== 'concurrency' && (settingNames as readonly string[]).includes(name)),
  )
  const engine: EngineOptions = {
    pick:
      typeof options.pick === 'function'
        ? options.pick
        : checkOneOf<'priority' | 'fair'>(options.pick ?? 'priority', 'pick', ['priority', 'fair']),
    retireOrphans: options.prune ?? false,
    release: options.release === undefined ? null : checkWhole(options.release, 'release', 0, Number.MAX_SAFE_INTEGER),
    clusterLimit:
      options.clusterConcurrency === undefined
        ? null
        : checkWhole(options.clusterConcurrency, 'clusterConcurrency', 1, 1_000_000),
    nodeName: options.name === undefined ? hostname().slice(0, 100) : checkName(options.name, 'name'),
    settings: parseSettings(settings, 'createPunctual'),
    retryFunction: retryFunction(options),
    concurrency: checkWhole(options.concurrency ?? defaultOptions.concurrency, 'concurrency', 1, 100_000),
    claimLimit: checkWhole(options.claimLimit ?? defaultOptions.claimLimit, 'claimLimit', 1, 100_000),
    pollMs: duration(options, 'poll', defaultOptions.pollMs, 10),
    deafPollMs: duration(options, 'poll', defaultOptions.deafPollMs, 10),
    horizonMs: defaultOptions.horizonMs,
    beatMs: duration(options, 'beat', defaultOptions.beatMs, 10),
    ttlMs: duration(options, 'ttl', defaultOptions.ttlMs, 100),
    ttlMarginMs: 0,
    watchMs: duration(options, 'watch', defaultOptions.watchMs, 10),
    graceMs: duration(options, 'grace', defaultOptions.graceMs, 0),
    writeOffMs: duration(options, 'writeOff', defaultOptions.writeOffMs, 0),
    retentionMs: duration(options, 'retention', defaultOptions.retentionMs, 0),
    keyRetentionMs: duration(options, 'keyRetention', defaultOptions.keyRetentionMs, 0),
    mostRecoveries: defaultOptions.mostRecoveries,
  }
  if (engine.beatMs * 2 > engine.ttlMs) {
    throw new PunctualError(
      'option.invalid',
      `ttl (${engine.ttlMs} ms) must be at least twice beat (${engine.beatMs} ms), or a node would be taken for gone between two beats`,
      { field: 'ttl', min: engine.beatMs * 2 },
    )
  }
  return { options, engine: { ...engine, ttlMarginMs: Math.round(engine.ttlMs / 5) } }
}

function checkMethods(value: unknown, field: string, names: readonly string[]): void {
  if (value === undefined) return
  const missing = names.filter((name) => typeof (value as Record<string, unknown> | null)?.[name] !== 'function')
  if (missing.length > 0)
    throw new PunctualError(
      'option.invalid',
      `${field} must be an object with the functions ${names.join(', ')}; it lacks ${missing.join(', ')}`,
      { field, missing },
    )
}

function withSynonyms(given: PunctualOptions): PunctualOptions {
  let options: PunctualOptions = { ...given }
  for (const [name, translate] of Object.entries(synonyms)) {
    const value = (given as unknown as Record<string, never>)[name]
    if (value === undefined) continue
    delete (options as unknown as Record<string, unknown>)[name]
    const { retry, ...own } = translate(value)
    options = { ...own, ...options, ...((retry || options.retry) && { retry: { ...retry, ...options.retry } }) }
  }
  return options
}

function duration(options: PunctualOptions, name: Duration, otherwise: number, min: number): number {
  const given = options[name]
  const ms = given === undefined ? otherwise : parseDuration(given, name)
  if (ms >= min) return ms
  throw new PunctualError('option.invalid', `${name} must be at least ${min} ms; got ${ms}`, { field: name, given, min })
}
