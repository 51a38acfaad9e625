import { PunctualError } from '../errors.ts'

/** The parameters of a request. Unknown and repeated ones are refused: a mistyped filter must not mean "everything". */
export function readQuery<const Name extends string>(url: string, allowed: readonly Name[]): Partial<Record<Name, string>> {
  const query: Partial<Record<Name, string>> = {}
  for (const [name, value] of new URL(url).searchParams) {
    if (!isAllowed(name, allowed)) {
      throw new PunctualError(
        'option.unknown',
        `There is no parameter ${JSON.stringify(name.slice(0, 100))}; allowed are ${allowed.join(', ') || 'none'}`,
        {
          field: name.slice(0, 100),
          allowed,
        },
      )
    }
    if (query[name] !== undefined)
      throw new PunctualError('option.invalid', `The parameter ${name} is given twice`, { field: name })
    query[name] = value
  }
  return query
}

/** A whole number; whether it is in range is for its user to say. */
export function readNumber(text: string, field: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new PunctualError('option.invalid', `${field} must be a whole number; got ${JSON.stringify(text.slice(0, 100))}`, {
    field,
    given: text.slice(0, 100),
  })
}

function isAllowed<Name extends string>(name: string, allowed: readonly Name[]): name is Name {
  return (allowed as readonly string[]).includes(name)
}
