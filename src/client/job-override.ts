// A person's changes of a job: they win over what code declares until they are reset.
import { type AnyDefinition, checkSchedule, Definition } from '../model/definition.ts'
import type { JobOverride, JobRecord, JobSpec } from '../model/job.ts'
import { hasLimitKeys, limitsOf } from '../model/limit-keys.ts'
import { checkOneOf, checkOptions } from '../model/limits.ts'
import { decodePayload } from '../model/payload.ts'
import {
  cascade,
  parseSettings,
  type Settings,
  type SettingsDiff,
  type SettingsOptions,
  settingNames,
} from '../model/settings.ts'
import { inZone } from '../schedule/default-zone.ts'
import type { Schedule } from '../schedule/schedule.ts'
import { zoneNamed } from '../time/zone.ts'
import type { ClientEnv } from './client-env.ts'
import { type Job, nameOf } from './job-name.ts'
import { acceptedPayload } from './new-occurrence.ts'
import { storable } from './storable.ts'

/** The fields of a job that a person may change. */
export interface JobPatch<Input = unknown> extends SettingsOptions {
  schedule?: Schedule | null
  payload?: Input
  enabled?: boolean
}

/** A field of a job that a person may change. */
export type OverridableField = 'schedule' | 'payload' | 'settings' | 'enabled'

type OverrideEnv = Pick<ClientEnv, 'registry' | 'options'>

export async function overrideOf(env: OverrideEnv, patch: JobPatch, job: Job): Promise<JobOverride> {
  const name = nameOf(job)
  const where = `update of job ${JSON.stringify(name)}`
  checkOptions(patch, ['schedule', 'payload', 'enabled', ...settingNames], where)
  const { schedule, payload, enabled, ...settings } = patch
  const definition = job instanceof Definition ? job : env.registry.definition(name)
  if (schedule) checkSchedule(schedule, where)
  const given = parseSettings(storable(settings, where), where)
  return {
    ...(schedule !== undefined && { schedule: schedule ? zoned(env, schedule, definition).toJSON() : null }),
    ...(payload !== undefined && { payload: await acceptedPayload(definition, payload) }),
    ...(enabled !== undefined && { isEnabled: checkOneOf(String(enabled), 'enabled', ['true', 'false']) === 'true' }),
    ...(Object.keys(given).length > 0 && { settings: given }),
  }
}

/** The schedule in its own zone, else in that of the call, the definition or the scheduler. */
export function zoned(
  { options }: OverrideEnv,
  schedule: Schedule,
  definition: AnyDefinition | undefined,
  timezone = definition?.options.timezone,
): Schedule {
  return inZone(schedule, timezone === undefined ? options.timezone : zoneNamed(timezone).name)
}

/** A payload that a person gives makes other limit keys, where this process has the definition. */
export function withOwnLimits({ registry }: OverrideEnv, { spec }: JobRecord, override: JobOverride): JobOverride {
  const definition = registry.definition(spec.definition)
  if (override.payload === undefined || !definition || !hasLimitKeys(definition)) return override
  return { ...override, settings: { ...limitsOf(definition, decodePayload(override.payload)), ...override.settings } }
}

/** The settings of an older version, as an override: settings that were added since get their value of then. */
export function settingsAsIn(scheduler: SettingsDiff, { defaults, settings }: JobSpec, since: JobSpec): SettingsDiff {
  const before = cascade(scheduler, defaults)
  const added = Object.keys(since.settings).map((name) => [name, before[name as keyof Settings]])
  return { ...Object.fromEntries(added), ...settings }
}

export function merged(before: JobOverride | null, patch: JobOverride): JobOverride {
  const settings = { ...before?.settings, ...patch.settings }
  return { ...before, ...patch, ...(Object.keys(settings).length > 0 && { settings }) }
}

export function without(override: JobOverride, fields: readonly OverridableField[]): JobOverride | null {
  const left = Object.fromEntries(
    Object.entries(override).filter(([name]) => !fields.includes(name === 'isEnabled' ? 'enabled' : (name as OverridableField))),
  )
  return Object.keys(left).length === 0 ? null : left
}
