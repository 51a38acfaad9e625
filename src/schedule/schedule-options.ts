import { PunctualError } from '../errors.ts'

/** Refuses an unknown option, so a misspelt one is not silently without effect. */
export function checkOptions(factory: string, options: unknown, allowed: readonly string[]): void {
  if (options === undefined) return
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new PunctualError(
      'option.invalid',
      `${factory} takes its options as an object; got ${JSON.stringify(options)?.slice(0, 80)}`,
      {
        given: options,
      },
    )
  }
  for (const option of Object.keys(options)) {
    if (allowed.includes(option)) continue
    throw new PunctualError(
      'option.unknown',
      `${factory} has no option ${JSON.stringify(option)}; it has ${allowed.join(', ')}`,
      {
        option,
        allowed,
      },
    )
  }
}

/** The option's value if it is one of those allowed. */
export function checkChoice<Choice extends string>(option: string, given: unknown, allowed: readonly Choice[]): Choice {
  if (allowed.includes(given as Choice)) return given as Choice
  throw new PunctualError(
    'option.invalid',
    `${option} must be one of ${allowed.join(', ')}; got ${JSON.stringify(given)?.slice(0, 80)}`,
    {
      option,
      given,
      allowed,
    },
  )
}
