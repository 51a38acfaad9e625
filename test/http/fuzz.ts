// Requests made from the OpenAPI file, and then spoiled: wrong types, huge values, hostile text, names that change objects, deep JSON.
// Run it longer with: node test/http/fuzz.ts 1000000

import { createHandler } from '../../src/http/index.ts'
import { openApi } from '../../src/http/openapi.ts'
import { createPunctual, cron, defineJob } from '../../src/index.ts'
import { memory } from '../../src/store/memory/index.ts'
import { seededRandom } from '../../src/testing/store-suite/seeded-random.ts'

type Json = { readonly [name: string]: any }

const hostile: readonly unknown[] = [
  ...[
    '',
    ' ',
    '\0',
    '../../etc/passwd',
    "' OR 1=1 --",
    '"; DROP TABLE x; --',
    '<script>alert(1)</script>',
    '$' + '{7*7}',
    '{{7*7}}',
    '%n%s%x',
  ],
  ...[
    '__proto__',
    'constructor',
    'toString',
    '\ud800',
    '\u202e',
    'x'.repeat(5000),
    '1e400',
    '-0',
    'NaN',
    'null',
    '9007199254740993',
  ],
  ...[
    '2026-02-30T00:00:00Z',
    '0000-00-00',
    '* * * * *',
    '99 99 99 99 99',
    'P1Y',
    '-PT1H',
    'R/P1D',
    'Europe/Nowhere',
    'default',
    'echo',
    'later',
  ],
  ...[0, -1, 1, 1e308, -1e308, 2 ** 53, 0.1, true, false, null],
  ...[[], {}, [[[[[[[[[[]]]]]]]]]], { a: { b: { c: {} } } }, { constructor: { prototype: {} } }],
  JSON.parse('{"__proto__":{"polluted":true}}'),
]

/** The result of a run. */
export interface FuzzResult {
  readonly cases: number
  readonly statuses: Readonly<Record<number, number>>
  readonly faults: readonly string[]
}

/** Sends requests that no server should fall over, to a server that no write can change. */
export async function fuzz(cases: number, seed: number): Promise<FuzzResult> {
  const random = seededRandom(seed)
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item
  const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
  const jobs = [defineJob('echo').task('say', () => 1), defineJob('later', { schedule: cron('0 3 * * *') }).task('run', () => 1)]
  await using punctual = createPunctual({ store: memory(), jobs, log: silent })
  await punctual.runDue()
  const before = JSON.stringify([await punctual.jobs(), await punctual.counts(), await punctual.pauses()])
  const faults: string[] = []
  const log = { ...silent, error: (_: string, fields?: object) => faults.push(JSON.stringify(fields)) }
  // An admin on a server that refuses whatever writes, and a viewer.
  const readers = createHandler(punctual, { log, open: true, readOnly: true, limits: { requestsPerSecond: 1_000_000 } })
  const viewers = createHandler(punctual, {
    log,
    authenticate: () => ({ name: 'v', role: 'viewer' }),
    limits: { requestsPerSecond: 1_000_000 },
  })
  // Here everything may be written: all of a request is read and acted on, and must never fail.
  await using changed = createPunctual({ store: memory(), jobs, log: silent })
  await changed.runDue()
  const writers = createHandler(changed, { log, open: true, limits: { requestsPerSecond: 1_000_000 } })
  const routes = Object.entries(openApi('/api/v1').paths as Json)
    .filter(([path]) => path !== '/events')
    .flatMap(([path, methods]) =>
      Object.entries(methods as Json).map(([method, one]) => ({ path, method: method.toUpperCase(), one: one as Json })),
    )

  const valueFor = (schema: Json, depth = 0): unknown => {
    if (random() < 0.35 || depth > 4) return pick(hostile)
    if (schema.enum) return pick(schema.enum as readonly unknown[])
    if (schema.const !== undefined) return schema.const
    const union = (schema.anyOf ?? schema.oneOf) as readonly Json[] | undefined
    if (union) return valueFor(pick(union), depth + 1)
    if (schema.type === 'object')
      return Object.fromEntries(
        Object.entries((schema.properties ?? {}) as Json).flatMap(([name, inner]) =>
          random() < 0.5 ? [[random() < 0.05 ? String(pick(hostile)) : name, valueFor(inner as Json, depth + 1)]] : [],
        ),
      )
    if (schema.type === 'array')
      return Array.from({ length: Math.floor(random() * 4) }, () => valueFor((schema.items ?? {}) as Json, depth + 1))
    if (schema.type === 'integer' || schema.type === 'number') return Math.floor(random() * 1000)
    if (schema.type === 'boolean') return random() < 0.5
    if (schema.format === 'date-time') return new Date(Math.floor(random() * 4e12)).toISOString()
    return pick(['echo', 'later', 'default', 'x', '1h'])
  }
  const text = (value: unknown) => (typeof value === 'string' ? value : (JSON.stringify(value) ?? '')).toWellFormed()

  const statuses: Record<number, number> = {}
  for (let n = 0; n < cases; n++) {
    const { path, method, one } = pick(routes)
    const parameters = (one.parameters ?? []) as readonly Json[]
    const filled = path.replaceAll(/\{(\w+)\}/g, () => encodeURIComponent(text(valueFor({ type: 'string' }))) || 'x')
    const query = parameters
      .filter((parameter) => parameter.in === 'query' && (parameter.required || random() < 0.5))
      .map((parameter) => `${encodeURIComponent(parameter.name)}=${encodeURIComponent(text(valueFor(parameter.schema)))}`)
    if (random() < 0.05) query.push(`${encodeURIComponent(text(pick(hostile)))}=1`)
    const schema = one.requestBody?.content?.['application/json']?.schema as Json | undefined
    const body = schema ? JSON.stringify(valueFor(schema)) : undefined
    const chance = random()
    const handle = chance < 0.5 ? writers : chance < 0.9 ? readers : viewers
    const request = new Request(`http://localhost/api/v1${filled}${query.length > 0 ? `?${query.join('&')}` : ''}`, {
      method,
      headers: {
        ...(body !== undefined && { 'content-type': random() < 0.95 ? 'application/json' : 'text/plain' }),
        'if-match': text(pick(['"1"', '*', 'x'])),
      },
      ...(body !== undefined && { body: random() < 0.95 ? body : body.slice(0, -1) }),
    })
    const response = await handle(request)
    await response.text()
    statuses[response.status] = (statuses[response.status] ?? 0) + 1
    if (response.status >= 500) faults.push(`${response.status} ${method} ${request.url} ${body ?? ''}`.slice(0, 1000))
  }
  if (({} as { polluted?: boolean }).polluted) faults.push('Object.prototype was changed')
  const after = JSON.stringify([await punctual.jobs(), await punctual.counts(), await punctual.pauses()])
  if (before !== after) faults.push('something was written')
  return { cases, statuses, faults }
}

if (process.argv[1] === import.meta.filename) {
  const result = await fuzz(Number(process.argv[2] ?? 10_000), Number(process.argv[3] ?? 1))
  process.stdout.write(`${JSON.stringify({ ...result, faults: result.faults.slice(0, 20) }, null, 2)}\n`)
  process.exitCode = result.faults.length > 0 ? 1 : 0
}
