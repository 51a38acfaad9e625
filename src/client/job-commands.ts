// The calls that change jobs: code declares, a person overrides, pauses and rolls back.
import { announceVersion, declareJob, effectiveInstant } from '../engine/loops/declaration.ts'
import { Timeline } from '../engine/loops/timeline.ts'
import type { Engine } from '../engine/node/engine.ts'
import { PunctualError } from '../errors.ts'
import { type AnyDefinition, checkSchedule, Definition } from '../model/definition.ts'
import { jobId } from '../model/ids.ts'
import {
  defaultTenant,
  type JobOverride,
  type JobRecord,
  type JobSpec,
  jobSpec,
  type VersionRecord,
  withOverride,
} from '../model/job.ts'
import { hasLimitKeys, limitsOf } from '../model/limit-keys.ts'
import { checkKey, checkName, checkObject, checkOneOf, checkOptions, checkWhole } from '../model/limits.ts'
import { decodePayload } from '../model/payload.ts'
import { cascade, parseSettings, type Settings, type SettingsDiff, type SettingsOptions } from '../model/settings.ts'
import {
  type NextInstant,
  type ParsedUpdatePolicy,
  parseUpdatePolicy,
  type ScheduleDifference,
  scheduleDifference,
  type UpdatePolicy,
} from '../model/update.ts'
import { inZone } from '../schedule/default-zone.ts'
import { bind } from '../schedule/interval.ts'
import { nextMs, type Schedule } from '../schedule/schedule.ts'
import { zoneNamed } from '../time/zone.ts'
import { nameOf } from './job-name.ts'
import { acceptedPayload } from './new-occurrence.ts'
import { storable } from './storable.ts'
import { unknownJob } from './unknown-job.ts'

/** The options of `schedule`. */
export interface ScheduleOptions<Input = unknown> extends SettingsOptions, UpdateOptions {
  /** The job's name. Default: the definition's. */
  name?: string
  payload?: Input
  tenant?: string
  /** The zone of the schedule, where it names none. Default: as the definition says, else the scheduler. */
  timezone?: string
}

/** When a change of a job takes hold, and which version it expects. */
export interface UpdateOptions {
  /** When the change takes hold. Default: as the scheduler says, `immediate`. */
  update?: UpdatePolicy
  /** Refuses the change with `job.conflict` when the job has another version by then. */
  expectedVersion?: number
}

/** The answer of `schedule`. */
export interface ScheduleResult {
  readonly id: string
  readonly job: string
  readonly version: number
  /** `left`: a live node with newer code declares the job otherwise, and this declaration waits. */
  readonly outcome: 'created' | 'updated' | 'unchanged' | 'left'
  readonly nextRun: Date | null
  /** Of a `windowed` change: the instants that differ within the window. */
  readonly difference: ScheduleDifference | null
}

/** The answer of `update`, `reset`, `rollback` and `retire`. */
export interface UpdateResult {
  readonly version: number
  /** Of a `windowed` change: the instants that differ within the window. */
  readonly difference: ScheduleDifference | null
}

/** The fields of a job that a person may change. */
export interface JobPatch<Input = unknown> extends SettingsOptions {
  schedule?: Schedule | null
  payload?: Input
  enabled?: boolean
}

/** A field of a job that a person may change. */
export type OverridableField = 'schedule' | 'payload' | 'settings' | 'enabled'

export interface JobTarget {
  tenant?: string
}

export class JobCommands {
  readonly #engine: Engine

  constructor(engine: Engine) {
    this.#engine = engine
  }

  async schedule(definition: AnyDefinition, given: Schedule, options: ScheduleOptions = {}): Promise<ScheduleResult> {
    checkObject(options, 'options of schedule')
    const { name = definition.name, payload, tenant = defaultTenant, timezone, update, expectedVersion, ...settings } = options
    const where = `job ${JSON.stringify(name)}`
    checkName(name, 'name')
    checkName(tenant, 'tenant')
    checkSchedule(given, where)
    const schedule = this.#zoned(given, definition, timezone)
    const policy = this.#policy(update)
    let before: Timeline | null = null
    const spec = jobSpec(definition, {
      schedule: schedule.toJSON(),
      payload: await acceptedPayload(definition, payload),
      settings: parseSettings(storable(settings, where), where),
    })
    await this.#engine.open()
    const answer = await declareJob(this.#engine.env, {
      tenant,
      name,
      declared: () => spec,
      effectiveAt: async (known) => {
        if (policy.window) before = await this.#timeline(known)
        return effectiveInstant(this.#engine.env, known, policy)
      },
      ...(expectedVersion !== undefined && {
        expectedVersion: checkWhole(expectedVersion, 'expectedVersion', 0, Number.MAX_SAFE_INTEGER),
      }),
    })
    if (answer.outcome === 'conflict') throw conflict(tenant, name, expectedVersion, answer.job)
    this.#engine.wakePlanner()
    const { version, createdAt } = answer.job as JobRecord
    const next = nextMs(bind(schedule, createdAt), this.#engine.env.time.now())
    return {
      id: jobId(tenant, name),
      job: name,
      version,
      outcome: answer.outcome,
      nextRun: next === null ? null : new Date(next),
      difference: await this.#difference(policy, before, answer.job as JobRecord),
    }
  }

  /** A person's change: it wins over what code declares until it is reset. */
  async update(
    job: AnyDefinition | string,
    patch: JobPatch,
    options: UpdateOptions & JobTarget & { by?: string } = {},
  ): Promise<UpdateResult> {
    checkOptions(options, ['update', 'expectedVersion', 'tenant', 'by'], 'options of update')
    checkObject(patch, 'the change of update')
    const override = await this.#override(patch, job)
    return this.#change(job, options, (known) => merged(known.override, this.#withLimits(known, override)))
  }

  /** Takes a person's changes back, all or some: what code declares holds again. */
  async reset(
    job: AnyDefinition | string,
    options: UpdateOptions & JobTarget & { fields?: readonly OverridableField[]; by?: string } = {},
  ): Promise<UpdateResult> {
    checkOptions(options, ['update', 'expectedVersion', 'tenant', 'by', 'fields'], 'options of reset')
    const { fields } = options
    for (const field of fields ?? []) checkOneOf(field, 'fields', ['schedule', 'payload', 'settings', 'enabled'])
    return this.#change(job, options, ({ override }) => (fields && override ? without(override, fields) : null))
  }

  /** Makes an older version hold again, as a new version and a person's change. */
  async rollback(
    job: AnyDefinition | string,
    version: number,
    options: UpdateOptions & JobTarget & { by?: string } = {},
  ): Promise<UpdateResult> {
    checkOptions(options, ['update', 'expectedVersion', 'tenant', 'by'], 'options of rollback')
    const old = (await this.versions(job, options)).find((one) => one.version === version)
    if (!old)
      throw new PunctualError('job.unknown', `Job ${JSON.stringify(nameOf(job))} has no version ${version}`, {
        job: nameOf(job),
        version,
      })
    const { schedule, payload, isEnabled } = old.spec
    return this.#change(job, options, ({ declared, spec }) => ({
      schedule,
      payload,
      isEnabled,
      settings: this.#settingsAsIn(old.spec, declared ?? spec),
    }))
  }

  /** Ends a job that no code declares any more: its history stays, and declaring it again continues its versions. */
  async retire(job: AnyDefinition | string, options: JobTarget & { by?: string } = {}): Promise<UpdateResult> {
    checkOptions(options, ['tenant', 'by'], 'options of retire')
    const known = await this.#known(job, options.tenant)
    return this.#put(known, { ...known.spec, isRetired: true }, known.override, options)
  }

  async versions(job: AnyDefinition | string, { tenant = defaultTenant }: JobTarget = {}): Promise<readonly VersionRecord[]> {
    await this.#engine.open()
    return this.#engine.env.store.readVersions({ tenant, name: nameOf(job) })
  }

  async #change(
    job: AnyDefinition | string,
    options: UpdateOptions & JobTarget & { by?: string },
    override: (known: JobRecord) => JobOverride | null,
  ): Promise<UpdateResult> {
    for (;;) {
      const known = await this.#known(job, options.tenant)
      const wanted = override(known)
      try {
        const changed = withOverride(known.declared ?? known.spec, wanted)
        return await this.#put(known, { ...changed, isRetired: known.spec.isRetired }, wanted, options)
      } catch (error) {
        // Another change came first: unless the caller asked for a certain version, this one is made on top of it.
        const isRace = error instanceof PunctualError && error.code === 'job.conflict' && options.expectedVersion === undefined
        if (!isRace) throw error
      }
    }
  }

  async #put(
    known: JobRecord,
    spec: JobSpec,
    override: JobOverride | null,
    { update, expectedVersion, by }: UpdateOptions & { by?: string },
  ): Promise<UpdateResult> {
    const { tenant, name, declared, version } = known
    const policy = this.#policy(update)
    const before = policy.window && (await this.#timeline(known))
    const answer = await this.#engine.env.store.putJob({
      tenant,
      name,
      spec,
      declared,
      override,
      effectiveAt: await effectiveInstant(this.#engine.env, known, policy),
      by: text(by, 'by'),
      expectedVersion: expectedVersion ?? version,
    })
    if (answer.outcome === 'conflict') throw conflict(tenant, name, expectedVersion ?? version, answer.job)
    announceVersion(this.#engine.env, answer, text(by, 'by'))
    this.#engine.wakePlanner()
    const changed = answer.job as JobRecord
    return { version: changed.version, difference: await this.#difference(policy, before, changed) }
  }

  #zoned(schedule: Schedule, definition: AnyDefinition | undefined, timezone = definition?.options.timezone): Schedule {
    return inZone(schedule, timezone === undefined ? this.#engine.env.options.timezone : zoneNamed(timezone).name)
  }

  #policy(update: UpdatePolicy | undefined): ParsedUpdatePolicy {
    return parseUpdatePolicy(update ?? this.#engine.env.options.update)
  }

  async #timeline(job: JobRecord): Promise<Timeline> {
    return new Timeline(job, await this.#engine.env.store.readVersions(job))
  }

  /** The difference that a windowed change makes; null for other changes. */
  async #difference({ window }: ParsedUpdatePolicy, before: Timeline | null, job: JobRecord): Promise<ScheduleDifference | null> {
    if (window === null || before === null) return null
    const after = await this.#timeline(job)
    const [old, fresh] = [before, after].map((timeline) => (at: number) => timeline.next(at)?.at ?? null)
    return scheduleDifference(window, this.#engine.env.time.now(), old as NextInstant, fresh as NextInstant)
  }

  /** An override that makes the settings of an older version hold: what has been set since is named with its value of then. */
  #settingsAsIn({ defaults, settings }: JobSpec, since: JobSpec): SettingsDiff {
    const before = cascade(this.#engine.env.options.settings, defaults)
    const undone = Object.keys(since.settings).map((name) => [name, before[name as keyof Settings]])
    return { ...Object.fromEntries(undone), ...settings }
  }

  /** A payload that a person gives makes other limit keys, where this process has the definition. */
  #withLimits({ spec }: JobRecord, override: JobOverride): JobOverride {
    const definition = this.#engine.env.registry.definition(spec.definition)
    if (override.payload === undefined || !definition || !hasLimitKeys(definition)) return override
    return { ...override, settings: { ...limitsOf(definition, decodePayload(override.payload)), ...override.settings } }
  }

  async #override({ schedule, payload, enabled, ...settings }: JobPatch, job: AnyDefinition | string): Promise<JobOverride> {
    const name = nameOf(job)
    const where = `update of job ${JSON.stringify(name)}`
    const definition = job instanceof Definition ? job : this.#engine.env.registry.definition(name)
    if (schedule) checkSchedule(schedule, where)
    const given = parseSettings(storable(settings, where), where)
    return {
      ...(schedule !== undefined && { schedule: schedule ? this.#zoned(schedule, definition).toJSON() : null }),
      ...(payload !== undefined && { payload: await acceptedPayload(definition, payload) }),
      ...(enabled !== undefined && { isEnabled: checkOneOf(String(enabled), 'enabled', ['true', 'false']) === 'true' }),
      ...(Object.keys(given).length > 0 && { settings: given }),
    }
  }

  async #known(job: AnyDefinition | string, tenant = defaultTenant): Promise<JobRecord> {
    const name = nameOf(job)
    await this.#engine.open()
    const [known] = await this.#engine.env.store.readJobs({ tenant, name, limit: 1 })
    if (known) return known
    throw unknownJob(tenant, name)
  }
}

function merged(before: JobOverride | null, patch: JobOverride): JobOverride {
  const settings = { ...before?.settings, ...patch.settings }
  return { ...before, ...patch, ...(Object.keys(settings).length > 0 && { settings }) }
}

function without(override: JobOverride, fields: readonly OverridableField[]): JobOverride | null {
  const left = Object.fromEntries(
    Object.entries(override).filter(([name]) => !fields.includes(name === 'isEnabled' ? 'enabled' : (name as OverridableField))),
  )
  return Object.keys(left).length === 0 ? null : left
}

function text(value: string | undefined, field: string): string | null {
  return value === undefined ? null : checkKey(value, field)
}

function conflict(tenant: string, job: string, expected: number | undefined, known: JobRecord | null): PunctualError {
  const current = known?.version ?? 0
  return new PunctualError(
    'job.conflict',
    `Job ${JSON.stringify(job)} has version ${current}, not ${expected}: it was changed by another. Read it again and decide anew`,
    {
      job,
      tenant,
      expectedVersion: expected,
      version: current,
    },
  )
}
