import type { ScheduleJson } from '../schedule/schedule.ts'
import { type AnyDefinition, tasksOf } from './definition.ts'
import type { SettingsDiff } from './settings.ts'
import type { TaskNode } from './task-graph.ts'

/** What a version of a job says. It is stored whole, compared as text, and never changed. */
export interface JobSpec {
  readonly definition: string
  readonly schedule: ScheduleJson | null
  /** JSON text. */
  readonly payload: string | null
  /** What this job changes against its definition. */
  readonly settings: SettingsDiff
  /** What the definition itself declares, so that every node and reader knows the effective settings. */
  readonly defaults: SettingsDiff
  readonly tasks: readonly TaskNode[]
}

/** A job as the store knows it: its newest version and how far its schedule has been planned. */
export interface JobRecord {
  readonly id: string
  readonly tenant: string
  readonly name: string
  readonly version: number
  readonly spec: JobSpec
  readonly createdAt: number
  readonly updatedAt: number
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
    settings: use.settings ?? {},
    defaults: definition.settings,
    tasks: tasksOf(definition).map(({ name, after }) => (after ? { name, after } : { name })),
  }
}

/** Equal specs have equal texts, whatever the order in which their fields were written. */
export function specText(spec: JobSpec): string {
  return JSON.stringify(spec, (_, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  )
}
