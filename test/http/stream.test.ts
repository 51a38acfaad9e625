import type { Punctual } from 'punctual'
import { createHandler } from 'punctual/http'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { schedulerEnv } from '../../src/client/scheduler-env.ts'
import { Access } from '../../src/http/access/access.ts'
import { echo, newPunctual, silent } from './asker.ts'

let punctual: Punctual
beforeEach(() => {
  punctual = newPunctual()
})
afterEach(() => punctual.close())

async function listen(handle: (request: Request) => Promise<Response>, headers: Record<string, string> = {}) {
  const stop = new AbortController()
  const response = await handle(new Request('http://localhost/api/v1/events', { headers, signal: stop.signal }))
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  let text = ''
  return {
    response,
    stop: () => stop.abort(),
    async until(pattern: RegExp): Promise<string> {
      while (!pattern.test(text)) {
        const { value, done } = await reader.read()
        if (done) throw new Error(`the stream ended: ${text}`)
        text += new TextDecoder().decode(value)
      }
      return text
    },
  }
}

test('changes come with their job and occurrence, and a broken stream continues after the last message', async () => {
  const handle = createHandler(punctual, { open: true, log: silent })
  const first = await listen(handle)
  await first.until(/retry/)
  const { id } = await punctual.enqueue(echo, { text: 'a' })
  const text = await first.until(/event: change/)
  expect(text).toContain(id)
  expect(text).toContain('"name":"echo"')
  const { run, n } = idOf(text)
  await punctual.runDue()
  const second = await listen(handle, { 'last-event-id': `${run}-${n - 1}` })
  expect(await second.until(/event: change/)).toContain(id)
  const third = await listen(handle, { 'last-event-id': `${run}-999999` })
  await third.until(/event: lag/)
  for (const one of [first, second, third]) one.stop()
})

test('what other nodes have counted is named once, however many rows they have added for a minute', async () => {
  const { store } = schedulerEnv(punctual)
  await punctual.counts()
  const { now } = await store.nodes()
  const at = Math.floor(now / 60_000) * 60_000
  const row = (completed: number) => ({ tenant: 'default', job: 'elsewhere', at, widthMs: 60_000, figure: { completed } })
  await store.figures({ id: 'a', rows: [row(1)] })
  await store.figures({ id: 'b', rows: [row(1000)] })
  const stream = await listen(createHandler(punctual, { open: true, log: silent }))
  const changes = (count: number) => stream.until(new RegExp(`(event: change[^]*?){${count}}\\n\\n`))
  for (let n = 1; n <= 3; n++) {
    await punctual.enqueue(echo, { text: 'a' })
    expect(await changes(n)).not.toContain('elsewhere')
  }
  await store.figures({ id: 'c', rows: [row(2)] })
  expect(await changes(4)).toContain('"jobs":[{"tenant":"default","name":"elsewhere"}]')
  await punctual.enqueue(echo, { text: 'a' })
  expect((await changes(5)).match(/elsewhere/g)).toHaveLength(1)
  stream.stop()
})

/** The id of the last message: of the process that sent it, and its number. */
function idOf(text: string): { readonly run: string; readonly n: number } {
  const [, run = '', n = ''] = [...text.matchAll(/^id: ([\w-]+)-(\d+)$/gm)].at(-1) ?? []
  return { run, n: Number(n) }
}

test('an id of another process, or of a time when nobody listened, means: read everything again', async () => {
  const [one, other] = [
    createHandler(punctual, { open: true, log: silent }),
    createHandler(punctual, { open: true, log: silent }),
  ]
  const streams = [await listen(one), await listen(other)]
  await punctual.enqueue(echo, { text: 'a' })
  const [first = ''] = await Promise.all(streams.map((stream) => stream.until(/event: change/)))
  const { run, n } = idOf(first)
  const elsewhere = await listen(other, { 'last-event-id': `${run}-${n}` })
  await elsewhere.until(/event: lag/)
  streams[0]?.stop()
  await punctual.pause(echo)
  const later = await listen(one, { 'last-event-id': `${run}-${n}` })
  await later.until(/event: lag/)
  for (const stream of [...streams, elsewhere, later]) stream.stop()
})

test('S29: a token that is revoked ends its streams with the next message', async () => {
  const { tokens } = new Access(schedulerEnv(punctual), {}, { basePath: '', log: silent })
  const { token, secret } = await tokens.create({ name: 'ci', role: 'viewer', tenants: null, expiresInMs: null, createdBy: null })
  const handle = createHandler(punctual, { log: silent })
  const stream = await listen(handle, { authorization: `Bearer ${secret}` })
  await stream.until(/retry/)
  await tokens.revoke(token.id)
  await punctual.enqueue(echo, { text: 'a' })
  await expect(stream.until(/event: change/)).rejects.toThrow('the stream ended')
})

test('a listener of one tenant is not told of others', async () => {
  const handle = createHandler(punctual, { log: silent, authenticate: () => ({ name: 'a', role: 'viewer', tenants: ['acme'] }) })
  const stream = await listen(handle)
  await stream.until(/retry/)
  await punctual.enqueue(echo, { text: 'a' }, { tenant: 'globex', key: 'foreign' })
  const own = await punctual.enqueue(echo, { text: 'a' }, { tenant: 'acme' })
  const text = await stream.until(/event: change/)
  expect(text).toContain(own.id)
  expect(text).not.toContain('globex')
  stream.stop()
})

test('S14: a caller may have 50 streams', async () => {
  const handle = createHandler(punctual, { open: true, log: silent })
  const streams = []
  for (let n = 0; n < 50; n++) streams.push(await listen(handle))
  expect((await listen(handle)).response.status).toBe(429)
  for (const stream of streams) stream.stop()
  const again = await listen(handle)
  expect(again.response.status).toBe(200)
  again.stop()
})

test('HEAD of the stream opens none', async () => {
  const handle = createHandler(punctual, { open: true, log: silent })
  for (let n = 0; n < 60; n++) {
    const { status, body, headers } = await handle(new Request('http://localhost/api/v1/events', { method: 'HEAD' }))
    expect([status, body, headers.get('content-type')]).toEqual([200, null, 'text/event-stream'])
  }
  const stream = await listen(handle)
  await stream.until(/retry/)
  stream.stop()
})
