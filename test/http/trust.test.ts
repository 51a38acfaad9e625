import { defineJob, type Punctual } from 'punctual'
import { createHandler } from 'punctual/http'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { asker, echo, newPunctual } from './asker.ts'

let punctual: Punctual
beforeEach(() => {
  punctual = newPunctual()
})
afterEach(() => punctual.close())
const ask = asker(() => punctual)

describe('authenticate', () => {
  const authenticate = (request: Request) => request.headers.get('authorization') === 'Bearer let-me-in'

  test.each([
    '/',
    '/status.css',
    '/api/v1/jobs',
    '/api/v1/occurrences',
    '/api/v1/occurrences/x',
    '/api/v1/counts',
    '/api/v1/nodes',
    '/nope',
  ])('S01: %s is 401 for who may not read', async (path) => {
    expect(await ask(path, { authenticate })).toMatchObject({ status: 401, body: { error: { code: 'access.refused' } } })
  })

  test('lets in who may', async () => {
    const headers = { authorization: 'Bearer let-me-in' }
    expect((await ask('/api/v1/jobs', { authenticate, headers })).status).toBe(200)
    expect((await ask('/api/v1/jobs', { authenticate: async () => true })).status).toBe(200)
  })

  test('anything but true is no', async () => {
    for (const answer of [undefined, 1, 'yes', {}])
      expect((await ask('/api/v1/jobs', { authenticate: () => answer as never })).status).toBe(401)
  })

  test('a throw lets nobody in', async () => {
    const throwing = () => {
      throw new Error('directory is down')
    }
    expect((await ask('/api/v1/jobs', { authenticate: throwing })).status).toBe(500)
  })

  test('the probes answer everyone, but only who may read learns the reasons', async () => {
    expect((await ask('/healthz', { authenticate })).status).toBe(200)
    expect((await ask('/readyz', { authenticate })).body).toEqual({ state: 'stopped' })
  })
})

describe('basePath', () => {
  test('mounts everything below it', async () => {
    expect((await ask('/jobs/api/v1/counts', { basePath: '/jobs' })).status).toBe(200)
    expect((await ask('/jobs/healthz', { basePath: '/jobs/' })).status).toBe(200)
    expect((await ask('/api/v1/counts', { basePath: '/jobs' })).status).toBe(404)
    for (const basePath of ['/jobs', '/jobs/'])
      for (const path of ['/jobs', '/jobs/']) expect((await ask(path, { basePath })).status).toBe(200)
    const { text } = await ask('/jobs', { basePath: '/jobs' })
    expect(text).toContain('href="/jobs/status.css"')
  })

  test.each(['jobs', '/a b', '/a?b', '/<x>', '//evil.example', 7])('%s is refused', (basePath) => {
    expect(() => createHandler(punctual, { basePath: basePath as string })).toThrow(
      expect.objectContaining({ code: 'option.invalid' }),
    )
  })

  test('unknown options are refused', () => {
    expect(() => createHandler(punctual, { auth: () => true } as never)).toThrow(
      expect.objectContaining({ code: 'option.unknown' }),
    )
    expect(() => createHandler(punctual, { authenticate: true } as never)).toThrow(
      expect.objectContaining({ code: 'option.invalid' }),
    )
  })
})

describe('security headers', () => {
  test.each([
    ['/', {}],
    ['/status.css', {}],
    ['/api/v1/jobs', {}],
    ['/nope', {}],
    ['/api/v1/jobs?x=1', {}],
    ['/api/v1/jobs', { method: 'POST' }],
    ['/api/v1/jobs', { authenticate: () => false }],
  ])('S12: stand on %s %o', async (path, options) => {
    const { headers } = (await ask(path, options)).response
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
  })
})

describe('the status page', () => {
  const hostile = `<script>alert(1)</script>"'><img src=x onerror=alert(1)>&amp;`

  test('S10: shows names, keys and errors as text', async () => {
    const nasty = defineJob(hostile, { retry: { max: 0 } }).task(hostile, () => {
      throw new Error(hostile)
    })
    punctual.define(nasty)
    await punctual.enqueue(nasty, undefined, { key: hostile, entity: hostile })
    await punctual.runDue()
    const { status, text, response } = await ask('/')
    expect(status).toBe(200)
    expect(response.headers.get('content-type')).toBe('text/html; charset=UTF-8')
    expect(text).toContain('&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&gt;&lt;img src=x onerror=alert(1)&gt;&amp;amp;')
    expect(text).not.toMatch(/<script|<img|onerror=[^a]/i)
    expect(text).not.toMatch(/style=|<style/)
  })

  test('S11: what a request says does not come back as a page', async () => {
    for (const path of [
      `/${encodeURIComponent(hostile)}`,
      `/api/v1/occurrences/${encodeURIComponent(hostile)}`,
      `/api/v1/jobs?${encodeURIComponent(hostile)}=1`,
    ]) {
      const { response } = await ask(path)
      expect(response.headers.get('content-type')).toBe('application/json')
    }
    expect((await ask(`/?q=${encodeURIComponent(hostile)}`)).text).not.toContain('alert')
  })

  test('lists jobs and the newest occurrences, and refreshes itself', async () => {
    await punctual.enqueue(echo, { text: 'a' }, { key: 'order-42' })
    await punctual.runDue()
    const { text } = await ask('/')
    expect(text).toContain('<meta http-equiv="refresh"')
    for (const shown of ['echo', 'later', 'order-42', 'completed', 'deferred']) expect(text).toContain(shown)
  })
})
