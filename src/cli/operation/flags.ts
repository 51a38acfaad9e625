// Flags of a command from the schemas of its operation.
import { InvalidArgumentError, Option } from 'commander'
import { z } from 'zod'
import type { Operation } from '../../client/operation.ts'
import { parseDuration } from '../../time/duration.ts'
import { instantOption, json, whole } from '../options.ts'
import { wordsOf } from './words.ts'

interface Schema {
  readonly type?: string
  readonly format?: string
  readonly description?: string
  readonly enum?: readonly string[]
  readonly const?: unknown
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly items?: Schema
  readonly minimum?: number
  readonly maximum?: number
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
}

/** One field of the input of an operation: the part of the request, and where in the part it stands. */
export interface Field {
  readonly part: 'params' | 'query' | 'headers' | 'body'
  readonly path: readonly string[]
  readonly name: string
  readonly schema: Schema
  readonly isRequired: boolean
}

/** Every field that an operation takes. Of a body with kinds, those of all its kinds. */
export function fieldsOf({ params, query, headers, body }: Operation): readonly Field[] {
  const parts = { params, query, headers, body }
  const all = Object.entries(parts).flatMap(([part, schema]) =>
    schema ? partFields(part as Field['part'], jsonSchema(schema)) : [],
  )
  const byName = new Map<string, Field>()
  for (const field of all) {
    const other = byName.get(field.name)
    byName.set(field.name, other ? { ...other, isRequired: other.isRequired && field.isRequired } : field)
  }
  return [...byName.values()]
}

/** The fields of the body for one of its kinds. */
export function kindFields(body: z.ZodType, kind: string): readonly Field[] {
  const { oneOf = [], anyOf = [] } = jsonSchema(body)
  const branch = [...oneOf, ...anyOf].find(({ properties }) => properties?.kind?.const === kind)
  return branch ? objectFields('body', branch) : []
}

function jsonSchema(schema: z.ZodType): Schema {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', reused: 'inline' }) as Schema
}

function partFields(part: Field['part'], schema: Schema): readonly Field[] {
  const branches = schema.oneOf ?? schema.anyOf
  if (!branches) return objectFields(part, schema)
  const kinds = branches.flatMap(({ properties }) => properties?.kind?.const as string)
  const kind = { part, path: ['kind'], name: 'kind', schema: { type: 'string', enum: kinds }, isRequired: true }
  const rest = branches.flatMap((branch) => objectFields(part, branch)).filter(({ name }) => name !== 'kind')
  const everywhere = (name: string) =>
    branches.every((branch) => objectFields(part, branch).some((field) => field.name === name && field.isRequired))
  return [kind, ...rest.map((field) => ({ ...field, isRequired: everywhere(field.name) }))]
}

function objectFields(part: Field['part'], { properties = {}, required = [] }: Schema): readonly Field[] {
  return Object.entries(properties).flatMap(([name, schema]): readonly Field[] =>
    name === 'filter' && schema.properties
      ? objectFields(part, schema).map((field) => ({ ...field, path: ['filter', ...field.path] }))
      : [{ part, path: [name], name, schema, isRequired: required.includes(name) }],
  )
}

/** The flags of a field. A schedule has a second one for its zone, a choice of yes or no one for each. */
export function optionsOf({ name, schema, part }: Field): readonly Option[] {
  const about = wordsOf(name) || (schema.description ?? '')
  if (part === 'headers')
    return [new Option('--expect-version <number>', 'refuse when the job has another version').argParser(whole(0, 1e9))]
  if (name === 'schedule')
    return [
      new Option('--schedule <text>', 'cron text, an ISO 8601 duration or interval, a rule, an instant, or none'),
      new Option('--tz <zone>', 'the time zone of the schedule, such as Europe/Warsaw; else UTC'),
    ]
  if (name === 'update') return [new Option('--update <when>', about).argParser(updatePolicy)]
  const flag = `--${kebab(name)}`
  if (schema.type === 'boolean') return [new Option(flag, about), new Option(`--no-${kebab(name)}`, `the opposite of ${flag}`)]
  if (schema.format === 'date-time') return [instantOption(`${flag} <instant>`, about)]
  if (schema.type === 'array') return [withChoices(new Option(`${flag} <values...>`, about), schema.items?.enum)]
  return [valueOption(flag, about, schema)]
}

function valueOption(flag: string, about: string, schema: Schema): Option {
  if (schema.enum) return withChoices(new Option(`${flag} <choice>`, about), schema.enum)
  if (schema.type === 'integer')
    return new Option(`${flag} <number>`, about).argParser(whole(schema.minimum ?? 0, schema.maximum ?? Number.MAX_SAFE_INTEGER))
  if (schema.type === 'string') return new Option(`${flag} <text>`, about)
  if (isDuration(schema)) return new Option(`${flag} <duration>`, about)
  const takesText = schema.anyOf?.some((one) => one.type === 'string' || one.enum !== undefined)
  return new Option(`${flag} <json>`, about).argParser(takesText ? jsonOrText : json)
}

function isDuration({ anyOf = [] }: Schema): boolean {
  return anyOf.length === 2 && anyOf[0]?.type === 'string' && anyOf[1]?.type === 'integer'
}

/** Reads the value of an argument, as its flag would. */
export function argumentParser(field: Field): ((text: string) => unknown) | undefined {
  const [option] = optionsOf(field)
  return option?.parseArg as ((text: string) => unknown) | undefined
}

/** The values of a list may also be given at once, with commas between. */
function withChoices(option: Option, choices: readonly string[] | undefined): Option {
  if (!choices) return option
  if (!option.variadic) return option.choices(choices)
  option.argChoices = [...choices]
  return option.argParser((text: string, before: string[] = []) => {
    const given = text.split(',')
    const wrong = given.find((one) => !choices.includes(one))
    if (wrong !== undefined) throw new InvalidArgumentError(`Allowed choices are ${choices.join(', ')}.`)
    return [...before, ...given]
  })
}

export function kebab(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

function jsonOrText(text: string): unknown {
  return /^[[{]/.test(text) || /^-?\d+(\.\d+)?$/.test(text) ? json(text) : text
}

function updatePolicy(text: string): unknown {
  if (text === 'immediate' || text === 'graceful') return text
  if (text.startsWith('{')) return json(text)
  if (/^\d+$/.test(text)) return { graceful: { count: whole(1, 10_000)(text) } }
  try {
    return { graceful: { span: parseDuration(text) } }
  } catch {
    throw new InvalidArgumentError('It must be immediate, graceful, a number of runs such as 3, or a duration such as 2h.')
  }
}
