// Turns requests into new occurrences. Everything is checked here, before anything is written.

import { PunctualError } from '../errors.ts'
import type { Refs } from '../model/context.ts'
import { type AnyDefinition, Definition, type InputOf } from '../model/definition.ts'
import { keyedId, uuidV7 } from '../model/ids.ts'
import type { JobSpec } from '../model/job.ts'
import { defaultTenant } from '../model/job.ts'
import type { Source } from '../model/lifecycle.ts'
import { limitsFor } from '../model/limit.ts'
import { hasLimitKeys, limitsOf, withLimits } from '../model/limit-keys.ts'
import { checkKey, checkName, checkObject, checkOneOf, checkOptions, checkWhole } from '../model/limits.ts'
import type { Replay } from '../model/occurrence.ts'
import { checkedPayload, encodePayload, validatePayload } from '../model/payload.ts'
import { markedPath, redactedMark } from '../model/redaction.ts'
import {
  cascade,
  parseSettings,
  type Settings,
  type SettingsDiff,
  type SettingsOptions,
  type TaskSettingsOptions,
} from '../model/settings.ts'
import type { CallerTransaction, NewOccurrence, OnConflict } from '../store/store.ts'
import type { ClientEnv } from './client-env.ts'
import { parseWhen, type When } from './due-time.ts'
import { type Job, nameOf } from './job-name.ts'
import { type KeyOptions, storedKey } from './keys.ts'
import { type PaceOptions, paceOf } from './pace.ts'
import { storable } from './storable.ts'

/** The options of `enqueue`. */
export interface EnqueueOptions
  extends TaskSettingsOptions,
    When,
    KeyOptions,
    PaceOptions,
    Pick<SettingsOptions, 'executionTimeout' | 'deadLetter' | 'concurrency' | 'rate' | 'startWithin'> {
  tenant?: string
  /** The record that the work is about; `cancel({ job, entity })` finds it. The same as `refs.entity`. */
  entity?: string
  /** Ids of related records. */
  refs?: Refs
  /** 0–9, lower first. Default 5. */
  priority?: number
  /** For a taken key: `keep` the existing work (default), `reschedule` it, or `replace` its payload too. */
  onConflict?: OnConflict
  /** Orders the calls for a key: one whose version is not higher than that of the call before it changes nothing. */
  keyVersion?: number
  /** Your transaction: the work exists when it commits. Needs a store with the ability `join`; see also `wake`. */
  tx?: CallerTransaction | undefined
}

/** One of several for `enqueueMany`. */
export type EnqueueRequest<J extends Job = Job> = Omit<EnqueueOptions, 'tx'> & {
  job: J
} & (undefined extends InputOf<J> ? { payload?: InputOf<J> } : { payload: InputOf<J> })

/** A request as it is worked on: whatever its payload is. */
export type Request = Omit<EnqueueOptions, 'tx'> & { job: Job; payload?: unknown }

/** Where an occurrence comes from, beside its request. */
export interface Origin {
  readonly source: Source
  readonly definition: string
  readonly spec?: JobSpec | undefined
  readonly replay?: Replay
  readonly version?: number
  readonly id?: string
  /** The id of the occurrence whose handler creates it. */
  readonly parent?: string
}

export async function newOccurrence(env: ClientEnv, request: Request, origin?: Origin): Promise<NewOccurrence> {
  const common = commonOf(env, request, origin)
  const payload = await acceptedPayload(common.definition, request.payload)
  return rowOf(env, common, request, payload, origin?.id)
}

/** All or none are valid. The common part of successive requests is checked once. */
export async function newOccurrences(env: ClientEnv, requests: readonly Request[]): Promise<NewOccurrence[]> {
  const rows: NewOccurrence[] = []
  let common: Common | null = null
  let before: Request | null = null
  for (const [at, request] of requests.entries()) {
    try {
      checkObject(request, 'a request')
      if (common === null || before === null || !isAlike(request, before)) common = commonOf(env, request)
      before = request
      // To wait where there is nothing to wait for would cost a good part of the row.
      const isSchemaAsked = common.definition?.options.payload !== undefined
      const payload = isSchemaAsked ? await acceptedPayload(common.definition, request.payload) : encodePayload(request.payload)
      rows.push(rowOf(env, common, request, payload))
    } catch (error) {
      throw error instanceof PunctualError ? atRequest(error, at) : error
    }
  }
  return rows
}

/** The error with the place of the request in the list. */
function atRequest({ code, message, details, cause }: PunctualError, at: number): PunctualError {
  return new PunctualError(code, `requests[${at}]: ${message}`, { ...details, request: at }, { cause })
}

/** The same for a caller that cannot wait: a promise only where the schema of the payload is asynchronous. */
export function newChild(env: ClientEnv, request: Request, origin: Origin): NewOccurrence | Promise<NewOccurrence> {
  const common = commonOf(env, request, origin)
  const text = encodePayload(request.payload)
  const schema = common.definition?.options.payload
  const checked = schema && checkedPayload(schema, request.payload, origin.definition)
  const row = () => rowOf(env, common, request, text)
  return checked instanceof Promise ? checked.then(row) : row()
}

/** The payload as it is stored: what was given, once the schema has accepted it. Handlers get what the schema makes of it. */
export async function acceptedPayload(definition: AnyDefinition | undefined, payload: unknown): Promise<string | null> {
  const text = encodePayload(payload)
  const marked = markedPath(payload, definition?.settings.redact ?? [])
  if (definition && marked !== undefined)
    throw new PunctualError(
      'payload.rejected',
      `The payload of job ${JSON.stringify(definition.name)} has the mark ${redactedMark} at ${marked}; give the value itself`,
      { job: definition.name, field: marked },
    )
  const schema = definition?.options.payload
  if (schema) await validatePayload(schema, payload, definition.name)
  return text
}

/** The common part of requests that differ in nothing but key, payload and due time. */
interface Common {
  readonly definition: AnyDefinition | undefined
  /** Where a limit key is made of the payload: what holds but for that key. */
  readonly open: Settings | null
  readonly row: Omit<NewOccurrence, 'id' | 'key' | 'unique' | 'payload' | 'due'>
}

function commonOf(
  { registry, trace, options: { settings: defaults } }: ClientEnv,
  { job, payload: _, ...options }: Request,
  from: Origin = { source: 'deferred', definition: nameOf(job) },
): Common {
  const name = nameOf(job)
  checkOptions(options, enqueueNames, `enqueue of job ${JSON.stringify(name)}`)
  const { tenant = defaultTenant, refs, onConflict = 'keep' } = options
  checkName(name, 'job')
  checkName(tenant, 'tenant')
  checkOneOf(onConflict, 'onConflict', ['keep', 'reschedule', 'replace'])
  const entity = options.entity ?? refs?.entity
  const definition = job instanceof Definition ? job : registry.definition(from.definition)
  const isKnown = definition !== undefined || from.spec !== undefined
  const own = occurrenceSettings(options, name)
  const settings = cascade(defaults, definition?.settings, from.spec?.settings, own)
  const open = definition && hasLimitKeys(definition) ? settings : null
  const row = {
    tenant,
    job: name,
    definition: from.definition,
    source: from.source,
    entity: entity === undefined ? null : checkKey(entity, 'entity'),
    parent: from.parent ?? null,
    refs: trace.port ? { ...checkRefs(refs), ...trace.port.carry(name) } : checkRefs(refs),
    settings: own,
    priority: options.priority === undefined ? settings.priority : checkWhole(options.priority, 'priority', 0, 9),
    limits: isKnown ? (open ? null : limitsFor({ tenant, job: name, source: from.source, settings })) : ('declared' as const),
    replay: from.replay ?? null,
    startWithinMs: settings.startWithinMs,
    isHooked: definition?.options.onComplete !== undefined,
    ...(definition?.outlet !== undefined && { publish: definition.outlet }),
    scheduledAt: null,
    version: from.version ?? null,
    onConflict: paceOf(options, isKnown ? settings.retention : null) ?? onConflict,
  }
  return { definition, open, row }
}

function rowOf(
  { clock, randomBytes }: ClientEnv,
  { row, definition, open }: Common,
  { key, idempotencyKey, keyVersion, delay, runAt, payload: given }: Request,
  payload: string | null,
  id?: string,
): NewOccurrence {
  const stored = storedKey({ key, idempotencyKey } as KeyOptions)
  const ownId = () =>
    idempotencyKey === undefined ? uuidV7(Math.floor(clock.wall()), randomBytes) : keyedId(row.tenant, row.job, idempotencyKey)
  const pace = row.onConflict
  const wait = typeof pace === 'object' && 'debounce' in pace ? { in: pace.debounce.waitMs } : null
  const versioned = keyVersion === undefined ? {} : { keyVersion: checkKeyVersion(keyVersion, stored.key) }
  const created = {
    ...row,
    ...stored,
    ...versioned,
    id: id ?? ownId(),
    payload,
    due: wait ?? parseWhen({ delay, runAt } as When),
  }
  if (!open || !definition) return created
  return { ...created, limits: limitsFor({ ...row, settings: withLimits(open, limitsOf(definition, given)) }) }
}

function checkKeyVersion(version: number, key: string | null): number {
  if (key === null)
    throw new PunctualError('option.invalid', 'keyVersion needs a key or an idempotencyKey', { field: 'keyVersion' })
  return checkWhole(version, 'keyVersion', 0, Number.MAX_SAFE_INTEGER)
}

const ownNames: readonly (keyof Request)[] = ['payload', 'key', 'idempotencyKey', 'keyVersion', 'delay', 'runAt']

/** Whether two requests have the same options in the same order, each with the same value but for those of a row's own. */
function isAlike(one: Request, other: Request): boolean {
  const names = Object.keys(one)
  const others = Object.keys(other)
  if (names.length !== others.length) return false
  for (let at = 0; at < names.length; at++) {
    const name = names[at] as keyof Request
    if (name !== others[at]) return false
    if (!ownNames.includes(name) && one[name] !== other[name]) return false
  }
  return true
}

const occurrenceSettingNames = [
  'retry',
  'timeout',
  'onFailure',
  'executionTimeout',
  'deadLetter',
  'concurrency',
  'rate',
  'startWithin',
] as const
const enqueueNames = [
  'key',
  'idempotencyKey',
  'delay',
  'runAt',
  'tenant',
  'entity',
  'refs',
  'priority',
  'onConflict',
  'keyVersion',
  'debounce',
  'throttle',
  ...occurrenceSettingNames,
]

function occurrenceSettings(options: EnqueueOptions, job: string): SettingsDiff | null {
  const given = Object.fromEntries(
    Object.entries(options).filter(
      ([name, value]) => (occurrenceSettingNames as readonly string[]).includes(name) && value !== undefined,
    ),
  )
  const where = `enqueue of job ${JSON.stringify(job)}`
  return Object.keys(given).length === 0 ? null : parseSettings(storable(given, where), where)
}

/** The same for all that have none: stores can tell at a glance that rows are alike. */
const noRefs: Refs = Object.freeze({})

function checkRefs(refs: Refs | undefined): Refs {
  if (refs === undefined) return noRefs
  checkOptions(refs, Object.keys(refs ?? {}), 'refs')
  const entries = Object.entries(refs)
  if (entries.length > 20)
    throw new PunctualError('option.invalid', `refs must have at most 20 entries; it has ${entries.length}`, {
      field: 'refs',
      max: 20,
    })
  return Object.fromEntries(entries.map(([name, value]) => [checkName(name, 'name of a ref'), checkKey(value, `refs.${name}`)]))
}
