import fc from 'fast-check'
import { createPunctual, type Punctual, PunctualError } from 'punctual'
import { createHandler } from 'punctual/http'
import { memory } from 'punctual/memory'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { asker, newPunctual, silent } from './asker.ts'

let punctual: Punctual
beforeEach(() => {
  punctual = newPunctual()
})
afterEach(() => punctual.close())
const ask = asker(() => punctual)

describe('what bad input gets', () => {
  test.each([
    ['/api/v1/occurrences?sate=failed', 'option.unknown', 'sate'],
    ['/api/v1/occurrences?job=a&job=b', 'option.invalid', 'job'],
    ['/api/v1/occurrences?state=happy', 'option.invalid', 'state'],
    ['/api/v1/occurrences?state=', 'option.invalid', 'state'],
    ['/api/v1/occurrences?limit=0', 'option.invalid', 'limit'],
    ['/api/v1/occurrences?limit=1e9', 'option.invalid', 'limit'],
    ['/api/v1/occurrences?limit=-1', 'option.invalid', 'limit'],
    ['/api/v1/occurrences?limit=999999999999999999999', 'option.invalid', 'limit'],
    ['/api/v1/occurrences?cursor=%F0%9F%92%A9', 'option.invalid', 'cursor'],
    ['/api/v1/occurrences?from=yesterday', 'instant.invalid', 'from'],
    ['/api/v1/occurrences?to=2026-01-01', 'instant.invalid', 'to'],
    ['/api/v1/occurrences?key=', 'key.invalid', 'key'],
    ['/api/v1/occurrences?entity=%00', 'key.invalid', 'entity'],
    [`/api/v1/occurrences?key=${'x'.repeat(201)}`, 'key.invalid', 'key'],
    [`/api/v1/occurrences?tenant=${'x'.repeat(101)}`, 'name.invalid', 'tenant'],
    ['/api/v1/occurrences?__proto__=1', 'option.unknown', '__proto__'],
    ['/api/v1/occurrences?constructor=1', 'option.unknown', 'constructor'],
    [`/api/v1/occurrences/${'x'.repeat(201)}`, 'key.invalid', 'id'],
    ['/api/v1/occurrences/abc?verbose=1', 'option.unknown', 'verbose'],
    ['/api/v1/jobs?limit=1001', 'option.invalid', 'limit'],
    ['/api/v1/jobs?cursor=', 'option.invalid', 'cursor'],
    ['/api/v1/jobs?cursor=echo', 'option.invalid', 'cursor'],
    ['/api/v1/jobs?name=x', 'option.unknown', 'name'],
    ['/api/v1/counts?state=dead', 'option.unknown', 'state'],
    ['/api/v1/nodes?all=1', 'option.unknown', 'all'],
  ])('%s is refused with %s', async (path, code, field) => {
    const { status, body, text } = await ask(path)
    expect(status).toBe(400)
    expect(body.error).toMatchObject({ code, details: { field } })
    expect(body.error.message).not.toBe('')
    expect(text).not.toMatch(/\.ts:\d+/)
  })

  test('an unknown address is 404', async () => {
    for (const path of ['/nope', '/api/v1', '/api/v2/jobs', '/api/v1/jobs/', '/..%2f..%2fpackage.json', '/status.css/x']) {
      expect(await ask(path)).toMatchObject({ status: 404, body: { error: { code: 'route.unknown' } } })
    }
  })

  test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])('%s is 405: this only reads', async (method) => {
    for (const path of ['/', '/healthz', '/api/v1/jobs', '/api/v1/occurrences']) {
      const { status, body, response } = await ask(path, { method })
      expect(status).toBe(405)
      expect(response.headers.get('allow')).toBe('GET, HEAD')
      expect(body.error.code).toBe('method.unsupported')
    }
  })

  test('HEAD answers as GET does, without a body', async () => {
    expect(await ask('/api/v1/counts', { method: 'HEAD' })).toMatchObject({ status: 200, text: '' })
  })

  test('no address and no parameter makes it fail (S11, S13)', async () => {
    const handle = createHandler(punctual, { log: silent })
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('..', '%', '%00', '%E0%A4%A', "' OR 1=1 --", '{{1}}', '1e400', '-0'),
    )
    const path = fc.oneof(
      text.map((part) => `/${part}`),
      text.map((part) => `/api/v1/occurrences/${encodeURIComponent(part.toWellFormed())}`),
      fc
        .tuple(fc.constantFrom('tenant', 'job', 'state', 'key', 'entity', 'from', 'to', 'limit', 'cursor'), text)
        .map(([name, value]) => `/api/v1/occurrences?${name}=${encodeURIComponent(value.toWellFormed())}`),
      fc.tuple(text, text).map(([name, value]) => `/api/v1/counts?${name}=${value}`),
    )
    await fc.assert(
      fc.asyncProperty(path, async (path) => {
        const { status, headers } = await handle(new Request(`http://localhost${path}`))
        expect(status).toBeLessThan(500)
        if (status !== 200) expect(headers.get('content-type')).toBe('application/json')
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
    const handler = createHandler(node, { log: silent })
    const response = await handler(new Request('http://localhost/api/v1/occurrences'))
    const text = await response.text()
    expect(response.status).toBe(503)
    expect(JSON.parse(text).error.code).toBe('store.unreachable')
    expect(text).not.toContain('secret-host')
    const page = await handler(new Request('http://localhost/'))
    expect(page.status).toBe(503)
    expect(await page.text()).toContain('The store does not answer')
  })

  test.each([
    ['schedule.invalid', 400],
    ['schedule.never', 400],
    ['zone.invalid', 400],
    ['payload.rejected', 400],
    ['payload.invalid', 400],
    ['payload.too-large', 413],
    ['task.unknown', 400],
    ['definition.unknown', 404],
    ['job.conflict', 409],
    ['occurrence.conflict', 409],
  ] as const)('%s is %i, with its message', async (code, expected) => {
    punctual.list = () => Promise.reject(new PunctualError(code, 'what was wrong', { field: 'x' }))
    const { status, body } = await ask('/api/v1/occurrences')
    expect(status).toBe(expected)
    expect(body.error).toEqual({ code, message: 'what was wrong', details: { field: 'x' } })
  })

  test('S35: an unexpected error is 500; its message and stack go to the log alone', async () => {
    const lines: unknown[] = []
    punctual.list = () => Promise.reject(new TypeError('canary'))
    const { status, body, text } = await ask('/api/v1/occurrences', {
      log: { ...silent, error: (_, fields) => lines.push(fields) },
    })
    expect(status).toBe(500)
    expect(body.error.code).toBe('request.failed')
    expect(text).not.toContain('canary')
    expect(JSON.stringify(lines)).toContain('canary')
  })
})
