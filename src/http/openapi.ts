// The description of the API, made from the table of operations.
import { z } from 'zod'
import { problem } from '../client/operation/server.ts'
import { type Operation, operation, operationNames } from '../client/operation.ts'
import { version } from '../engine/node/version.ts'

type Json = Readonly<Record<string, unknown>>

let made: { readonly root: string; readonly document: Json } | null = null

/** OpenAPI 3.1 for the API at a root such as `/punctual/api/v1`. */
export function openApi(root: string): Json {
  if (made?.root !== root) made = { root, document: documentOf(root) }
  return made.document
}

function documentOf(root: string): Json {
  const components: Record<string, unknown> = {}
  const paths: Record<string, Record<string, unknown>> = {}
  for (const name of operationNames) {
    const one = operation(name)
    paths[one.path] ??= {}
    ;(paths[one.path] as Record<string, unknown>)[one.method.toLowerCase()] = operationOf(name, one, components)
  }
  paths['/events'] = { get: eventsOperation }
  const error = schemaOf(problem, 'output', components)
  return {
    openapi: '3.1.0',
    info: {
      title: 'Punctual',
      version,
      description: 'Jobs, their occurrences, and what runs them. Instants are ISO 8601, durations milliseconds.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: root }],
    security: [{ token: [] }],
    tags: [...new Set(operationNames.map(tagOf))].map((name) => ({ name })),
    paths,
    components: {
      schemas: { ...components, Problem: components.Problem ?? error },
      securitySchemes: { token: { type: 'http', scheme: 'bearer', description: 'A token of `punctual tokens create`' } },
      responses: {
        Problem: { description: 'What was wrong', content: { 'application/problem+json': { schema: error } } },
      },
    },
  }
}

const tagOf = (name: string) => name.split('.')[0] as string

function operationOf(name: string, one: Operation, components: Record<string, unknown>): Json {
  const { summary, role, audited, dangerous, body, status = 200 } = one
  const isRequired = body !== undefined && !body.safeParse({}).success
  return {
    operationId: name,
    summary,
    tags: [tagOf(name)],
    ...(role === 'anyone' && { security: [] }),
    'x-punctual-role': role,
    'x-punctual-audited': audited,
    'x-punctual-dangerous': dangerous,
    parameters: [
      ...parametersOf(one.params, 'path', components),
      ...parametersOf(one.query, 'query', components),
      ...parametersOf(one.headers, 'header', components),
    ],
    ...(body && {
      requestBody: { required: isRequired, content: { 'application/json': { schema: schemaOf(body, 'input', components) } } },
    }),
    responses: {
      [status]: { description: 'Done', content: contentOf(name, one, components) },
      default: { $ref: '#/components/responses/Problem' },
    },
  }
}

function contentOf(name: string, { output }: Operation, components: Record<string, unknown>): Json {
  if (name === 'occurrences.export')
    return { 'application/x-ndjson': { schema: { type: 'string' } }, 'text/csv': { schema: { type: 'string' } } }
  return { 'application/json': { schema: schemaOf(output, 'output', components) } }
}

function parametersOf(schema: Operation['query'], place: string, components: Record<string, unknown>): Json[] {
  if (!schema) return []
  const { properties = {}, required = [] } = schemaOf(schema, 'input', components) as {
    properties?: Record<string, Json>
    required?: readonly string[]
  }
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    ...(typeof property.description === 'string' && { description: property.description }),
    ...(property.type === 'array' && { style: 'form', explode: false }),
    schema: property,
  }))
}

/** Named schemas are gathered under `components`; the others are inline. */
function schemaOf(schema: z.ZodType, io: 'input' | 'output', components: Record<string, unknown>): Json {
  const made = z.toJSONSchema(schema, { io, unrepresentable: 'any', target: 'draft-2020-12', reused: 'inline' }) as Record<
    string,
    unknown
  >
  const { $schema: _, $defs = {}, ...rest } = made as { $schema?: string; $defs?: Record<string, Json> }
  for (const [name, definition] of Object.entries($defs)) components[name] ??= moved(definition)
  return moved(rest)
}

/** References point into `components`. */
function moved(value: unknown): Json {
  const text = JSON.stringify(value, (key, inner: unknown) =>
    key === '$schema' || (key === 'id' && typeof inner === 'string') ? undefined : inner,
  )
  return JSON.parse(text.replaceAll('"#/$defs/', '"#/components/schemas/')) as Json
}

const eventsOperation: Json = {
  operationId: 'events',
  summary: 'Changes on all nodes, as server-sent events: change, lag, heartbeat',
  tags: ['events'],
  'x-punctual-role': 'viewer',
  parameters: [{ name: 'last-event-id', in: 'header', required: false, schema: { type: 'string', maxLength: 20 } }],
  responses: {
    200: { description: 'A stream', content: { 'text/event-stream': { schema: { type: 'string' } } } },
    default: { $ref: '#/components/responses/Problem' },
  },
}
