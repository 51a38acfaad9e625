// What changes something: each command checks what it is given before anything is written.
import { Batcher } from '../engine/batcher.ts'
import { defaultTenant, type Engine } from '../engine/engine.ts'
import { announceUnattendedEnd, isEndNoticed } from '../engine/unattended-end.ts'
import { PunctualError } from '../errors.ts'
import type { Refs } from '../model/context.ts'
import { type AnyDefinition, checkSchedule, Definition } from '../model/definition.ts'
import { jobId, keyedId, uuidV7 } from '../model/ids.ts'
import { type JobSpec, jobSpec } from '../model/job.ts'
import type { Source } from '../model/lifecycle.ts'
import { checkKey, checkName, checkObject, checkOneOf, checkOptions, checkWhole } from '../model/limits.ts'
import { type UniqueKind, uniqueKinds } from '../model/occurrence.ts'
import { decodePayload, encodePayload, validatePayload } from '../model/payload.ts'
import { retryStrategies } from '../model/retry.ts'
import { cascade, parseSettings, type SettingsDiff, type SettingsOptions, type TaskSettingsOptions } from '../model/settings.ts'
import { bind } from '../schedule/interval.ts'
import { nextMs, type Schedule } from '../schedule/schedule.ts'
import type { CancelRequest, CreateAnswer, Due, MoveAnswer, NewOccurrence, OnConflict, Which } from '../store/store.ts'
import { type DurationInput, parseDuration } from '../time/duration.ts'
import { type InstantInput, parseInstant } from '../time/instant.ts'

/** When work is to run: an instant, or a duration from now. */
export type RunAt = InstantInput | DurationInput

export interface EnqueueOptions extends TaskSettingsOptions, Pick<SettingsOptions, 'executionTimeout' | 'deadLetter'> {
  /** Under the same key the work is created once. At most 200 characters. */
  key?: string
  /** An instant, or a duration from now such as '15m'. Default: now. */
  runAt?: RunAt
  tenant?: string
  /** What the work is about; `cancel({ job, entity })` finds it. The same as `refs.entity`. */
  entity?: string
  /** Ids of related records. */
  refs?: Refs
  /** 0–9, lower first. Default 5. */
  priority?: number
  /** How long a key is taken: for as long as it is remembered (`ever`, default), or until its work has ended (`live`). */
  unique?: UniqueKind
  /** What a key that is taken means: `keep` what is there (default), `reschedule` it, or `replace` its payload too. */
  onConflict?: OnConflict
}

/** One of several in a bulk enqueue. */
export interface EnqueueRequest extends EnqueueOptions {
  job: AnyDefinition | string
  payload?: unknown
}

export interface EnqueueResult {
  readonly id: string
  readonly outcome: CreateAnswer['outcome']
  /** The key was taken, and what is there has another payload. */
  readonly differs: boolean
}

export interface ScheduleOptions extends SettingsOptions {
  /** The job's name. Default: the definition's. */
  name?: string
  payload?: unknown
  tenant?: string
}

export interface ScheduleResult {
  readonly id: string
  readonly job: string
  readonly version: number
  readonly outcome: 'created' | 'updated' | 'unchanged'
  readonly nextRun: Date | null
}

export type CancelTarget =
  | string
  | { tenant?: string; job: AnyDefinition | string; key: string }
  | { tenant?: string; job: AnyDefinition | string; entity: string }
export type CancelOutcome = 'canceled' | 'canceling' | 'ended' | 'unknown'
export type OccurrenceTarget = string | { tenant?: string; job: AnyDefinition | string; key: string }

const occurrenceSettingNames = ['retry', 'timeout', 'onFailure', 'executionTimeout', 'deadLetter'] as const
const enqueueNames = ['key', 'runAt', 'tenant', 'entity', 'refs', 'priority', 'unique', 'onConflict', ...occurrenceSettingNames]

export class Commands {
  readonly #engine: Engine
  readonly #creations: Batcher<NewOccurrence, CreateAnswer>

  constructor(engine: Engine) {
    this.#engine = engine
    const { clock, store } = engine.env
    this.#creations = new Batcher(
      clock,
      () => store.batchLimit,
      (rows) => store.create(rows),
    )
  }

  async enqueue(request: EnqueueRequest): Promise<EnqueueResult> {
    const row = await this.#newOccurrence(request)
    await this.#engine.open()
    return this.#creations.add(row)
  }

  /** All or none are valid; the store takes them in as few calls as its limit allows. */
  async enqueueAll(requests: readonly EnqueueRequest[]): Promise<EnqueueResult[]> {
    const rows: NewOccurrence[] = []
    for (const [at, request] of requests.entries()) {
      checkObject(request, `requests[${at}]`)
      rows.push(await this.#newOccurrence(request))
    }
    await this.#engine.open()
    const { store } = this.#engine.env
    const answers: EnqueueResult[] = []
    for (let at = 0; at < rows.length; at += store.batchLimit)
      answers.push(...(await store.create(rows.slice(at, at + store.batchLimit))))
    return answers
  }

  async schedule(definition: AnyDefinition | string, schedule: Schedule, options: ScheduleOptions = {}): Promise<ScheduleResult> {
    checkObject(options, 'options of schedule')
    const declared = this.#declared(definition)
    const { name = declared.name, payload, tenant = defaultTenant, ...settings } = options
    const where = `job ${JSON.stringify(name)}`
    checkName(name, 'name')
    checkName(tenant, 'tenant')
    checkSchedule(schedule, where)
    const spec = jobSpec(declared, {
      schedule: schedule.toJSON(),
      payload: await this.#encode(declared, payload),
      settings: parseSettings(storable(settings, where), where),
    })
    await this.#engine.open()
    const { outcome, job } = await this.#engine.env.store.putJob({ tenant, name, spec })
    if (!job || outcome === 'conflict')
      throw new PunctualError('job.conflict', `Job ${JSON.stringify(name)} was changed by another at the same time`, {
        job: name,
        tenant,
      })
    this.#engine.wakePlanner()
    const next = nextMs(bind(schedule, job.createdAt), this.#engine.env.time.now())
    return { id: jobId(tenant, name), job: name, version: job.version, outcome, nextRun: next === null ? null : new Date(next) }
  }

  /** Runs a job once, now, whatever its schedule says. */
  async trigger(
    job: AnyDefinition | string,
    options: { payload?: unknown; key?: string; tenant?: string } = {},
  ): Promise<EnqueueResult> {
    checkOptions(options, ['payload', 'key', 'tenant'], 'trigger')
    const name = nameOf(job)
    const tenant = options.tenant ?? defaultTenant
    await this.#engine.open()
    const [known] = await this.#engine.env.store.readJobs({ tenant, name, limit: 1 })
    const definition =
      known?.spec.definition ??
      (this.#engine.env.registry.definition(name) ?? (job instanceof Definition ? job : undefined))?.name
    if (definition === undefined)
      throw new PunctualError('job.unknown', `There is no job ${JSON.stringify(name)} in tenant ${JSON.stringify(tenant)}`, {
        job: name,
        tenant,
      })
    const payload = 'payload' in options ? options.payload : decodePayload(known?.spec.payload ?? null)
    const row = await this.#newOccurrence({ ...options, job: name, payload }, { source: 'manual', definition, spec: known?.spec })
    return this.#creations.add(row)
  }

  async cancel(target: CancelTarget, options: { reason?: string } = {}): Promise<CancelOutcome> {
    const request = { which: cancelTarget(target), reason: reasonOf(options, 'options of cancel') }
    await this.#engine.open()
    const answers = await this.#engine.env.store.cancel(request)
    const canceled = answers.filter(({ outcome }) => outcome === 'canceled')
    if (canceled.length > 0 && isEndNoticed(this.#engine.env))
      for (const { id } of canceled) await announceUnattendedEnd(this.#engine.env, { id }, { unlessRun: true })
    const outcomes = answers.map((answer) => answer.outcome)
    return (['canceling', 'canceled', 'ended'] as const).find((outcome) => outcomes.includes(outcome)) ?? 'unknown'
  }

  /** Moves pending work to another time. */
  async reschedule(target: OccurrenceTarget, runAt: RunAt): Promise<void> {
    await this.#move(target, { due: parseRunAt(runAt) })
  }

  /** Gives a dead occurrence another chance. */
  async retry(target: OccurrenceTarget, options: { runAt?: RunAt } = {}): Promise<void> {
    checkObject(options, 'options of retry')
    checkOptions(options, ['runAt'], 'options of retry')
    const { runAt = 0 } = options
    await this.#move(target, { retry: parseRunAt(runAt) })
  }

  /** Ends a dead occurrence for good. */
  async discard(target: OccurrenceTarget, options: { reason?: string } = {}): Promise<void> {
    await this.#move(target, { discard: reasonOf(options, 'options of discard') })
    if (isEndNoticed(this.#engine.env)) await announceUnattendedEnd(this.#engine.env, whichOf(target))
  }

  async #move(target: OccurrenceTarget, to: Parameters<Engine['env']['store']['move']>[0]['to']): Promise<void> {
    const which = whichOf(target)
    await this.#engine.open()
    const answer = await this.#engine.env.store.move({ which, to })
    if (answer !== 'moved') throw moveError(answer, target)
  }

  async #newOccurrence(
    { job, payload, ...options }: EnqueueRequest,
    from: { source: Source; definition: string; spec?: JobSpec | undefined } = { source: 'deferred', definition: nameOf(job) },
  ): Promise<NewOccurrence> {
    const { clock, randomBytes, registry } = this.#engine.env
    const name = nameOf(job)
    checkOptions(options, enqueueNames, `enqueue of job ${JSON.stringify(name)}`)
    const { key, runAt = 0, tenant = defaultTenant, refs, unique = 'ever', onConflict = 'keep' } = options
    checkName(name, 'job')
    checkName(tenant, 'tenant')
    checkOneOf(unique, 'unique', uniqueKinds)
    checkOneOf(onConflict, 'onConflict', ['keep', 'reschedule', 'replace'])
    if (key !== undefined) checkKey(key, 'key')
    const entity = options.entity ?? refs?.entity
    const definition = job instanceof Definition ? job : registry.definition(from.definition)
    const isDeterministic = key !== undefined && unique === 'ever'
    return {
      id: isDeterministic ? keyedId(tenant, name, key) : uuidV7(Math.floor(clock.wall()), randomBytes),
      tenant,
      job: name,
      definition: from.definition,
      source: from.source,
      key: key ?? null,
      unique,
      entity: entity === undefined ? null : checkKey(entity, 'entity'),
      refs: checkRefs(refs),
      payload: await this.#encode(definition, payload),
      settings: occurrenceSettings(options, name),
      priority: this.#priority(options.priority, definition, from.spec),
      due: parseRunAt(runAt),
      onConflict,
    }
  }

  #priority(given: number | undefined, definition: AnyDefinition | undefined, spec: JobSpec | undefined): number {
    if (given !== undefined) return checkWhole(given, 'priority', 0, 9)
    return cascade(this.#engine.env.options.settings, definition?.settings, spec?.settings).priority
  }

  /** The payload as it is stored: what was given, once the schema has accepted it. Handlers get what the schema makes of it. */
  async #encode(definition: AnyDefinition | undefined, payload: unknown): Promise<string | null> {
    const text = encodePayload(payload)
    const schema = definition?.options.payload
    if (schema) await validatePayload(schema, payload, definition.name)
    return text
  }

  #declared(definition: AnyDefinition | string): AnyDefinition {
    if (definition instanceof Definition) return definition
    const known = this.#engine.env.registry.definition(nameOf(definition))
    if (known) return known
    throw new PunctualError(
      'definition.unknown',
      `No definition is named ${JSON.stringify(definition)} in this process; give it to createPunctual in jobs`,
      { field: 'definition', given: definition },
    )
  }
}

export function nameOf(job: AnyDefinition | string): string {
  return job instanceof Definition ? job.name : checkName(job, 'job')
}

export function whichOf(target: OccurrenceTarget): Which {
  if (typeof target === 'string') return { id: checkKey(target, 'id') }
  const where = 'an occurrence is named by its id, or by { tenant?, job, key }; the target'
  checkObject(target, where)
  checkOptions(target, ['tenant', 'job', 'key'], where)
  return { tenant: tenantOf(target), job: nameOf(target.job), key: checkKey(target.key, 'key') }
}

export function tenantOf({ tenant = defaultTenant }: { tenant?: string }): string {
  return checkName(tenant, 'tenant')
}

function cancelTarget(target: CancelTarget): CancelRequest['which'] {
  if (typeof target !== 'object' || target === null || !('entity' in target)) return whichOf(target)
  checkOptions(target, ['tenant', 'job', 'entity'], 'the target')
  return { tenant: tenantOf(target), job: nameOf(target.job), entity: checkKey(target.entity, 'entity') }
}

function reasonOf(options: { reason?: string }, where: string): string | null {
  checkObject(options, where)
  checkOptions(options, ['reason'], where)
  return options.reason === undefined ? null : checkKey(options.reason, 'reason')
}

/** Settings that go to the store; a function of one's own can only be kept by code. */
function storable<Given extends TaskSettingsOptions>(settings: Given, where: string): Given {
  if (typeof settings.retry?.strategy !== 'function') return settings
  throw new PunctualError(
    'option.invalid',
    `${where}.retry.strategy must be one of ${retryStrategies.join(', ')} here: a function cannot be stored; give it to defineJob or createPunctual`,
    { field: 'retry.strategy' },
  )
}

function occurrenceSettings(options: EnqueueOptions, job: string): SettingsDiff | null {
  const given = Object.fromEntries(
    Object.entries(options).filter(
      ([name, value]) => (occurrenceSettingNames as readonly string[]).includes(name) && value !== undefined,
    ),
  )
  const where = `enqueue of job ${JSON.stringify(job)}`
  return Object.keys(given).length === 0 ? null : parseSettings(storable(given, where), where)
}

function parseRunAt(runAt: RunAt): Due {
  if (typeof runAt === 'number') return { in: parseDuration(runAt, 'runAt') }
  if (typeof runAt === 'string' && !/^\d{4}-/.test(runAt)) return { in: parseDuration(runAt, 'runAt') }
  return parseInstant(runAt, 'runAt')
}

function checkRefs(refs: Refs | undefined): Refs {
  if (refs === undefined) return {}
  checkOptions(refs, Object.keys(refs ?? {}), 'refs')
  const entries = Object.entries(refs)
  if (entries.length > 20)
    throw new PunctualError('option.invalid', `refs must have at most 20 entries; it has ${entries.length}`, {
      field: 'refs',
      max: 20,
    })
  return Object.fromEntries(entries.map(([name, value]) => [checkName(name, 'name of a ref'), checkKey(value, `refs.${name}`)]))
}

function moveError(answer: Exclude<MoveAnswer, 'moved'>, target: OccurrenceTarget): PunctualError {
  const what = typeof target === 'string' ? `occurrence ${target}` : `the occurrence with key ${JSON.stringify(target.key)}`
  if (answer === 'unknown') return new PunctualError('occurrence.unknown', `There is no ${what}`, { target })
  const reasons = { running: 'it is running', ended: 'it has ended', 'not-dead': 'it is not dead' } as const
  return new PunctualError('occurrence.conflict', `Cannot move ${what}: ${reasons[answer]}`, { target, state: answer })
}
