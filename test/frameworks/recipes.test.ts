import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { memory } from '../../src/store/memory/index.ts'
import { serve } from './express.ts'
import * as fastify from './fastify.ts'
import * as hono from './hono.ts'
import { createJobs } from './jobs.ts'

const created = { id: expect.any(String), outcome: 'created' }
const existing = { id: expect.any(String), outcome: 'existing' }

test('Express: a route enqueues, the dashboard is mounted, and stop ends both', async () => {
  const punctual = createJobs(memory())
  const { server, stop } = await serve(punctual, 0)
  if (!server.listening) await new Promise((listening) => server.once('listening', listening))
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const post = async () => (await fetch(`${base}/orders/42`, { method: 'POST', headers: { connection: 'close' } })).json()
  expect(await post()).toEqual(created)
  expect(await post()).toEqual(existing)
  expect((await fetch(`${base}/jobs/healthz`, { headers: { connection: 'close' } })).status).toBe(200)
  await stop()
  await expect(punctual.list()).rejects.toMatchObject({ code: 'punctual.closed' })
})

test('Fastify: the scheduler starts and stops with the app', async () => {
  const punctual = createJobs(memory())
  const app = fastify.createApp(punctual)
  const post = async () => (await app.inject({ method: 'POST', url: '/orders/42' })).json()
  expect(await post()).toEqual(created)
  expect(await post()).toEqual(existing)
  expect(punctual.health.state).toBe('ok')
  await app.close()
  await expect(punctual.list()).rejects.toMatchObject({ code: 'punctual.closed' })
})

test('Hono: a route enqueues, and the dashboard is mounted', async () => {
  const punctual = createJobs(memory())
  await punctual.start()
  const app = hono.createApp(punctual)
  expect(await (await app.request('/orders/42', { method: 'POST' })).json()).toEqual(created)
  expect((await app.request('/jobs/healthz')).status).toBe(200)
  await punctual.close()
})

test.each([
  ...['jobs.ts', 'express.ts', 'fastify.ts', 'hono.ts', 'nest.ts'],
  ...['next/next.config.mjs', 'next/app/punctual.ts', 'next/app/orders/[id]/route.ts'],
])('the guide shows the recipe that is tested here: %s', (file) => {
  expect(readFileSync('docs/guides/frameworks.md', 'utf8')).toContain(readFileSync(`test/frameworks/${file}`, 'utf8'))
})
