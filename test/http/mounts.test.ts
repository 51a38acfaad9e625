import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
// @ts-expect-error It carries no types.
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import type { Punctual } from 'punctual'
import { createHandler, toNodeHandler } from 'punctual/http'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { newPunctual, silent } from './asker.ts'

let punctual: Punctual
beforeEach(() => {
  punctual = newPunctual()
})
afterEach(() => punctual.close())

type Mount = (basePath: string) => Promise<{ url: string; close(): Promise<unknown> }>
const handlerAt = (basePath: string) => createHandler(punctual, { open: true, basePath, log: silent })

async function listening(server: Server): Promise<{ url: string; close(): Promise<unknown> }> {
  if (!server.listening) await new Promise((resolve) => server.once('listening', resolve))
  const close = () => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close }
}

const mounts: Record<string, Mount> = {
  'node:http': (basePath) => listening(createServer(toNodeHandler(handlerAt(basePath))).listen(0, '127.0.0.1')),
  'Express 5': (basePath) =>
    listening(
      express()
        .use(basePath, toNodeHandler(handlerAt(basePath)))
        .listen(0, '127.0.0.1') as Server,
    ),
  'Express 5 behind express.json()': (basePath) =>
    listening(
      express()
        .use(express.json(), express.urlencoded())
        .use(basePath, toNodeHandler(handlerAt(basePath)))
        .listen(0, '127.0.0.1') as Server,
    ),
  'Fastify 5': async (basePath) => {
    const app = fastify()
    app.register(async (scope) => {
      scope.removeAllContentTypeParsers()
      scope.addContentTypeParser('*', (_request, _payload, done) => done(null))
      const mount = async (request: { raw: never }, reply: { raw: never; hijack(): void }) => {
        reply.hijack()
        await toNodeHandler(handlerAt(basePath))(request.raw, reply.raw)
      }
      scope.all(basePath, mount as never)
      scope.all(`${basePath}/*`, mount as never)
    })
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    return { url, close: () => app.close() }
  },
  Hono: async (basePath) => {
    const handler = handlerAt(basePath)
    const app = new Hono().all(basePath, (c) => handler(c.req.raw)).all(`${basePath}/*`, (c) => handler(c.req.raw))
    return listening(serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1', overrideGlobalObjects: false }) as Server)
  },
}

describe.each(Object.entries(mounts))('mounted in %s', (_, mount) => {
  test.each(['/jobs', '/ops/jobs/'])('at %s it reads, writes, pages and streams', async (path) => {
    const basePath = path.replace(/\/$/, '')
    const { url, close } = await mount(basePath)
    try {
      expect((await fetch(`${url}${basePath}/healthz`)).status).toBe(200)
      expect((await fetch(`${url}${basePath}/api/v1/jobs/`)).status).toBe(200)
      const made = await fetch(`${url}${basePath}/api/v1/jobs/echo/occurrences`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ payload: { text: 'zażółć' } }),
      })
      expect(made.status).toBe(202)
      const place = made.headers.get('location') as string
      expect(place.startsWith(`${basePath}/api/v1/occurrences/`)).toBe(true)
      expect(await (await fetch(`${url}${place}`)).json()).toMatchObject({ payload: { text: 'zażółć' } })
      const slash = await fetch(`${url}${basePath}/api/v1/jobs/echo%2Fnorth`)
      expect(await slash.json()).toMatchObject({ code: 'job.unknown', details: { job: 'echo/north' } })
      const stop = new AbortController()
      const stream = await fetch(`${url}${basePath}/api/v1/events`, { signal: stop.signal })
      expect(stream.headers.get('content-type')).toBe('text/event-stream')
      const reader = (stream.body as ReadableStream<Uint8Array>).getReader()
      expect(new TextDecoder().decode((await reader.read()).value)).toContain('retry:')
      stop.abort()
      const page = await fetch(`${url}${basePath}`)
      expect([200, 501]).toContain(page.status)
    } finally {
      await close()
    }
  })
})
