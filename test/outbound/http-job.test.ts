import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createPunctual, type Punctual } from '../../src/client/punctual.ts'
import { AddressRefused, guardedLookup, isInside } from '../../src/outbound/address-guard.ts'
import { createWebhooks } from '../../src/outbound/http-job.ts'
import { signatureOf, verifySignature } from '../../src/outbound/signature.ts'
import { memory } from '../../src/store/memory/index.ts'

const secret = 'a secret of sixteen'
const publicAddress = { address: '93.184.215.14', family: 4 }

/** The answers of the next lookups of a name; without them the real one answers. */
const resolved: { address: string; family: number }[][] = []
vi.mock('node:dns', async (load) => {
  const dns = await load<typeof import('node:dns')>()
  const lookup = (host: string, options: object, answer: (error: null, found: object[]) => void) => {
    const found = resolved.shift()
    if (found) answer(null, found)
    else dns.lookup(host, options as never, answer as never)
  }
  return { ...dns, lookup }
})

async function receiver(answer: (request: IncomingMessage, body: string, response: ServerResponse) => void): Promise<string> {
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    answer(request, body, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
}

function scheduler(options: Partial<Parameters<typeof createWebhooks>[0]> = {}): Punctual {
  const log = { debug() {}, info() {}, warn() {}, error() {} }
  const punctual = createPunctual({ store: memory(), log })
  onTestFinished(() => punctual.close())
  createWebhooks({ punctual, secret, allowPrivate: true, ...options })
  return punctual
}

async function outcome(punctual: Punctual, payload: object, options: object = {}): Promise<{ state?: string; error?: string }> {
  const { id } = await punctual.enqueue('punctual/http', payload, { retry: { max: 0 }, ...options })
  await punctual.runDue()
  const found = await punctual.get(id)
  return { ...(found && { state: found.state }), ...(found?.error && { error: found.error.message }) }
}

describe('punctual/http', () => {
  it('calls a URL with a signature over the time and the body', async () => {
    const seen: { isValid: boolean; isForged: boolean; body: string }[] = []
    const url = await receiver((request, body, response) => {
      const header = String(request.headers['punctual-signature'])
      seen.push({
        body,
        isValid: verifySignature({ secret, header, body }),
        isForged: verifySignature({ secret, header, body: `${body} ` }),
      })
      response.end('ok')
    })
    expect(await outcome(scheduler(), { url, body: { id: 42 } })).toEqual({ state: 'completed' })
    expect(seen).toEqual([{ body: '{"id":42}', isValid: true, isForged: false }])
  })

  it.each([500, 503, 429, 408])('retries after %i, and waits as Retry-After says', async (status) => {
    const url = await receiver((_, __, response) => response.writeHead(status, { 'retry-after': '120' }).end())
    const punctual = scheduler()
    const { id } = await punctual.enqueue('punctual/http', { url })
    await punctual.runDue()
    const found = await punctual.get(id)
    expect(found?.state).toBe('retrying')
    expect((found?.dueAt.getTime() ?? 0) - (found?.turns[0]?.endedAt.getTime() ?? 0)).toBeGreaterThan(110_000)
  })

  it.each(['0', '-5', '1', 'soon', 'Wed, 21 Oct 2015 07:28:00 GMT'])(
    'waits no less for a Retry-After of %j',
    async (retryAfter) => {
      const url = await receiver((_, __, response) => response.writeHead(503, { 'retry-after': retryAfter }).end())
      const punctual = scheduler()
      const { id } = await punctual.enqueue('punctual/http', { url })
      await punctual.runDue()
      const found = await punctual.get(id)
      expect([found?.state, found?.turns.length]).toEqual(['retrying', 1])
      expect((found?.dueAt.getTime() ?? 0) - (found?.turns[0]?.endedAt.getTime() ?? 0)).toBeGreaterThan(4900)
    },
  )

  it('takes a change of the protocol as a refusal', async () => {
    const server = createServer().on('connection', (socket) => {
      socket.once('data', () => socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    expect(await outcome(scheduler(), { url })).toEqual({ state: 'dead', error: 'The receiver answered 101' })
  })

  it.each([400, 404, 301])('does not retry after %i, and follows no redirect', async (status) => {
    let calls = 0
    const url = await receiver((_, __, response) => {
      calls++
      response.writeHead(status, { location: '/elsewhere' }).end('no')
    })
    const punctual = scheduler()
    const { id } = await punctual.enqueue('punctual/http', { url })
    await punctual.runDue()
    expect((await punctual.get(id))?.state).toBe('dead')
    expect(calls).toBe(1)
  })

  it('S25 refuses addresses inside, also behind a name', async () => {
    const url = await receiver((_, __, response) => response.end())
    const punctual = scheduler({ allowPrivate: false })
    for (const target of [
      url,
      url.replace('127.0.0.1', 'localhost'),
      'http://[::1]:9/',
      'http://[::ffff:127.0.0.1]:9/',
      'http://0x7f.1/',
      'http://2130706433/',
      'http://0177.0.0.1/',
      'http://0/',
      'http://[::127.0.0.1]/',
    ])
      expect((await outcome(punctual, { url: target })).error).toMatch(/private network/)
  })

  it('S26 reads no more than 64 kB of an answer, and ends one that takes too long', async () => {
    const endless = await receiver((_, __, response) => {
      const more = () => {
        if (response.destroyed) return
        response.write('x'.repeat(32_768))
        setImmediate(more)
      }
      more()
    })
    expect(await outcome(scheduler(), { url: endless })).toEqual({ state: 'completed' })
    const silent = await receiver(() => {})
    expect((await outcome(scheduler({ timeout: 100 }), { url: silent })).state).toBe('dead')
    // Each part comes in time, and the whole does not.
    const slow = await receiver((_, __, response) => {
      const timer = setInterval(() => response.write('x'), 20)
      response.once('close', () => clearInterval(timer))
    })
    expect((await outcome(scheduler({ timeout: 100 }), { url: slow })).state).toBe('dead')
  })

  it.each([
    { url: 'ftp://x/' },
    { url: 'http://user:pass@x/' },
    { url: 'http://x/', headers: { host: 'y' } },
    { url: 'http://x/', headers: { a: 'b\r\nc' } },
    { url: 'http://x/', method: 'CONNECT' },
  ])('refuses the payload %j when it is enqueued', async (payload) => {
    await expect(scheduler().enqueue('punctual/http', payload)).rejects.toMatchObject({ code: 'payload.rejected' })
  })
})

describe('a name', () => {
  it.each([
    ['of which one address is inside', [publicAddress, { address: '10.0.0.1', family: 4 }], false],
    ['of a public address', [publicAddress], true],
    ['of no address', [], false],
  ])('%s is judged by the addresses that the socket gets', async (_, found, isAllowed) => {
    resolved.push(found)
    const answer = await new Promise<unknown>((resolve) =>
      guardedLookup('rebind.example', { all: true }, (error, addresses) => resolve(error ?? addresses)),
    )
    if (isAllowed) expect(answer).toEqual(found)
    else expect(answer).toBeInstanceOf(AddressRefused)
  })

  it('is looked up once for a call, so it cannot be public when it is checked and inside when it is connected to', async () => {
    const url = await receiver((_, __, response) => response.end('reached'))
    // The first answer is the one that counts; a second lookup would get the other.
    resolved.push([{ address: '10.0.0.1', family: 4 }], [{ address: '127.0.0.1', family: 4 }])
    const { port } = new URL(url)
    const { error } = await outcome(scheduler({ allowPrivate: false }), { url: `http://rebind.example:${port}/` })
    expect(error).toMatch(/rebind.example is an address of this machine/)
    expect(resolved.splice(0)).toHaveLength(1)
  })
})

describe('a signature', () => {
  it('S27 is refused when it is old, of another secret or no signature', () => {
    const now = Date.now()
    expect(verifySignature({ secret, header: signatureOf(secret, now, 'x'), body: 'x' })).toBe(true)
    expect(verifySignature({ secret, header: signatureOf(secret, now - 600_000, 'x'), body: 'x' })).toBe(false)
    expect(verifySignature({ secret: 'another', header: signatureOf(secret, now, 'x'), body: 'x' })).toBe(false)
    expect(verifySignature({ secret, header: null, body: 'x' })).toBe(false)
  })
})

describe('addresses inside', () => {
  it.each([
    '10.1.2.3',
    '127.0.0.1',
    '169.254.169.254',
    '192.168.0.1',
    '172.31.0.1',
    '::1',
    'fd00::1',
    'fe80::1',
    '::ffff:10.0.0.1',
    '::ffff:7f00:1',
    '::127.0.0.1',
    '::ffff:0:127.0.0.1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    'fec0::1',
    'ff02::1',
    'fe80::1%eth0',
    '192.0.2.1',
    'no address',
  ])('hold %s', (address) => expect(isInside(address)).toBe(true))
  it.each(['8.8.8.8', '172.32.0.1', '2606:4700::1111', '2a00:1450:4001::1'])('do not hold %s', (address) =>
    expect(isInside(address)).toBe(false),
  )
})
