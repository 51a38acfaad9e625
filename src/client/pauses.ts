import { PunctualError } from '../errors.ts'
import { Definition } from '../model/definition.ts'
import { defaultTenant } from '../model/job.ts'
import { checkName, checkNote, checkObject, checkOptions } from '../model/limits.ts'
import type { PauseRecord, PauseScope } from '../model/pause.ts'
import type { Due } from '../store/store.ts'
import { type DurationInput, parseDuration } from '../time/duration.ts'
import { type InstantInput, parseInstant } from '../time/instant.ts'
import { auditNote, type By, byNames } from './audit-note.ts'
import type { ClientEnv } from './client-env.ts'
import { type Job, nameOf } from './job-name.ts'
import { unknownJob } from './unknown-job.ts'

/** The target of a pause: a job, a tenant or everything. */
export type PauseTarget = Job | { tenant?: string; job?: Job }

/** The end of a pause, its reason and its author. */
export interface PauseOptions {
  reason?: string
  /** The instant at which it ends by itself. */
  until?: InstantInput
  /** Ends by itself after this long. */
  for?: DurationInput
  by?: string
}

/** One pause. */
export interface PauseView {
  readonly tenant: string | null
  readonly job: string | null
  readonly from: Date
  /** When it ends, or has ended; null while its end is open. */
  readonly until: Date | null
  readonly reason: string | null
  readonly by: string | null
}

/** Pauses of a job, a tenant or everything. */
export class Pauses {
  readonly #env: ClientEnv

  constructor(env: ClientEnv) {
    this.#env = env
  }

  async pause(target: PauseTarget | undefined, options: PauseOptions = {}): Promise<'paused' | 'unchanged'> {
    checkObject(options, 'options of pause')
    checkOptions(options, ['reason', 'until', 'for', 'by'], 'options of pause')
    const open = { until: endOf(options), reason: text(options.reason, 'reason'), by: text(options.by, 'by') }
    const scope = await this.#knownScope(target)
    const { outcome } = await this.#env.store.pause({ ...scope, open, audit: auditNote(this.#env, 'pause', options) })
    if (outcome === 'paused') this.#env.events.emit('job.paused', { ...scope, reason: open.reason })
    return outcome === 'paused' ? 'paused' : 'unchanged'
  }

  async resume(target: PauseTarget | undefined, options: By = {}): Promise<'resumed' | 'unchanged'> {
    checkObject(options, 'options of resume')
    checkOptions(options, byNames, 'options of resume')
    const audit = auditNote(this.#env, 'resume', options)
    const scope = await this.#knownScope(target)
    const { outcome } = await this.#env.store.pause({ ...scope, open: null, audit })
    if (outcome === 'resumed') this.#env.events.emit('job.resumed', scope)
    return outcome === 'resumed' ? 'resumed' : 'unchanged'
  }

  async pauses({ all = false }: { all?: boolean } = {}): Promise<readonly PauseView[]> {
    const { store, time } = this.#env
    return (await store.readPauses(all ? {} : { since: time.now() })).map(pauseView)
  }

  async #knownScope(target: PauseTarget | undefined): Promise<PauseScope> {
    const scope = scopeOf(target)
    const { tenant, job } = scope
    if (tenant !== null && job !== null && !isDefinition(target) && !(await this.#isKnown(tenant, job)))
      throw unknownJob(tenant, job)
    return scope
  }

  /** A job of the tenant, or a definition: its work can be enqueued in every tenant. */
  async #isKnown(tenant: string, name: string): Promise<boolean> {
    const { store, registry } = this.#env
    if (registry.definition(name)) return true
    for (const one of new Set([tenant, defaultTenant]))
      if ((await store.readJobs({ tenant: one, name, limit: 1 })).length > 0) return true
    return false
  }
}

function isDefinition(target: PauseTarget | undefined): boolean {
  if (target instanceof Definition) return true
  return typeof target === 'object' && 'job' in target && target.job instanceof Definition
}

function endOf({ until, for: length }: PauseOptions): Due | null {
  if (until !== undefined && length !== undefined)
    throw new PunctualError('option.invalid', 'until and for exclude each other: give an instant, or a duration from now', {
      field: 'until',
    })
  if (length !== undefined) return { in: parseDuration(length, 'for') }
  return until === undefined ? null : parseInstant(until, 'until')
}

function scopeOf(target: PauseTarget | undefined): PauseScope {
  if (target === undefined) return { tenant: null, job: null }
  if (typeof target === 'string' || 'tasks' in target) return { tenant: defaultTenant, job: nameOf(target as Job) }
  checkOptions(target, ['tenant', 'job'], 'a pause is of a job, of { tenant }, of { tenant, job }, or of everything; the target')
  const { tenant, job } = target
  if (job !== undefined) return { tenant: checkName(tenant ?? defaultTenant, 'tenant'), job: nameOf(job) }
  return { tenant: tenant === undefined ? null : checkName(tenant, 'tenant'), job: null }
}

function pauseView({ tenant, job, from, to, reason, by }: PauseRecord): PauseView {
  return { tenant, job, from: new Date(from), until: to === null ? null : new Date(to), reason, by }
}

function text(value: string | undefined, field: string): string | null {
  return value === undefined ? null : checkNote(value, field)
}
