import { createPunctual, defineJob, interval, type Punctual, PunctualError } from 'punctual'
import { createHandler, type HandlerOptions } from 'punctual/http'
import { memory } from 'punctual/memory'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

const echo = defineJob<{ text: string }>('echo').task('say', ({ payload }) => payload.text)
const broken = defineJob('broken', { retry: { max: 0 } }).task('fall', () => {
  throw new Error('it fell')
})
const later = defineJob('later', { schedule: interval('PT1H') }).task('run', () => {})

let punctual: Punctual

beforeEach(() => {
  punctual = createPunctual({ store: memory(), jobs: [echo, broken, later], log: silent })
})
afterEach(() => punctual.close())

/** Asks the handler as a client does. */
async function ask(
  path: string,
  { method = 'GET', headers = {}, ...options }: HandlerOptions & { method?: string; headers?: Record<string, string> } = {},
) {
  const response = await createHandler(punctual, { log: silent, ...options })(
    new Request(`http://localhost${path}`, { method, headers }),
  )
  const text = await response.text()
  return {
    response,
    status: response.status,
    text,
    body: response.headers.get('content-type')?.startsWith('application/json') && text ? JSON.parse(text) : undefined,
  }
}

async function runAll(): Promise<void> {
  await punctual.runDue()
}

describe('health', () => {
  test('/healthz answers 200 while the process lives, started or not', async () => {
    expect(await ask('/healthz')).toMatchObject({ status: 200, body: { state: 'stopped' } })
    await punctual.start()
    expect(await ask('/healthz')).toMatchObject({ status: 200, body: { state: 'ok' } })
  })

  test('/readyz answers 503 until the node does its work', async () => {
    expect(await ask('/readyz')).toMatchObject({ status: 503, body: { state: 'stopped', reasons: [] } })
    await punctual.start()
    expect(await ask('/readyz')).toMatchObject({ status: 200, body: { state: 'ok', reasons: [] } })
  })

  test('TM-9: /readyz tells why a node whose store is away is not ready, and /healthz stays 200', async () => {
    const away = memory()
    away.open = () => Promise.reject(new PunctualError('store.unreachable', 'nobody answers at db.example'))
    await using node = createPunctual({ store: away, log: silent })
    await node.start()
    const handler = createHandler(node, { log: silent })
    const ready = await handler(new Request('http://localhost/readyz'))
    expect(ready.status).toBe(503)
    expect(await ready.json()).toEqual({ state: 'degraded', reasons: ['opener: nobody answers at db.example'] })
    expect((await handler(new Request('http://localhost/healthz'))).status).toBe(200)
  })
})

describe('jobs', () => {
  test('lists the jobs by name, those that never ran included', async () => {
    await runAll()
    const { status, body } = await ask('/api/v1/jobs')
    expect(status).toBe(200)
    expect(body.items.map((job: { name: string }) => job.name)).toEqual(['broken', 'echo', 'later'])
    expect(body.items[2]).toMatchObject({
      tenant: 'default',
      version: 1,
      schedule: { kind: 'interval' },
      tasks: [{ name: 'run' }],
    })
    expect(body.cursor).toBeNull()
  })

  test('pages by name', async () => {
    await runAll()
    const first = await ask('/api/v1/jobs?limit=2')
    expect(first.body.cursor).toBe('echo')
    const second = await ask(`/api/v1/jobs?limit=2&after=${first.body.cursor}`)
    expect(second.body.items.map((job: { name: string }) => job.name)).toEqual(['later'])
    expect(second.body.cursor).toBeNull()
  })
})

describe('occurrences', () => {
  test('lists, filters by every parameter, and pages', async () => {
    for (const text of ['a', 'b', 'c'])
      await punctual.enqueue(echo, { text }, { key: text, entity: `entity-${text}`, tenant: 'acme' })
    await punctual.enqueue(echo, { text: 'd' }, { runAt: '1h' })
    await runAll()
    const keys = async (query: string) =>
      (await ask(`/api/v1/occurrences?${query}`)).body.items.map((item: { key: string | null }) => item.key)
    expect(await keys('job=echo&state=completed')).toEqual(['c', 'b', 'a'])
    expect(await keys('tenant=acme')).toEqual(['c', 'b', 'a'])
    expect(await keys('tenant=nobody')).toEqual([])
    expect(await keys('job=echo&state=pending,running')).toEqual([null])
    expect(await keys('key=b')).toEqual(['b'])
    expect(await keys('entity=entity-c')).toEqual(['c'])
    expect(await keys('job=echo&from=2000-01-01T00:00:00Z&to=2000-01-02T00:00:00Z')).toEqual([])
    const first = await ask('/api/v1/occurrences?job=echo&limit=3')
    expect(first.body.items).toHaveLength(3)
    const second = await ask(`/api/v1/occurrences?job=echo&limit=3&cursor=${first.body.cursor}`)
    expect(second.body).toMatchObject({ items: [{ key: 'a' }], cursor: null })
  })

  test('tells all about one, without the stacks of its errors', async () => {
    const { id } = await punctual.enqueue(broken, undefined, { key: 'k' })
    await runAll()
    const { status, body, text } = await ask(`/api/v1/occurrences/${id}`)
    expect(status).toBe(200)
    expect(body).toMatchObject({ id, job: 'broken', key: 'k', state: 'dead', source: 'deferred', error: { message: 'it fell' } })
    expect(body.tasks).toMatchObject([
      { name: 'fall', state: 'failed', attempts: [{ n: 1, state: 'failed', error: { message: 'it fell' } }] },
    ])
    expect(text + (await ask('/api/v1/occurrences')).text).not.toContain('stack')
  })

  test('an unknown id is 404, typed', async () => {
    const { status, body } = await ask('/api/v1/occurrences/nothing')
    expect(status).toBe(404)
    expect(body).toEqual({
      error: { code: 'occurrence.unknown', message: 'There is no occurrence "nothing"', details: { id: 'nothing' } },
    })
  })

  test('counts by state, of all or of one job', async () => {
    await punctual.enqueue(echo, { text: 'a' })
    await punctual.enqueue(broken, undefined)
    await runAll()
    expect((await ask('/api/v1/counts')).body.states).toMatchObject({ completed: 1, dead: 1, pending: 0 })
    expect((await ask('/api/v1/counts?job=echo')).body.states).toMatchObject({ completed: 1, dead: 0 })
  })

  test('the depth of the queue and the nodes are visible (JB-17)', async () => {
    await punctual.start()
    const { body } = await ask('/api/v1/nodes')
    expect(body.items).toMatchObject([{ concurrency: 10, running: 0, kinds: ['echo', 'broken', 'later'] }])
    expect(new Date(body.items[0].beatAt).toISOString()).toBe(body.items[0].beatAt)
  })
})

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
    ['/api/v1/jobs?after=', 'name.invalid', 'after'],
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
    await runAll()
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
    await runAll()
    const { text } = await ask('/')
    expect(text).toContain('<meta http-equiv="refresh"')
    for (const shown of ['echo', 'later', 'order-42', 'completed', 'deferred']) expect(text).toContain(shown)
  })
})
