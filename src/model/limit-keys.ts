// Limit keys that a definition makes of the payload. A function cannot be stored: its answer is, with the occurrence or the job.
import { PunctualError } from '../errors.ts'
import type { AnyDefinition } from './definition.ts'
import { errorText } from './error-record.ts'
import { checkKey } from './limits.ts'
import type { LimitKey } from './overlap.ts'
import type { Settings, SettingsDiff } from './settings.ts'

const limited = ['concurrency', 'rate'] as const

/** Whether a limit of the definition has a function for a key. One that was read from the store has none. */
export function hasLimitKeys(definition: AnyDefinition): boolean {
  return limited.some((name) => functionOf(definition, name) !== undefined)
}

/** The limits of the definition with the keys that it makes of the payload; empty where no key is a function. */
export function limitsOf(definition: AnyDefinition, payload: unknown): Pick<SettingsDiff, 'concurrency' | 'rate'> {
  const found: { concurrency?: Settings['concurrency']; rate?: Settings['rate'] } = {}
  for (const name of limited) {
    const { isByPayload: _, ...limit } = definition.settings[name] ?? {}
    const makeKey = functionOf(definition, name)
    if (makeKey) Object.assign(found, { [name]: { ...limit, key: keyOf(definition, name, () => makeKey(payload)) } })
  }
  return found
}

/** The settings with these limits in place of those that still wait for a payload. A limit of another level stays. */
export function withLimits<Given extends SettingsDiff>(settings: Given, limits: SettingsDiff): Given {
  const open = limited.filter((name) => settings[name]?.isByPayload && limits[name])
  return open.length === 0 ? settings : { ...settings, ...Object.fromEntries(open.map((name) => [name, limits[name]])) }
}

function functionOf({ options }: AnyDefinition, name: (typeof limited)[number]): ((payload: unknown) => string) | undefined {
  const key = (options[name] as { key?: LimitKey<unknown> } | undefined)?.key
  return typeof key === 'function' ? key : undefined
}

function keyOf({ name: job }: AnyDefinition, name: string, makeKey: () => string): string {
  const field = `${name}.key of job ${JSON.stringify(job)}`
  let key: unknown
  try {
    key = makeKey()
  } catch (cause) {
    throw new PunctualError('option.invalid', `${field} threw: ${errorText(cause)}`, { field: `${name}.key`, job }, { cause })
  }
  return checkKey(key, field)
}
