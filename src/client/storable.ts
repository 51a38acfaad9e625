import { PunctualError } from '../errors.ts'
import { retryStrategies } from '../model/retry.ts'
import type { SettingsOptions } from '../model/settings.ts'

/** Settings that go to the store; a function can only be kept by code. */
export function storable<Given extends SettingsOptions>(settings: Given, where: string): Given {
  for (const name of ['concurrency', 'rate'] as const) {
    if (typeof (settings[name] as { key?: unknown } | undefined)?.key === 'function')
      throw new PunctualError(
        'option.invalid',
        `${where}.${name}.key must be a text here: a function cannot be stored; give it to defineJob`,
        { field: `${name}.key` },
      )
  }
  if (typeof settings.retry?.strategy !== 'function') return settings
  throw new PunctualError(
    'option.invalid',
    `${where}.retry.strategy must be one of ${retryStrategies.join(', ')} here: a function cannot be stored; give it to defineJob or createPunctual`,
    { field: 'retry.strategy' },
  )
}
