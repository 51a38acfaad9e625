import fc from 'fast-check'
import { createPunctual, type Punctual, PunctualError } from 'punctual'
import { createHandler } from 'punctual/http'
import { memory } from 'punctual/memory'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { errorCodes } from '../../src/errors.ts'
import { errorStatuses, httpStatuses } from '../../src/http/problem.ts'
import { read } from '../docs/page.ts'
import { asker, newPunctual, silent } from './asker.ts'

let punctual: Punctual
beforeEach(() => {
  punctual = newPunctual()
})
afterEach(() => punctual.close())
const ask = asker(() => punctual)

describe('bad input', () => {
  test.each([
    ['/api/v1/occurrences?sate=failed', 'option.unknown', 'sate'],
    ['/api/v1/occurrences?job=a&job=b', 'option.invalid', 'job'],
    ['/api/v1/occurrences?state=happy', 'request.invalid', 'state.0'],
    ['/api/v1/occurrences?state=', 'request.invalid', 'state.0'],
    ['/api/v1/occurrences?limit=0', 'request.invalid', 'limit'],
    ['/api/v1/occurrences?limit=1e9', 'request.invalid', 'limit'],
    ['/api/v1/occurrences?limit=999999999999999999999', 'request.invalid', 'limit'],
    ['/api/v1/occurrences?cursor=%F0%9F%92%A9', 'option.invalid', 'cursor'],
    ['/api/v1/occurrences?from=yesterday', 'request.invalid', 'from'],
    ['/api/v1/occurrences?to=2026-01-01', 'request.invalid', 'to'],
    ['/api/v1/occurrences?key=', 'request.invalid', 'key'],
    [`/api/v1/occurrences?key=${'x'.repeat(201)}`, 'request.invalid', 'key'],
    [`/api/v1/occurrences?tenant=${'x'.repeat(101)}`, 'request.invalid', 'tenant'],
    ['/api/v1/occurrences?tenant=%00', 'request.invalid', 'tenant'],
    ['/api/v1/audit?target=a%00', 'request.invalid', 'target'],
    ['/api/v1/jobs/%00', 'request.invalid', 'job'],
    ['/api/v1/occurrences?__proto__=1', 'option.unknown', '__proto__'],
    ['/api/v1/occurrences?constructor=1', 'option.unknown', 'constructor'],
    [`/api/v1/occurrences/${'x'.repeat(201)}`, 'request.invalid', 'id'],
    ['/api/v1/occurrences/abc?verbose=1', 'option.unknown', 'verbose'],
    ['/api/v1/jobs?limit=201', 'request.invalid', 'limit'],
    ['/api/v1/jobs?cursor=echo', 'option.invalid', 'cursor'],
    [`/api/v1/jobs?cursor=${Buffer.from('["a\\u0000","default"]').toString('base64url')}`, 'option.invalid', 'cursor'],
    ['/api/v1/jobs?mark=faling', 'request.invalid', 'mark'],
    ['/api/v1/nodes?all=1', 'option.unknown', 'all'],
    ['/api/v1/figures?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z', 'request.invalid', 'to'],
    ['/api/v1/calendar?from=2020-01-01T00:00:00Z&to=2030-01-01T00:00:00Z', 'request.invalid', 'to'],
  ])('S13: %s is refused with %s', async (path, code, field) => {
    const { status, body, text, response } = await ask(path)
    expect(status).toBe(400)
    expect(response.headers.get('content-type')).toBe('application/problem+json')
    expect(body).toMatchObject({ status: 400, code, type: `urn:punctual:${code}`, details: { field } })
    expect(body.detail).not.toBe('')
    expect(text).not.toMatch(/\.ts:\d+/)
  })

  test.each([
    ['text/plain', '', 415],
    ['application/json, text/plain', '', 415],
    ['application/json; charset=utf-16', '', 415],
    ['application/json', 'gzip', 415],
    ['APPLICATION/JSON ; Charset="UTF-8"', '', 200],
    ['application/json', 'identity', 200],
  ])('a body of type %s with encoding "%s" is answered with %i', async (type, encoding, expected) => {
    const handle = createHandler(punctual, { open: true, log: silent })
    const body = JSON.stringify({ schedule: { text: '0 3 * * *' } })
    for (const length of [{}, { 'content-length': String(body.length) }]) {
      const headers = { 'content-type': type, ...length, ...(encoding !== '' && { 'content-encoding': encoding }) }
      const request = new Request('http://localhost/api/v1/schedules/preview', { method: 'POST', headers, body })
      expect((await handle(request)).status).toBe(expected)
    }
  })

  test('an unknown address is 404', async () => {
    for (const path of ['/api', '/api/v1', '/api/v2/jobs', '/api/v1/nope', '/package.json', '/x.js'])
      expect(await ask(path)).toMatchObject({ status: 404, body: { code: 'route.unknown' } })
  })

  test('S33: no path of a request becomes a path of the disk', async () => {
    for (const path of [
      '/..%2f..%2fpackage.json',
      '/assets/..%2f..%2fpackage.json',
      '/%2e%2e/package.json',
      '/assets/%00',
      '//etc/passwd.txt',
    ])
      expect((await ask(path)).status).toBe(404)
  })

  test('another method is 405 and names those that are supported', async () => {
    const { status, body, response } = await ask('/api/v1/occurrences', { method: 'DELETE' })
    expect(status).toBe(405)
    expect(response.headers.get('allow')).toBe('GET, HEAD')
    expect(body.code).toBe('method.unsupported')
  })

  test('HEAD answers as GET does, without a body', async () => {
    expect(await ask('/api/v1/occurrences/counts', { method: 'HEAD' })).toMatchObject({ status: 200, text: '' })
  })

  test('S07: fields that a caller may not set are refused', async () => {
    for (const field of ['state', 'fence', 'owner', 'attempt', 'tenant', 'id', 'turn'])
      expect(await ask('/api/v1/jobs/echo/occurrences', { body: { payload: { text: 'a' }, [field]: 'x' } })).toMatchObject({
        status: 400,
        body: { code: 'option.unknown' },
      })
    expect((await punctual.list()).items).toEqual([])
  })

  test('S17: names of inherited properties are no jobs', async () => {
    for (const job of ['constructor', 'toString', 'hasOwnProperty'])
      expect((await ask(`/api/v1/jobs/${job}/occurrences`, { body: {} })).status).toBe(404)
    expect((await ask('/api/v1/jobs/__proto__/occurrences', { body: {} })).status).toBeGreaterThanOrEqual(400)
  })

  test.each([
    '{"payload":{"__proto__":{"polluted":true}}}',
    '{"payload":{"a":{"constructor":{"prototype":{"polluted":true}}}}}',
    '{"__proto__":{"payload":1}}',
  ])('S18: %s is refused', async (body) => {
    expect((await ask('/api/v1/jobs/echo/trigger', { body })).status).toBe(400)
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })

  test('S19: bodies that are too large, too deep or have too many fields are refused', async () => {
    const trigger = (body: string, headers = {}) => ask('/api/v1/jobs/echo/trigger', { body, headers })
    expect((await trigger(JSON.stringify({ payload: 'x'.repeat(600_000) }))).status).toBe(413)
    expect((await trigger(`{"payload":${'['.repeat(100_000)}${']'.repeat(100_000)}}`)).status).toBe(400)
    const wide = Object.fromEntries(Array.from({ length: 10_001 }, (_, n) => [`k${n}`, 1]))
    expect((await trigger(JSON.stringify({ payload: wide }))).status).toBe(413)
    expect((await trigger('{}', { 'content-encoding': 'gzip' })).status).toBe(415)
    expect((await trigger('{"payload":1')).status).toBe(400)
  })

  test('S20: text that no store can hold is refused', async () => {
    for (const body of ['{"payload":"a\\u0000b"}', '{"payload":"\\ud800"}', '{"payload":{"\\u0000":1}}'])
      expect((await ask('/api/v1/jobs/echo/trigger', { body })).status).toBe(400)
    const handle = createHandler(punctual, { open: true, log: silent })
    const bad = new Request('http://localhost/api/v1/jobs/echo/trigger', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: new Uint8Array([0x22, 0xc3, 0x28, 0x22]),
    })
    expect((await handle(bad)).status).toBe(400)
  })

  test('S21: numbers beyond what can be counted are refused', async () => {
    for (const limit of ['1e400', '-0.5', '9007199254740993', 'NaN', 'Infinity'])
      expect((await ask(`/api/v1/occurrences?limit=${limit}`)).status).toBe(400)
    expect((await ask('/api/v1/schedules/preview', { body: { schedule: { text: '* * * * *' }, count: 1e9 } })).status).toBe(400)
  })

  test('S16: templates in input come back as text', async () => {
    const { body } = await ask('/api/v1/schedules/preview', { body: { schedule: { text: `$\{7*7} {{7*7}} %n` } } })
    expect(body.code).toBe('schedule.invalid')
    expect(JSON.stringify(body)).not.toContain('49')
  })

  test('S37: a backfill of ten years of seconds is refused before anything is created', async () => {
    await ask('/api/v1/jobs', { body: { definition: 'later', name: 'ticks', schedule: { text: '* * * * * *' } } })
    const body = { kind: 'backfill', job: 'ticks', from: '2016-01-01T00:00:00Z', to: '2026-01-01T00:00:00Z' }
    expect((await ask('/api/v1/operations/preview', { body })).status).toBe(400)
    expect((await ask('/api/v1/operations', { body })).status).toBe(400)
  })

  test('S11: no address and no parameter makes it fail, and none comes back as a page', async () => {
    const handle = createHandler(punctual, { open: true, log: silent })
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('..', '%', '%00', '%E0%A4%A', "' OR 1=1 --", '{{1}}', '1e400', '-0', '<script>alert(1)</script>'),
    )
    const path = fc.oneof(
      text.map((part) => `/api/v1/${part}`),
      text.map((part) => `/api/v1/occurrences/${encodeURIComponent(part.toWellFormed())}`),
      fc
        .tuple(fc.constantFrom('tenant', 'job', 'state', 'key', 'entity', 'from', 'to', 'limit', 'cursor'), text)
        .map(([name, value]) => `/api/v1/occurrences?${name}=${encodeURIComponent(value.toWellFormed())}`),
      fc.tuple(text, text).map(([name, value]) => `/api/v1/jobs?${name}=${value}`),
    )
    await fc.assert(
      fc.asyncProperty(path, async (path) => {
        const { status, headers } = await handle(new Request(`http://localhost${path}`))
        expect(status).toBeLessThan(500)
        expect(headers.get('content-type')).not.toContain('html')
      }),
      { numRuns: 500 },
    )
  })
})

describe('failures', () => {
  test('a store that is away is 503 and names nothing of it', async () => {
    const away = memory()
    away.list = () =>
      Promise.reject(new PunctualError('store.unreachable', 'no answer from secret-host:5432', { host: 'secret-host' }))
    await using node = createPunctual({ store: away, log: silent })
    const response = await createHandler(node, { open: true, log: silent })(new Request('http://localhost/api/v1/occurrences'))
    const text = await response.text()
    expect(response.status).toBe(503)
    expect(JSON.parse(text).code).toBe('store.unreachable')
    expect(text).not.toContain('secret-host')
  })

  test('S35: an unexpected error is 500; its message and stack go to the log alone', async () => {
    const lines: unknown[] = []
    punctual.ranges = () => Promise.reject(new TypeError('canary'))
    const { status, body, text } = await ask('/api/v1/ranges', {
      log: { ...silent, error: (_, fields) => lines.push(fields) },
    })
    expect(status).toBe(500)
    expect(body.code).toBe('request.failed')
    expect(text).not.toContain('canary')
    expect(JSON.stringify(lines)).toContain('canary')
    expect(JSON.stringify(lines)).toContain(body.instance.slice('urn:uuid:'.length))
  })

  test('every code of the library that a request can cause has its status, in the code and in the docs', async () => {
    const text = read('docs/reference/http.md')
    const listed = [...text.matchAll(/^\| `([a-z-]+\.[a-z-]+)` \| (\d{3}) \|/gm)].map(([, code, status]) => [
      code,
      Number(status),
    ])
    expect(Object.fromEntries(listed)).toEqual({ ...errorStatuses, ...httpStatuses })
    for (const code of Object.keys(errorStatuses)) expect(errorCodes).toContain(code)
  })
})
