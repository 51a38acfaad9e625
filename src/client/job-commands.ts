// The calls that change jobs: code declares, a person overrides, pauses and rolls back.
import { announceVersion, declareJob, effectiveInstant } from '../engine/loops/declaration.ts'
import { Timeline } from '../engine/loops/timeline.ts'
import { PunctualError } from '../errors.ts'
import type { AuditAction } from '../model/audit.ts'
import { type AnyDefinition, checkSchedule } from '../model/definition.ts'
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
import { checkName, checkNote, checkObject, checkOneOf, checkOptions, checkWhole } from '../model/limits.ts'
import { parseSettings, type SettingsOptions } from '../model/settings.ts'
import {
  type NextInstant,
  type ParsedUpdatePolicy,
  parseUpdatePolicy,
  type ScheduleDifference,
  scheduleDifference,
  type UpdatePolicy,
} from '../model/update.ts'
import { bind } from '../schedule/interval.ts'
import { nextMs, type Schedule } from '../schedule/schedule.ts'
import { auditNote, type By, byNames } from './audit-note.ts'
import type { ClientEnv } from './client-env.ts'
import { type Job, nameOf } from './job-name.ts'
import {
  type JobPatch,
  merged,
  type OverridableField,
  overrideOf,
  settingsAsIn,
  withOwnLimits,
  without,
  zoned,
} from './job-override.ts'
import { acceptedPayload } from './new-occurrence.ts'
import { storable } from './storable.ts'
import { unknownJob } from './unknown-job.ts'

/** The options of `schedule`. */
export interface ScheduleOptions<Input = unknown> extends SettingsOptions, UpdateOptions, By {
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
  /** Refuses the change with `job.outdated` when the job has another version by then. */
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

export interface JobTarget {
  tenant?: string
}

export class JobCommands {
  readonly #env: ClientEnv

  constructor(env: ClientEnv) {
    this.#env = env
  }

  async schedule(definition: AnyDefinition, given: Schedule, options: ScheduleOptions = {}): Promise<ScheduleResult> {
    checkObject(options, 'options of schedule')
    const { name = definition.name, payload, tenant = defaultTenant, timezone, update, expectedVersion, ...rest } = options
    const { by, reason, ...settings } = rest
    const where = `job ${JSON.stringify(name)}`
    checkName(name, 'name')
    checkName(tenant, 'tenant')
    checkSchedule(given, where)
    const schedule = zoned(this.#env, given, definition, timezone)
    const policy = this.#policy(update)
    let before: Timeline | null = null
    const spec = jobSpec(definition, {
      schedule: schedule.toJSON(),
      payload: await acceptedPayload(definition, payload),
      settings: parseSettings(storable(settings, where), where),
    })
    const answer = await declareJob(this.#env, {
      // Code that schedules at its start is no act of a person.
      ...(by !== undefined && { audit: auditNote(this.#env, 'schedule', { by, ...(reason !== undefined && { reason }) }) }),
      tenant,
      name,
      declared: () => spec,
      effectiveAt: async (known) => {
        if (policy.window) before = await this.#timeline(known)
        return effectiveInstant(this.#env, known, policy)
      },
      ...(expectedVersion !== undefined && {
        expectedVersion: checkWhole(expectedVersion, 'expectedVersion', 0, Number.MAX_SAFE_INTEGER),
      }),
    })
    if (answer.outcome === 'conflict') throw outdated(tenant, name, expectedVersion, answer.job)
    this.#env.events.emit('signal.jobs', null)
    const { version, createdAt } = answer.job as JobRecord
    const next = nextMs(bind(schedule, createdAt), this.#env.time.now())
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
  async update(job: Job, patch: JobPatch, options: UpdateOptions & JobTarget & By = {}): Promise<UpdateResult> {
    checkOptions(options, ['update', 'expectedVersion', 'tenant', ...byNames], 'options of update')
    checkObject(patch, 'the change of update')
    const override = await overrideOf(this.#env, patch, job)
    return this.#change('update', job, options, (known) => merged(known.override, withOwnLimits(this.#env, known, override)))
  }

  /** Takes a person's changes back, all or some: what code declares holds again. */
  async reset(
    job: Job,
    options: UpdateOptions & JobTarget & { fields?: readonly OverridableField[] } & By = {},
  ): Promise<UpdateResult> {
    checkOptions(options, ['update', 'expectedVersion', 'tenant', 'fields', ...byNames], 'options of reset')
    const { fields } = options
    for (const field of fields ?? []) checkOneOf(field, 'fields', ['schedule', 'payload', 'settings', 'enabled'])
    return this.#change('reset', job, options, ({ override }) => (fields && override ? without(override, fields) : null))
  }

  /** Makes an older version hold again, as a new version and a person's change. */
  async rollback(job: Job, version: number, options: UpdateOptions & JobTarget & By = {}): Promise<UpdateResult> {
    checkOptions(options, ['update', 'expectedVersion', 'tenant', ...byNames], 'options of rollback')
    const old = (await this.versions(job, options)).find((one) => one.version === version)
    if (!old)
      throw new PunctualError('job.unknown', `Job ${JSON.stringify(nameOf(job))} has no version ${version}`, {
        job: nameOf(job),
        version,
      })
    const { schedule, payload, isEnabled } = old.spec
    return this.#change('rollback', job, options, ({ declared, spec }) => ({
      schedule,
      payload,
      isEnabled,
      settings: settingsAsIn(this.#env.options.settings, old.spec, declared ?? spec),
    }))
  }

  /** Ends a job that no code declares any more: its history stays, and declaring it again continues its versions. */
  async retire(job: Job, options: JobTarget & By = {}): Promise<UpdateResult> {
    checkOptions(options, ['tenant', ...byNames], 'options of retire')
    const known = await this.#known(job, options.tenant)
    return this.#put('retire', known, { spec: { ...known.spec, isRetired: true }, override: known.override }, options)
  }

  async versions(job: Job, { tenant = defaultTenant }: JobTarget = {}): Promise<readonly VersionRecord[]> {
    return this.#env.store.readVersions({ tenant, name: nameOf(job) })
  }

  async #change(
    action: AuditAction,
    job: Job,
    options: UpdateOptions & JobTarget & By,
    override: (known: JobRecord) => JobOverride | null,
  ): Promise<UpdateResult> {
    for (;;) {
      const known = await this.#known(job, options.tenant)
      const wanted = override(known)
      try {
        const changed = withOverride(known.declared ?? known.spec, wanted)
        return await this.#put(
          action,
          known,
          { spec: { ...changed, isRetired: known.spec.isRetired }, override: wanted },
          options,
        )
      } catch (error) {
        // Another change came first: unless the caller asked for a certain version, this one is made on top of it.
        const isRace = error instanceof PunctualError && error.code === 'job.outdated' && options.expectedVersion === undefined
        if (!isRace) throw error
      }
    }
  }

  async #put(
    action: AuditAction,
    known: JobRecord,
    { spec, override }: { spec: JobSpec; override: JobOverride | null },
    { update, expectedVersion, ...act }: UpdateOptions & By,
  ): Promise<UpdateResult> {
    const by = text(act.by, 'by')
    const audit = auditNote(this.#env, action, act)
    const { tenant, name, declared, version } = known
    const policy = this.#policy(update)
    const before = policy.window && (await this.#timeline(known))
    const answer = await this.#env.store.putJob({
      tenant,
      name,
      spec,
      declared,
      override,
      effectiveAt: await effectiveInstant(this.#env, known, policy),
      by,
      audit,
      expectedVersion: expectedVersion ?? version,
    })
    if (answer.outcome === 'conflict') throw outdated(tenant, name, expectedVersion ?? version, answer.job)
    announceVersion(this.#env, answer, by)
    this.#env.events.emit('signal.jobs', null)
    const changed = answer.job as JobRecord
    return { version: changed.version, difference: await this.#difference(policy, before, changed) }
  }

  #policy(update: UpdatePolicy | undefined): ParsedUpdatePolicy {
    return parseUpdatePolicy(update ?? this.#env.options.update)
  }

  async #timeline(job: JobRecord): Promise<Timeline> {
    return new Timeline(job, await this.#env.store.readVersions(job))
  }

  /** The difference that a windowed change makes; null for other changes. */
  async #difference({ window }: ParsedUpdatePolicy, before: Timeline | null, job: JobRecord): Promise<ScheduleDifference | null> {
    if (window === null || before === null) return null
    const after = await this.#timeline(job)
    const [old, fresh] = [before, after].map((timeline) => (at: number) => timeline.next(at)?.at ?? null)
    return scheduleDifference(window, this.#env.time.now(), old as NextInstant, fresh as NextInstant)
  }

  async #known(job: Job, tenant = defaultTenant): Promise<JobRecord> {
    const name = nameOf(job)
    const [known] = await this.#env.store.readJobs({ tenant, name, limit: 1 })
    if (known) return known
    throw unknownJob(tenant, name)
  }
}

function text(value: string | undefined, field: string): string | null {
  return value === undefined ? null : checkNote(value, field)
}

function outdated(tenant: string, job: string, expected: number | undefined, known: JobRecord | null): PunctualError {
  const current = known?.version ?? 0
  return new PunctualError(
    'job.outdated',
    `Job ${JSON.stringify(job)} has version ${current}, not ${expected}: it was changed by another. Read it again and decide anew`,
    {
      job,
      tenant,
      expectedVersion: expected,
      version: current,
    },
  )
}
