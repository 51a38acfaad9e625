import { hostname } from 'node:os'
import { defaultOptions, type EngineOptions } from '../engine/env.ts'
import type { HandlerMap } from '../engine/node/registry.ts'
import { PunctualError, shown } from '../errors.ts'
import type { Codec } from '../model/codec.ts'
import type { Logger } from '../model/context.ts'
import type { AnyDefinition } from '../model/definition.ts'
import { checkName, checkObject, checkOneOf, checkOptions, checkWhole } from '../model/limits.ts'
import { checkBoolean, parseSettings, retryFunction, type SettingsOptions, settingNames } from '../model/settings.ts'
import { parseUpdatePolicy, type UpdatePolicy } from '../model/update.ts'
import type { BacklogGroup, Quota, Store } from '../store/store.ts'
import type { Clock } from '../time/clock.ts'
import { type DurationInput, parseDuration } from '../time/duration.ts'
import { zoneNamed } from '../time/zone.ts'

/** The options of `createPunctual`. Settings given here are the defaults of every job. */
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
   * The order in which due work is claimed: by `priority` (default), `fair` across tenants, or by quotas that a function makes of what
   * waits. One that throws, or returns none, claims nothing until the next look.
   */
  pick?: 'priority' | 'fair' | ((waiting: readonly BacklogGroup[]) => readonly Quota[])
  /** Retires jobs that no node declares any more. Default: they are logged. */
  retireOrphans?: boolean
  /** The zone of schedules that name none. Default UTC. */
  timezone?: string
  /** When changes of jobs take hold, also those that code declares. Default `immediate`. */
  update?: UpdatePolicy
  /** Orders deployments: what code of a later release declares is not undone by code of an earlier one. */
  release?: number
  /** The most occurrences one claim takes. Default 1,000; a claim follows the free slots. */
  claimLimit?: number
  /** A look for due work in case a hint was missed; nodes wake at the due instant itself. Default 2 s, 1 s while no hints can come. */
  poll?: DurationInput
  /** How nodes find out that another is gone. */
  node?: NodeOptions
  /** How long `stop` waits for running handlers. Default 30 s. */
  grace?: DurationInput
  /** How long the ids of pruned occurrences stay taken: an `idempotencyKey` is remembered for so long. Default 90 days. */
  keyRetention?: DurationInput
  /** How long rows of the audit are kept; whole sealed segments are dropped, their seals stay. Default `'forever'`. */
  auditRetention?: DurationInput | 'forever'
  /** How long pauses that are over are kept. Default 365 days. */
  pauseRetention?: DurationInput | 'forever'
  /** How long ranges of passed-over instants are kept. Default 365 days. */
  rangeRetention?: DurationInput | 'forever'
  /** How long versions of jobs are kept that a later one has replaced. Default `'forever'`. */
  versionRetention?: DurationInput | 'forever'
  /** How long the outcome of an effect of `once` is remembered. Default 90 days. */
  gateRetention?: DurationInput
  /** Seals payloads, results, errors and progress before they reach the store: see `aesCodec`. Keys, entities and refs stay readable. */
  codec?: Codec
  log?: Logger
  /** For tests: see `manualClock` of `punctual/testing`. */
  clock?: Clock
  /** For tests: numbers from 0 to below 1. */
  random?: () => number
}

/** The times of a node. */
export interface NodeOptions {
  /** How often the node sends a heartbeat. Default 5 s. */
  heartbeat?: DurationInput
  /** A node whose heartbeats stop for this long is gone, and its work runs elsewhere. At least twice `heartbeat`. Default 15 s. */
  timeout?: DurationInput
  /** How often a node checks the heartbeats of the others. Default 2 s. */
  checkInterval?: DurationInput
  /** How long a handler may go on after its signal. Then its slot is given to other work. Default 5 s. */
  abandonAfter?: DurationInput
}

const nodeNames = ['heartbeat', 'timeout', 'checkInterval', 'abandonAfter'] as const

/** Beside the names of settings, of which `concurrency` is one. */
const ownNames = [
  'store',
  'jobs',
  'handlers',
  'name',
  'clusterConcurrency',
  'pick',
  'retireOrphans',
  'release',
  'update',
  'timezone',
  'claimLimit',
  'poll',
  'node',
  'grace',
  'keyRetention',
  'auditRetention',
  'pauseRetention',
  'rangeRetention',
  'versionRetention',
  'gateRetention',
  'codec',
  'log',
  'clock',
  'random',
]

export function parseOptions(given: PunctualOptions): { options: PunctualOptions; engine: EngineOptions } {
  checkObject(given ?? {}, 'options of createPunctual')
  checkOptions(given, [...ownNames, ...settingNames], 'createPunctual')
  const options: PunctualOptions = given ?? {}
  const { node = {} } = options
  checkObject(node, 'node')
  checkOptions(node, nodeNames, 'node')
  if (typeof options.store?.claim !== 'function') {
    throw new PunctualError(
      'option.invalid',
      "store must be a store, such as memory() of 'punctual/memory' or sqlite('punctual.db') of 'punctual/sqlite'",
      { field: 'store' },
    )
  }
  checkMethods(options.codec, 'codec', ['seal', 'open'])
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
    retireOrphans: checkBoolean(options.retireOrphans ?? false, 'retireOrphans'),
    timezone: zoneNamed(options.timezone ?? defaultOptions.timezone).name,
    update: checkedUpdate(options.update),
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
    pollMs: duration(options.poll, 'poll', defaultOptions.pollMs, 10),
    deafPollMs: duration(options.poll, 'poll', defaultOptions.deafPollMs, 10),
    horizonMs: defaultOptions.horizonMs,
    beatMs: duration(node.heartbeat, 'node.heartbeat', defaultOptions.beatMs, 10),
    ttlMs: duration(node.timeout, 'node.timeout', defaultOptions.ttlMs, 100),
    ttlMarginMs: 0,
    watchMs: duration(node.checkInterval, 'node.checkInterval', defaultOptions.watchMs, 10),
    graceMs: duration(options.grace, 'grace', defaultOptions.graceMs, 0),
    writeOffMs: duration(node.abandonAfter, 'node.abandonAfter', defaultOptions.writeOffMs, 0),
    auditRetentionMs: lasting(options.auditRetention, 'auditRetention', defaultOptions.auditRetentionMs),
    pauseRetentionMs: lasting(options.pauseRetention, 'pauseRetention', defaultOptions.pauseRetentionMs),
    rangeRetentionMs: lasting(options.rangeRetention, 'rangeRetention', defaultOptions.rangeRetentionMs),
    versionRetentionMs: lasting(options.versionRetention, 'versionRetention', defaultOptions.versionRetentionMs),
    keyRetentionMs: duration(options.keyRetention, 'keyRetention', defaultOptions.keyRetentionMs, 0),
    gateRetentionMs: duration(options.gateRetention, 'gateRetention', defaultOptions.gateRetentionMs, 0),
    mostRecoveries: defaultOptions.mostRecoveries,
  }
  if (engine.beatMs * 2 > engine.ttlMs) {
    throw new PunctualError(
      'option.invalid',
      `node.timeout (${engine.ttlMs} ms) must be at least twice node.heartbeat (${engine.beatMs} ms), or a node would be gone between two heartbeats`,
      { field: 'node.timeout', min: engine.beatMs * 2 },
    )
  }
  return { options, engine: { ...engine, ttlMarginMs: Math.round(engine.ttlMs / 5) } }
}

function checkedUpdate(update: UpdatePolicy = defaultOptions.update): UpdatePolicy {
  parseUpdatePolicy(update)
  return update
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

function lasting(given: DurationInput | 'forever' | undefined, name: string, otherwise: number | null): number | null {
  if (given === 'forever') return null
  return given === undefined ? otherwise : parseDuration(given, name)
}

function duration(given: DurationInput | undefined, name: string, otherwise: number, min: number): number {
  const ms = given === undefined ? otherwise : parseDuration(given, name)
  if (ms >= min) return ms
  throw new PunctualError('option.invalid', `${name} must be at least ${min} ms; got ${ms}`, { field: name, given, min })
}
