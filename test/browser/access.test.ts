import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
// @ts-expect-error It carries no types.
import express from 'express'
import type { Browser } from 'playwright-core'
import { createPunctual, cron, defineJob } from 'punctual'
import { createHandler, toNodeHandler } from 'punctual/http'
import { memory } from 'punctual/memory'
import { postgres } from 'punctual/postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startBrowser } from '../support/browser.ts'
import { freshSchemaName, sharedPostgresUrl } from '../support/postgres-database.ts'
import { serveShop } from './shop.ts'
import { visit } from './visit.ts'

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
const nightly = defineJob('nightly', { schedule: cron('0 3 * * *') }).task('run', () => 'done')
const broken = defineJob('broken', { retry: { max: 0 } }).task('fall', () => {
  throw new Error('it fell')
})

let browser: Browser
beforeAll(async () => {
  browser = await startBrowser()
})
afterAll(() => browser?.close())

function newPunctual() {
  return createPunctual({ store: memory(), jobs: [nightly, broken], log: silent })
}

describe.each([
  ['viewer', { trigger: 0, save: 0, pauseAll: 0, tokens: 0, retry: 0 }],
  ['operator', { trigger: 1, save: 0, pauseAll: 0, tokens: 0, retry: 1 }],
  ['admin', { trigger: 1, save: 1, pauseAll: 1, tokens: 1, retry: 1 }],
] as const)('a %s', (role, sees) => {
  test('TM-14: finds the actions of its role, and no others', async () => {
    const punctual = newPunctual()
    await punctual.start()
    const { id } = await punctual.enqueue(broken)
    await expect.poll(async () => (await punctual.get(id))?.state).toBe('dead')
    const authenticate = () => ({ name: 'ada', role })
    await using shop = await serveShop(punctual, { authenticate })
    await using opened = await visit(browser, `${shop.url}jobs/default/nightly`)
    const { page } = opened
    await page.getByText('Next 10').waitFor()
    expect(await page.getByRole('button', { name: 'Trigger…' }).count()).toBe(sees.trigger)
    expect(await page.getByRole('button', { name: /Save as version/ }).count()).toBe(sees.save)
    await page.goto(`${shop.url}occurrences/${id}`)
    await page.getByText('Nothing more happens until you retry or discard it').waitFor()
    expect(await page.getByRole('button', { name: 'Retry…' }).count()).toBe(sees.retry)
    await page.goto(`${shop.url}settings`)
    await page.getByText('This browser').waitFor()
    expect(await page.getByRole('button', { name: 'New token…' }).count()).toBe(sees.tokens)
    await page.goto(shop.url)
    await page.getByText('Needs attention').waitFor()
    expect(await page.getByRole('button', { name: 'Pause all…' }).count()).toBe(sees.pauseAll)
  })
})

test('a stranger gets a login, and a token lets in', async () => {
  const punctual = newPunctual()
  await punctual.start()
  await using open = await serveShop(punctual, { open: true })
  const created = await fetch(`${open.url}api/v1/tokens`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ name: 'ada', role: 'operator' }),
  })
  const { secret } = (await created.json()) as { secret: string }
  await using closed = await serveShop(punctual, {})
  await using opened = await visit(browser, closed.url, { token: secret })
  await opened.page.getByText('ada').first().waitFor()
})

test('a read-only server shows no action to anyone', async () => {
  const punctual = newPunctual()
  await punctual.start()
  await using shop = await serveShop(punctual, { open: true, readOnly: true })
  await using opened = await visit(browser, `${shop.url}jobs/default/nightly`)
  await opened.page.getByText('This server is read-only').waitFor()
  expect(await opened.page.getByRole('button', { name: 'Trigger…' }).count()).toBe(0)
})

test('works behind Express under a base path, also with its own parser of bodies', async () => {
  const punctual = newPunctual()
  await punctual.start()
  const app = express()
  app.use(express.json())
  app.use('/ops/jobs', toNodeHandler(createHandler(punctual, { open: true, basePath: '/ops/jobs', log: silent })))
  const server = createServer(app)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  try {
    await using opened = await visit(browser, `http://127.0.0.1:${port}/ops/jobs`)
    const { page } = opened
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Jobs' }).click()
    await page.getByRole('link', { name: 'nightly', exact: true }).first().click()
    await page.waitForURL(/\/ops\/jobs\/jobs\/default\/nightly$/)
    await page.reload()
    await page.getByRole('button', { name: 'Trigger…' }).click()
    await page.locator('dialog .foot button[type=submit]').click()
    await page.getByText('nightly is triggered').waitFor()
  } finally {
    server.closeAllConnections()
    server.close()
    await punctual.close()
  }
})

test('an empty store teaches the first steps', async () => {
  const punctual = createPunctual({ store: memory(), log: silent })
  await punctual.start()
  await using shop = await serveShop(punctual, { open: true })
  await using opened = await visit(browser, shop.url)
  await opened.page.getByText('Nothing is scheduled yet.').waitFor()
})

test('shows a store on PostgreSQL just as well', async () => {
  const store = postgres(await sharedPostgresUrl(), { schema: freshSchemaName() })
  const punctual = createPunctual({ store, jobs: [nightly, broken], log: silent })
  await punctual.start()
  const { id } = await punctual.enqueue(broken, undefined, { key: 'order-42' })
  await expect.poll(async () => (await punctual.get(id))?.state, { timeout: 20_000 }).toBe('dead')
  await using shop = await serveShop(punctual, { open: true })
  await using opened = await visit(browser, shop.url)
  const { page } = opened
  await page.getByText('broken is failing').waitFor()
  for (const [path, text] of [
    ['jobs', 'nightly'],
    ['jobs/default/nightly', 'Next 10'],
    ['occurrences', 'order-42'],
    [`occurrences/${id}`, 'it fell'],
    ['dead-letters', '1 dead letter'],
    ['calendar', 'area = runs'],
    ['nodes', '1 node runs'],
  ] as const) {
    await page.goto(`${shop.url}${path}`)
    await page.getByText(text).first().waitFor()
  }
})
