import { PunctualError } from '../errors.ts'
import { retryStrategies } from '../model/retry.ts'
import type { TaskSettingsOptions } from '../model/settings.ts'

/** Settings that go to the store; a function of one's own can only be kept by code. */
export function storable<Given extends TaskSettingsOptions>(settings: Given, where: string): Given {
  if (typeof settings.retry?.strategy !== 'function') return settings
  throw new PunctualError(
    'option.invalid',
    `${where}.retry.strategy must be one of ${retryStrategies.join(', ')} here: a function cannot be stored; give it to defineJob or createPunctual`,
    { field: 'retry.strategy' },
  )
}
