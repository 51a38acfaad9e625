import { createPunctual, defineJob, type Punctual } from 'punctual'
import { createHandler, type HandlerOptions, type Identity } from 'punctual/http'
import { memory } from 'punctual/memory'
import { manualClock } from 'punctual/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Role, roles } from '../../src/client/operation/server.ts'
import { operation, operationNames } from '../../src/client/operation.ts'
import { schedulerEnv } from '../../src/client/scheduler-env.ts'
import { Throttle } from '../../src/http/access/throttle.ts'
import { Tokens } from '../../src/http/access/tokens.ts'
import { answerOf, asker, broken, echo, newPunctual, silent } from './asker.ts'

let punctual: Punctual
beforeEach(() => {
  punctual = newPunctual()
})
afterEach(() => punctual.close())
const ask = asker(() => punctual)

const tokenOf = async (role: Role, tenants: readonly string[] | null = null, expiresInMs: number | null = null) =>
  (await new Tokens(schedulerEnv(punctual)).create({ name: `a ${role}`, role, tenants, expiresInMs, createdBy: null })).secret

/** A request for an operation, with something in place of each name in its path. */
function requestFor(name: (typeof operationNames)[number], headers: Record<string, string> = {}): Request {
  const { method, path, body } = operation(name)
  return new Request(`http://jobs.example/api/v1${path.replaceAll(/\{\w+\}/g, 'nothing')}`, {
    method,
    headers: { ...(body && { 'content-type': 'application/json' }), ...headers },
    ...(body && { body: '{}' }),
  })
}

const guarded = operationNames.filter((name) => operation(name).role !== 'anyone')

describe('roles', () => {
  test.each(guarded)('S01: %s is 401 without a credential', async (name) => {
    const handle = createHandler(punctual, { log: silent })
    const answer = await answerOf(await handle(requestFor(name)))
    expect(answer).toMatchObject({ status: 401, body: { code: 'access.required' } })
    expect(answer.response.headers.get('www-authenticate')).toContain('Bearer')
  })

  test('S01: the stream and the description need a credential, health does not', async () => {
    const handle = createHandler(punctual, { log: silent })
    const status = async (path: string) => (await handle(new Request(`http://jobs.example${path}`))).status
    expect(await status('/api/v1/events')).toBe(401)
    expect(await status('/api/openapi.json')).toBe(401)
    expect(await status('/healthz')).toBe(200)
  })

  test.each(roles.flatMap((role) => guarded.map((name) => [role, name] as const)))(
    'S06: the role %s and %s agree with the table',
    async (role, name) => {
      const handle = createHandler(punctual, { log: silent, authenticate: () => ({ name: 'ada', role }) })
      const { status, body } = await answerOf(await handle(requestFor(name)))
      const isAllowed = roles.indexOf(role) >= roles.indexOf(operation(name).role as Role)
      if (isAllowed) expect([401, 403]).not.toContain(status)
      else expect({ status, code: body.code }).toEqual({ status: 403, code: 'access.refused' })
      expect(status).not.toBe(500)
    },
  )

  test.each(guarded.filter((name) => operation(name).method !== 'GET' && !name.endsWith('.preview')))(
    'read-only refuses %s to an admin',
    async (name) => {
      const handle = createHandler(punctual, {
        log: silent,
        readOnly: true,
        authenticate: () => ({ name: 'ada', role: 'admin' }),
      })
      expect(await answerOf(await handle(requestFor(name)))).toMatchObject({ status: 403, body: { code: 'access.read-only' } })
    },
  )

  test('S08: an operator sees a payload and its results without what the job redacts; an admin sees them', async () => {
    const pay = defineJob<{ card: { number: string; holder: string } }>(
      'pay',
      { redact: ['card.number'] },
      ({ payload }) => `charged ${payload.card.number}`,
    )
    punctual.define(pay)
    const { id } = await punctual.enqueue(pay, { card: { number: 'canary-secret', holder: 'Ada' } })
    await punctual.runDue()
    const view = (role: Role, path: string) => ask(`/api/v1/${path}`, { authenticate: () => ({ name: 'v', role }) })
    expect((await view('operator', `occurrences/${id}`)).body).toMatchObject({
      payload: { card: { number: '[redacted]', holder: 'Ada' } },
      redacted: ['card.number'],
      result: 'charged [redacted]',
    })
    for (const path of [`occurrences/${id}`, 'occurrences', 'jobs/pay', 'jobs/pay/status', 'jobs/pay/versions'])
      expect((await view('operator', path)).text, path).not.toContain('canary-secret')
    expect((await view('admin', `occurrences/${id}`)).body).toMatchObject({
      payload: { card: { number: 'canary-secret' } },
      redacted: [],
      result: 'charged canary-secret',
    })
  })

  test('S08: a viewer sees neither payloads, results nor stacks', async () => {
    const { id } = await punctual.enqueue(echo, { text: 'canary-secret' })
    const dead = await punctual.enqueue(broken, undefined)
    await punctual.runDue()
    const view = (role: Role, path: string) => ask(path, { authenticate: () => ({ name: 'v', role }) })
    expect((await view('operator', `/api/v1/occurrences/${id}`)).body).toMatchObject({
      payload: { text: 'canary-secret' },
      redacted: [],
    })
    expect((await view('operator', `/api/v1/occurrences/${dead.id}`)).text).toContain('stack')
    for (const path of [
      `occurrences/${id}`,
      `occurrences/${dead.id}`,
      'occurrences',
      'jobs',
      'jobs/echo',
      'jobs/echo/status',
      'overview',
      'occurrences/export',
    ]) {
      const { text, status } = await view('viewer', `/api/v1/${path}`)
      expect(status).toBe(200)
      expect(text).not.toContain('canary-secret')
      expect(text).not.toContain('"stack"')
    }
  })

  test('S36: what is changed carries the name of who changed it', async () => {
    await punctual.runDue()
    const authenticate = () => ({ name: 'ada', role: 'admin' as const })
    await ask('/api/v1/jobs/later', { method: 'PATCH', body: { enabled: false }, authenticate })
    await ask('/api/v1/jobs/later/pause', { body: {}, authenticate })
    expect((await punctual.versions('later')).at(-1)?.by).toBe('ada')
    expect((await punctual.pauses())[0]?.by).toBe('ada')
  })
})

describe('tenants', () => {
  const acme = { authenticate: (): Identity => ({ name: 'a', role: 'admin', tenants: ['acme'] }) }

  test('S04: whatever is of another tenant does not exist', async () => {
    const foreign = await punctual.enqueue(broken, undefined, { tenant: 'globex', key: 'k' })
    const own = await punctual.enqueue(broken, undefined, { tenant: 'acme', key: 'k' })
    await punctual.runDue()
    const unknown = await ask('/api/v1/occurrences/01a1e133-38fc-71d6-8000-000000000000', acme)
    const got = await ask(`/api/v1/occurrences/${foreign.id}`, acme)
    expect([got.status, got.body.code]).toEqual([unknown.status, unknown.body.code])
    expect(got.status).toBe(404)
    for (const act of ['cancel', 'retry', 'discard', 'delete', 'reschedule', 'replay'])
      expect(
        (
          await ask(`/api/v1/occurrences/${foreign.id}/${act}`, {
            ...acme,
            body: act === 'replay' ? { reason: 'x' } : act === 'reschedule' ? { delay: '1h' } : {},
          })
        ).status,
      ).toBe(404)
    expect((await ask(`/api/v1/operations/${foreign.id}`, acme)).status).toBe(404)
    expect((await ask(`/api/v1/explain?id=${foreign.id}`, acme)).status).toBe(404)
    expect((await ask('/api/v1/jobs/broken?tenant=globex', acme)).status).toBe(404)
    expect((await ask('/api/v1/jobs/broken?tenant=default', acme)).status).toBe(404)
    expect((await ask('/api/v1/occurrences?tenant=globex', acme)).status).toBe(404)
    expect((await punctual.get(foreign.id))?.state).toBe('dead')
    const { body } = await ask('/api/v1/occurrences', acme)
    expect(body.items.map(({ id }: { id: string }) => id)).toEqual([own.id])
    expect((await ask('/api/v1/dead-letters', acme)).body.total).toBe(1)
    expect((await ask('/api/v1/occurrences/counts', acme)).body.total.count).toBe(1)
    expect((await ask('/api/v1/tenants', acme)).body.items.map(({ name }: { name: string }) => name)).toEqual(['acme'])
  })

  test('S05: a tenant of others in a body or header is refused', async () => {
    const send = (path: string, body: unknown) => ask(path, { ...acme, body })
    expect((await send('/api/v1/jobs', { definition: 'later', tenant: 'globex', schedule: { text: 'PT1H' } })).status).toBe(400)
    expect((await send('/api/v1/operations', { kind: 'cancel', filter: { tenant: 'globex' }, reason: 'x' })).status).toBe(400)
    expect((await send('/api/v1/pauses', { tenant: 'globex' })).status).toBe(400)
    expect((await send('/api/v1/pauses', {})).status).toBe(400)
    expect((await send('/api/v1/tokens', { name: 'more', role: 'admin', tenants: ['globex'] })).status).toBe(403)
    const { body } = await ask('/api/v1/occurrences', { ...acme, headers: { 'x-tenant': 'globex' } })
    expect(body.items).toEqual([])
  })

  test('a credential for several tenants names the one it means', async () => {
    const both = { authenticate: (): Identity => ({ name: 'a', role: 'viewer', tenants: ['acme', 'globex'] }) }
    expect(await ask('/api/v1/occurrences', both)).toMatchObject({ status: 400, body: { details: { field: 'tenant' } } })
    expect((await ask('/api/v1/occurrences?tenant=globex', both)).status).toBe(200)
  })

  test('S39: the same idempotency key of two tenants is two pieces of work', async () => {
    const submit = (tenant: string) =>
      ask('/api/v1/jobs/echo/occurrences', {
        authenticate: () => ({ name: 'a', role: 'operator', tenants: [tenant] }),
        body: { payload: { text: 'a' }, idempotencyKey: 'k' },
      })
    const [one, other] = [await submit('acme'), await submit('globex')]
    expect(one.body.outcome).toBe('created')
    expect(other.body.outcome).toBe('created')
    expect(one.body.id).not.toBe(other.body.id)
  })
})

describe('tokens', () => {
  const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` })
  const asked = (path: string, headers: Record<string, string>, options: HandlerOptions = {}) =>
    createHandler(punctual, { log: silent, ...options })(new Request(`http://jobs.example${path}`, { headers })).then(answerOf)

  test('S29: a token is created, shown once, used in a header alone, and revoked', async () => {
    const admin = await tokenOf('admin')
    const handle = createHandler(punctual, { log: silent })
    const made = await answerOf(
      await handle(
        new Request('http://jobs.example/api/v1/tokens', {
          method: 'POST',
          headers: { ...bearer(admin), 'content-type': 'application/json' },
          body: JSON.stringify({ name: 'ci', role: 'operator', tenants: ['acme'], expiresIn: '1h' }),
        }),
      ),
    )
    expect(made).toMatchObject({ status: 201, body: { name: 'ci', role: 'operator', createdBy: 'a admin' } })
    const { id, secret } = made.body
    const listed = await asked('/api/v1/tokens', bearer(admin))
    expect(listed.body.items).toHaveLength(2)
    // The id may hold an underscore too: the secret part is the last 43 characters.
    expect(listed.text).not.toContain(secret.slice(-43))
    expect((await asked('/api/v1/session', bearer(secret))).body).toMatchObject({ name: 'ci', tenants: ['acme'], via: 'token' })
    expect((await asked(`/api/v1/session?token=${secret}`, {})).status).toBe(401)
    expect((await asked(`/api/v1/jobs?token=${secret}`, bearer(admin))).status).toBe(400)
    await handle(new Request(`http://jobs.example/api/v1/tokens/${id}`, { method: 'DELETE', headers: bearer(admin) }))
    expect((await asked('/api/v1/session', bearer(secret))).status).toBe(401)
  })

  test('S28: only a hash of the secret is stored', async () => {
    const secret = await tokenOf('viewer')
    const stored = JSON.stringify(await schedulerEnv(punctual).store.tokens({ find: {} }))
    expect(stored).not.toContain(secret.slice(-43))
  })

  test('an expired token is refused', async () => {
    const clock = manualClock()
    await using timed = createPunctual({ store: memory(), clock, log: silent })
    const { secret } = await new Tokens(schedulerEnv(timed)).create({
      ...{ name: 'short', role: 'viewer', tenants: null, expiresInMs: 60_000, createdBy: null },
    })
    const handle = createHandler(timed, { log: silent })
    const status = async () =>
      (await handle(new Request('http://jobs.example/api/v1/session', { headers: bearer(secret) }))).status
    expect(await status()).toBe(200)
    await clock.advance('2m')
    expect(await status()).toBe(401)
  })

  test('S03: sample tokens and secrets of a proxy that can be guessed are refused', async () => {
    for (const secret of ['pt_', 'pt_default_token', 'changeme', `pt_${'a'.repeat(16)}_${'a'.repeat(43)}`])
      expect((await asked('/api/v1/session', bearer(secret))).status).toBe(401)
    for (const secret of ['', 'changeme', 'x'.repeat(40)])
      expect(() => createHandler(punctual, { proxy: { secret } })).toThrow(expect.objectContaining({ code: 'option.invalid' }))
  })

  test('S30: many wrong credentials are throttled, and right ones still pass', async () => {
    const right = await tokenOf('viewer')
    const handle = createHandler(punctual, { log: silent })
    const status = async (secret: string) =>
      (await handle(new Request('http://jobs.example/api/v1/session', { headers: bearer(secret) }))).status
    const statuses = []
    for (let n = 0; n < 70; n++) statuses.push(await status(`pt_${'b'.repeat(16)}_${'c'.repeat(43)}`))
    expect(statuses[0]).toBe(401)
    expect(statuses.at(-1)).toBe(429)
    expect(await status(right)).toBe(200)
  })

  test('one caller may send so many requests a second', () => {
    const throttle = new Throttle(3, 1000)
    expect([1, 2, 3, 4].map(() => throttle.note('a', 0))).toEqual([null, null, null, 1])
    expect(throttle.note('b', 0)).toBeNull()
    expect(throttle.note('a', 1000)).toBeNull()
  })
})

describe('browsers', () => {
  const open = async (headers: Record<string, string> = {}) => {
    const token = await tokenOf('operator')
    const handle = createHandler(punctual, { log: silent, basePath: '/jobs' })
    const login = await handle(
      new Request('https://jobs.example/jobs/api/v1/session', {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ token }),
      }),
    )
    return { handle, login, cookie: (login.headers.get('set-cookie') ?? '').split(';', 1)[0] as string }
  }

  test('a login sets a cookie that scripts cannot read, and a logout ends the session', async () => {
    const { handle, login, cookie } = await open()
    expect(login.status).toBe(200)
    const set = login.headers.get('set-cookie') ?? ''
    for (const part of ['HttpOnly', 'SameSite=Strict', 'Secure', 'Path=/jobs']) expect(set).toContain(part)
    const session = () => handle(new Request('https://jobs.example/jobs/api/v1/session', { headers: { cookie } }))
    expect(await (await session()).json()).toMatchObject({ via: 'session', role: 'operator' })
    await handle(new Request('https://jobs.example/jobs/api/v1/session', { method: 'DELETE', headers: { cookie } }))
    expect((await session()).status).toBe(401)
    // The secret of a session is no token.
    const asToken = await open()
    const headers = { authorization: `Bearer ${asToken.cookie.split('=')[1]}` }
    expect((await asToken.handle(new Request('https://jobs.example/jobs/api/v1/session', { headers }))).status).toBe(401)
  })

  test.each([
    ['a form of another site', { origin: 'https://evil.example', 'content-type': 'text/plain' }],
    ['a script of another site', { origin: 'https://evil.example', 'content-type': 'application/json' }],
    ['a page without an origin of its own', { origin: 'null', 'content-type': 'application/json' }],
    ['a request that the browser marks as cross-site', { 'sec-fetch-site': 'cross-site', 'content-type': 'application/json' }],
  ])('S09: %s changes nothing', async (_, headers) => {
    const { handle, cookie } = await open()
    const trigger = (more: Record<string, string>) =>
      handle(
        new Request('https://jobs.example/jobs/api/v1/jobs/echo/trigger', {
          method: 'POST',
          headers: { cookie, ...more },
          body: JSON.stringify({ payload: { text: 'a' } }),
        }),
      )
    expect((await trigger(headers as Record<string, string>)).status).toBe(403)
    expect((await trigger({ origin: 'https://jobs.example', 'content-type': 'text/plain' })).status).toBe(415)
    expect((await punctual.list()).items).toEqual([])
    expect((await trigger({ origin: 'https://jobs.example', 'content-type': 'application/json' })).status).toBe(202)
  })

  test('S09: without a login, a server that is open refuses them too', async () => {
    const answer = await ask('/api/v1/jobs/echo/trigger', {
      body: { payload: { text: 'a' } },
      headers: { origin: 'https://evil.example' },
    })
    expect(answer).toMatchObject({ status: 403, body: { code: 'access.origin' } })
  })

  test('S44: a page of another origin cannot listen to changes', async () => {
    const { handle, cookie } = await open()
    const headers = { cookie, origin: 'https://evil.example' }
    expect((await handle(new Request('https://jobs.example/jobs/api/v1/events', { headers }))).status).toBe(403)
  })

  test('S12: security headers stand on every answer', async () => {
    for (const path of ['/', '/healthz', '/api/v1/jobs', '/api/v1/nope', '/api/v1/jobs?x=1']) {
      const { headers } = (await ask(path)).response
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('content-security-policy')).toContain("default-src 'none'")
      expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
      expect(headers.get('content-security-policy')).not.toContain('unsafe')
    }
  })
})

describe('hosts and proxies', () => {
  test('authenticate decides, and only a whole identity lets in', async () => {
    for (const answer of [
      null,
      undefined,
      true,
      {},
      { name: 'a' },
      { name: 'a', role: 'root' },
      { name: '', role: 'admin' },
      { name: 'a', role: 'admin', tenants: 'acme' },
    ])
      expect((await ask('/api/v1/jobs', { authenticate: () => answer as never })).status).toBe(401)
    const throwing = () => {
      throw new Error('directory is down')
    }
    expect((await ask('/api/v1/jobs', { authenticate: throwing })).status).toBe(500)
  })

  test('S02: headers of a proxy are believed only with its secret', async () => {
    const proxy = { secret: 'k3Jd93-very-long-and-random-text-8fK2' }
    const named = { 'x-forwarded-user': 'ada', 'x-forwarded-role': 'admin', 'x-forwarded-for': '127.0.0.1', host: 'localhost' }
    expect((await ask('/api/v1/session', { proxy, headers: named })).status).toBe(401)
    const shown = await ask('/api/v1/session', { proxy, headers: { ...named, 'x-punctual-proxy': proxy.secret } })
    expect(shown.body).toMatchObject({ name: 'ada', role: 'admin', via: 'header' })
    const plain = await ask('/api/v1/session', {
      proxy,
      headers: { 'x-forwarded-user': 'bob', 'x-punctual-proxy': proxy.secret },
    })
    expect(plain.body.role).toBe('viewer')
  })

  test('S02: a server that is open answers to loopback names alone', async () => {
    const handle = createHandler(punctual, { open: true, log: silent })
    const headers = { 'x-forwarded-for': '127.0.0.1', 'x-forwarded-host': 'localhost' }
    expect((await handle(new Request('http://jobs.example/api/v1/jobs', { headers }))).status).toBe(421)
    expect((await handle(new Request('http://127.0.0.1:3000/api/v1/jobs'))).status).toBe(200)
  })

  test('options that contradict each other, or are unknown, are refused', () => {
    for (const options of [
      { open: true, authenticate: () => null },
      { authenticate: true },
      { auth: () => true },
      { basePath: 'jobs' },
      { limits: { bodyBytes: 0 } },
    ])
      expect(() => createHandler(punctual, options as never)).toThrow(
        expect.objectContaining({ code: expect.stringMatching(/^option\./) }),
      )
  })
})
