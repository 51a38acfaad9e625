import type { ScheduleJson } from '../schedule/schedule.ts'
import { type AnyDefinition, Definition, tasksOf } from './definition.ts'
import { limitsOf } from './limit-keys.ts'
import { decodePayload } from './payload.ts'
import type { SettingsDiff } from './settings.ts'
import type { TaskNode } from './task-graph.ts'

/** A person's changes to a declared job. A field that is set wins over the code until it is reset. */
export interface JobOverride {
  readonly schedule?: ScheduleJson | null
  /** JSON text. */
  readonly payload?: string | null
  readonly settings?: SettingsDiff
  readonly isEnabled?: boolean
}

/** A task as a version says it: a process that has only its handler runs it by this. */
export interface TaskSpec extends TaskNode {
  /** Settings that differ from the job's; left out where none do. */
  readonly settings?: SettingsDiff
}

/** The content of a version of a job. It is stored whole, compared as text, and never changed. */
export interface JobSpec {
  readonly definition: string
  readonly schedule: ScheduleJson | null
  /** JSON text. */
  readonly payload: string | null
  /** Settings that differ from the definition's. */
  readonly settings: SettingsDiff
  /** The definition's own settings, so every node and reader knows the effective ones. */
  readonly defaults: SettingsDiff
  readonly tasks: readonly TaskSpec[]
  /** Whether the definition has `onComplete`; left out for false. */
  readonly isHooked?: true
  /** Where the events of the job are published: see `outletText`. Left out where they are not. */
  readonly publish?: string
  /** The set of tasks of the definition, as the version of the definition's own job that introduced it; left out for the first. */
  readonly edition?: number
  /** While false no instants are generated or recorded. */
  readonly isEnabled: boolean
  /** No longer declared by anybody: its history stays, and declaring it again continues its versions. */
  readonly isRetired: boolean
}

/** One version of a job. It is in force from `effectiveAt` on, until a newer one is. */
export interface VersionRecord {
  readonly version: number
  readonly spec: JobSpec
  readonly effectiveAt: number
  readonly createdAt: number
  readonly by: string | null
}

/** A job as the store knows it: its newest version and how far its schedule has been planned. */
export interface JobRecord {
  readonly id: string
  readonly tenant: string
  readonly name: string
  readonly version: number
  /** The newest version: the declaration of the code with the changes of a person. */
  readonly spec: JobSpec
  /** The declaration of the code; null for a job that only a person made. */
  readonly declared: JobSpec | null
  readonly override: JobOverride | null
  readonly createdAt: number
  readonly updatedAt: number
  /** By which time zone data `nextAt` was computed; empty where no zone matters. */
  readonly tz: string
  /** Instants up to and including this one have been planned. */
  readonly cursor: number
  /** The next instant to plan; null when the schedule has none. */
  readonly nextAt: number | null
}

/** The spec that a definition declares, with what a named use of it changes. */
export function jobSpec(
  definition: AnyDefinition,
  use: { schedule?: ScheduleJson | null; payload?: string | null; settings?: SettingsDiff } = {},
): JobSpec {
  return {
    definition: definition.name,
    schedule: use.schedule ?? null,
    payload: use.payload ?? null,
    settings: { ...(use.schedule && limitsOf(definition, decodePayload(use.payload ?? null))), ...use.settings },
    defaults: definition.settings,
    tasks: tasksOf(definition).map(({ name, after, settings }) => ({
      name,
      ...(after && { after }),
      ...(Object.keys(settings).length > 0 && { settings }),
    })),
    ...(definition.options.onComplete && { isHooked: true as const }),
    ...(definition.outlet !== undefined && { publish: definition.outlet }),
    isEnabled: true,
    isRetired: false,
  }
}

/** The definition as the store has it: without schema, hooks and retry functions, which cannot be stored. */
export function storedDefinition({ definition, defaults, tasks }: JobSpec): AnyDefinition {
  const stored = tasks.map(({ name, after, settings = {} }) => ({
    name,
    after,
    settings,
    retryFunction: undefined,
    handler: undefined,
  }))
  return new Definition(definition, {}, defaults, stored)
}

/** The declaration of the code with the changes of a person applied. */
export function withOverride(declared: JobSpec, override: JobOverride | null): JobSpec {
  if (!override) return declared
  return { ...declared, ...override, settings: { ...declared.settings, ...override.settings } }
}

/** The version in force at an instant: the newest of those that have become effective. The first is in force from ever. */
export function versionAt(versions: readonly VersionRecord[], at: number): VersionRecord {
  return versions.findLast(({ effectiveAt }) => effectiveAt <= at) ?? (versions[0] as VersionRecord)
}

/** The definitions' own jobs live in this tenant. */
export const defaultTenant = 'default'

/** Whether it is the definition's own job, and not one that was scheduled under another name. */
export function isOwnJob({ tenant, name, declared }: JobRecord): boolean {
  return tenant === defaultTenant && name === declared?.definition
}

/**
 * The definition, in a certain edition of its tasks, that a node needs to run an occurrence. No name holds the separator.
 * Nodes claim by it, so old code never takes work with a task that it lacks.
 */
export function kindOf({ definition, edition }: Pick<JobSpec, 'definition' | 'edition'>): string {
  return edition === undefined ? definition : `${definition}\t${edition}`
}

export function definitionOf(kind: string): string {
  return kind.split('\t', 1)[0] as string
}

/** The same for equal sets of tasks, whatever their order. */
export function taskSetText(tasks: readonly TaskNode[]): string {
  return tasks
    .map(({ name }) => name)
    .sort()
    .join('\t')
}

/**
 * The kinds that code with these tasks may run, given the versions of the definition's own job. Code that the newest version stands
 * for runs every edition: what it lacks was taken away on purpose. Other code runs those all of whose tasks it has.
 */
export function runnableKinds(tasks: readonly TaskNode[], versions: readonly VersionRecord[]): readonly string[] {
  const own = taskSetText(tasks)
  const names = new Set(tasks.map(({ name }) => name))
  const newest = versions.at(-1)
  const isNewest = newest !== undefined && taskSetText(newest.spec.tasks) === own
  const able = versions.filter(({ spec }) => isNewest || spec.tasks.every(({ name }) => names.has(name)))
  return [...new Set(able.map(({ spec }) => kindOf(spec)))]
}

/** Whether the spec yields instants at all. */
export function isPlannable({ schedule, isEnabled, isRetired }: JobSpec): boolean {
  return schedule !== null && isEnabled && !isRetired
}

/** Equal specs have equal texts, whatever the order in which their fields were written. */
export function specText(spec: JobSpec): string {
  return JSON.stringify(spec, (_, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  )
}
