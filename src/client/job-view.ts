// The public form of jobs and their versions.
import { Timeline } from '../engine/loops/timeline.ts'
import { PunctualError } from '../errors.ts'
import { isOwnJob, type JobOverride, type JobRecord, type JobSpec, type VersionRecord } from '../model/job.ts'
import { covers, type PauseRecord } from '../model/pause.ts'
import { decodePayload } from '../model/payload.ts'
import { cascade, type Settings, type SettingsDiff } from '../model/settings.ts'
import type { TaskNode } from '../model/task-graph.ts'
import { restoreSchedule } from '../schedule/restore.ts'
import type { Schedule, ScheduleJson } from '../schedule/schedule.ts'
import type { NodeRecord } from '../store/store.ts'
import type { OverridableField } from './job-override.ts'

/** A job as lists show it. */
export interface JobView {
  readonly id: string
  readonly tenant: string
  readonly name: string
  readonly definition: string
  readonly version: number
  readonly schedule: ScheduleJson | null
  /** The schedule in words. */
  readonly scheduleText: string | null
  readonly payload: unknown
  readonly settings: Settings
  readonly tasks: readonly TaskNode[]
  readonly enabled: boolean
  readonly paused: boolean
  /** No code declares it any more. */
  readonly retired: boolean
  /** No live node declares it: it may have been removed from the code. */
  readonly orphaned: boolean
  /** A person's changes of the declaration; null for none. */
  readonly override: JobOverride | null
  /** The names of those fields; `reset` takes them. */
  readonly overridden: readonly OverridableField[]
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly nextRun: Date | null
}

/** One version of a job. It holds from `effectiveAt` on. */
export interface VersionView {
  readonly version: number
  readonly effectiveAt: Date
  readonly createdAt: Date
  /** The person who asked for it; null for code. */
  readonly by: string | null
  /** The schedule in words. */
  readonly scheduleText: string | null
  readonly spec: JobSpec
}

/** One field that differs between two versions. */
export interface FieldChange {
  readonly field: string
  readonly from: unknown
  readonly to: unknown
}

/** The parts of a view that the record of a job does not hold. */
export interface JobFacts {
  /** The scheduler's level of the settings. */
  readonly scheduler: SettingsDiff
  readonly pauses: readonly PauseRecord[]
  readonly nodes: readonly NodeRecord[]
  readonly nextRun: Date | null
}

export function jobView(record: JobRecord, { pauses, nodes, nextRun, scheduler }: JobFacts): JobView {
  const { id, tenant, name, version, spec, override, createdAt, updatedAt } = record
  return {
    id,
    tenant,
    name,
    definition: spec.definition,
    version,
    schedule: spec.schedule,
    scheduleText: restored(spec.schedule)?.describe() ?? null,
    payload: decodePayload(spec.payload),
    settings: cascade(scheduler, spec.defaults, spec.settings),
    tasks: spec.tasks,
    enabled: spec.isEnabled,
    paused: pauses.some((pause) => covers(pause, tenant, name)),
    retired: spec.isRetired,
    orphaned: isOwnJob(record) && !spec.isRetired && nodes.length > 0 && !nodes.some(({ declares }) => id in declares),
    override,
    overridden: overriddenFields(override),
    createdAt: new Date(createdAt),
    updatedAt: new Date(updatedAt),
    nextRun,
  }
}

function overriddenFields(override: JobOverride | null): readonly OverridableField[] {
  return Object.keys(override ?? {}).map((field) => (field === 'isEnabled' ? 'enabled' : (field as OverridableField)))
}

export function versionView({ version, effectiveAt, createdAt, by, spec }: VersionRecord): VersionView {
  return {
    version,
    effectiveAt: new Date(effectiveAt),
    createdAt: new Date(createdAt),
    by,
    scheduleText: restored(spec.schedule)?.describe() ?? null,
    spec,
  }
}

/** The differences, by dotted field. */
export function changes(from: unknown, to: unknown, field = ''): FieldChange[] {
  if (JSON.stringify(from) === JSON.stringify(to)) return []
  const isRecord = (value: unknown): value is Record<string, unknown> =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
  if (!isRecord(from) || !isRecord(to)) return [{ field, from: from ?? null, to: to ?? null }]
  const fields = new Set([...Object.keys(from), ...Object.keys(to)])
  return [...fields].sort().flatMap((name) => changes(from[name], to[name], field === '' ? name : `${field}.${name}`))
}

/** The next instant of the job, whichever version brings it; null when it has none, or is of a kind this process does not know. */
export function nextRun(record: JobRecord, versions: readonly VersionRecord[], now: number): Date | null {
  if (!versions.every(({ spec }) => spec.schedule === null || restored(spec.schedule))) return null
  const next = new Timeline(record, versions).next(now)
  return next && new Date(next.at)
}

function restored(schedule: ScheduleJson | null): Schedule | null {
  if (!schedule) return null
  try {
    return restoreSchedule(schedule)
  } catch (error) {
    if (error instanceof PunctualError && error.code === 'schedule.unknown') return null
    throw error
  }
}
