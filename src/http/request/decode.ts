// Requests by their schemas. Nothing unknown, repeated, too deep or too long gets past here.
import { z } from 'zod'
import type { Operation } from '../../client/operation.ts'
import { PunctualError } from '../../errors.ts'
import { Refusal } from '../problem.ts'
import { readBody } from './body.ts'

type Kind = 'integer' | 'number' | 'boolean' | 'array' | 'string'

/** The checked input of a request. */
export interface Decoded {
  readonly params: Readonly<Record<string, unknown>>
  readonly query: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: unknown
}

/** Reads requests of one operation. */
export function decoderOf({ params, query, headers, body }: Operation) {
  let known: Readonly<Record<string, Kind>> | undefined
  // Made with the first request: most processes get requests of few operations.
  const kinds = () => {
    known ??= query ? kindsOf(query) : {}
    return known
  }
  const headerNames = Object.keys(headers?.shape ?? {})
  return async (request: Request, pathParams: Readonly<Record<string, string>>, mostBytes: number): Promise<Decoded> => ({
    params: params ? (parse(params, checkedParams(pathParams), '') as Record<string, unknown>) : {},
    query: parse(query ?? z.strictObject({}), readQuery(new URL(request.url).searchParams, kinds()), '') as Record<
      string,
      unknown
    >,
    headers: headers
      ? (parse(
          headers,
          Object.fromEntries(
            headerNames.flatMap((name) => (request.headers.has(name) ? [[name, request.headers.get(name)]] : [])),
          ),
          '',
        ) as Record<string, unknown>)
      : {},
    body: body ? parse(body, await readBody(request, mostBytes), 'body') : undefined,
  })
}

/** Checks the parts of a call that comes without HTTP, by the same schemas. */
export function checkedParts({ params, query, headers, body }: Operation, given: Partial<Decoded>): Decoded {
  const part = (schema: z.ZodType | undefined, value: unknown = {}) =>
    schema ? (parse(schema, value, '') as Record<string, unknown>) : {}
  return {
    params: part(params, given.params),
    query: part(query, given.query),
    headers: part(headers, given.headers),
    body: body ? parse(body, given.body ?? {}, 'body') : undefined,
  }
}

function kindsOf(schema: z.ZodType): Readonly<Record<string, Kind>> {
  const { properties = {} } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => [
      name,
      (typeof property === 'object' ? property.type : 'string') as Kind,
    ]),
  )
}

function checkedParams(given: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  for (const [name, text] of Object.entries(given)) checkPlain(text, name)
  return given
}

/** No name and no key has control characters, and PostgreSQL cannot even compare with a NUL. */
function checkPlain(text: string, name: string): void {
  if (/\p{Cc}/u.test(text)) throw new Refusal('request.invalid', `${name} holds a control character`, { field: name })
}

/** Unknown and repeated parameters are refused: a mistyped filter must not mean "everything". */
function readQuery(given: URLSearchParams, kinds: Readonly<Record<string, Kind>>): Record<string, unknown> {
  const allowed = Object.keys(kinds)
  const query: Record<string, unknown> = Object.create(null)
  for (const [name, text] of given) {
    if (!Object.hasOwn(kinds, name)) {
      const refusesToken = /token|secret|authorization/i.test(name)
      const hint = refusesToken ? '; a credential goes into the header Authorization' : ''
      throw new PunctualError(
        'option.unknown',
        `There is no parameter ${JSON.stringify(name.slice(0, 100))}; allowed are ${allowed.join(', ') || 'none'}${hint}`,
        { field: name.slice(0, 100), allowed },
      )
    }
    if (name in query) throw new PunctualError('option.invalid', `The parameter ${name} is given twice`, { field: name })
    checkPlain(text, name)
    query[name] = queryValue(text, kinds[name] as Kind)
  }
  return query
}

/** Text that is not of its kind stays text, and the schema refuses it. */
function queryValue(text: string, kind: Kind): unknown {
  if (kind === 'integer' || kind === 'number') return /^-?\d{1,15}$/.test(text) ? Number(text) : text
  if (kind === 'boolean') return text === 'true' ? true : text === 'false' ? false : text
  return kind === 'array' ? text.split(',') : text
}

const mostShown = 200

function parse(schema: z.ZodType, value: unknown, where: string): unknown {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const issue = deepest(result.error.issues[0] as z.core.$ZodIssue)
  const field = [where, ...issue.path.map(String)].filter((part) => part !== '').join('.') || 'request'
  const keys = issue.code === 'unrecognized_keys' ? issue.keys : []
  if (keys.length > 0) {
    const name = String(keys[0]).slice(0, 100)
    throw new PunctualError('option.unknown', `${field} has no field ${JSON.stringify(name)}`, { field: name })
  }
  throw new Refusal('request.invalid', `${field}: ${issue.message}`.slice(0, mostShown), { field: field.slice(0, 100) })
}

/** Of a union, the branch that came furthest says most. */
function deepest(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  if (issue.code !== 'invalid_union') return issue
  const inner = issue.errors.flat().toSorted((a, b) => b.path.length - a.path.length)[0]
  return inner && inner.path.length > 0 ? { ...deepest(inner), path: [...issue.path, ...inner.path] } : issue
}
