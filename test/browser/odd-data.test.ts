// Data that a page is seldom drawn with: long names, many attempts, a large payload, a graph of many tasks, other scripts.
import type { Browser } from 'playwright-core'
import { createPunctual, cron, defineJob, interval } from 'punctual'
import { memory } from 'punctual/memory'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { startBrowser } from '../support/browser.ts'
import { patiently } from '../support/patiently.ts'
import { type Shop, serveShop } from './shop.ts'
import { visit } from './visit.ts'

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
const long = 'name-of-a-job-'.repeat(8).slice(0, 100)
const unbroken = defineJob(
  long,
  { schedule: cron('*/5 * * * *', { timezone: 'America/Argentina/ComodRivadavia' }), retry: { max: 0 } },
  () => {
    throw new Error('x'.repeat(500))
  },
)
const arabic = defineJob('تقرير-يومي', { schedule: interval('PT1S') }, () => {})
const many = defineJob('many', { retry: { max: 60, interval: '1ms', factor: 1 } }).task('try', ({ attempt }) => {
  throw new Error(`no luck ${attempt}`)
})
const echo = defineJob<unknown>('echo', ({ payload }) => payload)
const graph = defineJob('graph', { mode: 'graph', retry: { max: 0 } })
  .task('first-of-all-tasks', () => 1)
  .task('left', { after: ['first-of-all-tasks'] }, () => 1)
  .task('right', { after: ['first-of-all-tasks'] }, () => 1)
  .task('third', { after: ['left', 'right'] }, () => 1)
  .task('fourth', { after: ['third'] }, () => 1)
  .task('fifth', { after: ['fourth'] }, () => 1)
  .task('a-task-with-a-long-name-at-the-end', { after: ['fifth'] }, () => 1)

let browser: Browser
let shop: Shop
const ids: string[] = []
const [failed, tries, large, tasks] = [0, 1, 2, 3]
beforeAll(async () => {
  browser = await startBrowser()
  const punctual = createPunctual({
    store: memory(),
    jobs: [unbroken, arabic, many, echo, graph],
    log: silent,
    name: 'node-'.repeat(20),
  })
  await punctual.start()
  const payload = { note: 'z'.repeat(5000), list: Array.from({ length: 2000 }, (_, n) => ({ n, deep: { deeper: [n] } })) }
  ids.push((await punctual.trigger(unbroken)).id)
  ids.push((await punctual.enqueue(many, undefined, { key: 'k'.repeat(180) })).id)
  ids.push((await punctual.enqueue(echo, payload)).id)
  ids.push((await punctual.enqueue(graph, undefined, { entity: 'e'.repeat(90) })).id)
  for (const id of ids) await vi.waitFor(async () => expect((await punctual.get(id))?.endedAt).toBeTruthy(), patiently)
  shop = await serveShop(punctual, { open: true, label: 'production-eu-north-1-blue' })
}, 60_000)
afterAll(async () => {
  await browser?.close()
  await shop?.[Symbol.asyncDispose]()
})

test.each([1440, 1024, 720, 390])('no page scrolls sideways at %i px', async (width) => {
  await using opened = await visit(browser, shop.url, { width })
  const { page } = opened
  const job = `jobs/default/${encodeURIComponent(long)}`
  for (const path of [
    '',
    'jobs',
    job,
    'occurrences',
    'dead-letters',
    'nodes',
    'audit',
    ...ids.map((id) => `occurrences/${id}`),
  ]) {
    await page.goto(`${shop.url}${path}`)
    await page.locator('main .card').first().waitFor()
    await page.waitForLoadState('networkidle').catch(() => {})
    expect(
      await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth'),
      path,
    ).toBeLessThanOrEqual(0)
  }
})

test('of many attempts the newest are shown, each with its node and stack', async () => {
  await using opened = await visit(browser, `${shop.url}occurrences/${ids[tries]}`)
  const { page } = opened
  const attempts = page.getByRole('region', { name: 'Attempts' })
  await attempts.getByText('61 failed').waitFor()
  expect(await attempts.locator('details').count()).toBe(20)
  await attempts.getByRole('button', { name: 'Show 41 older attempts' }).click()
  expect(await attempts.locator('details').count()).toBe(61)
  const second = attempts.locator('details').nth(1)
  await second.locator('summary').click()
  await second.getByText('odd-data.test.ts').waitFor()
  expect(await second.textContent()).toContain('node-node-')
  await page.getByText('(turns 1 to 61)').waitFor()
})

test('a large payload folds', async () => {
  await using opened = await visit(browser, `${shop.url}occurrences/${ids[large]}`)
  const payload = opened.page.getByRole('region', { name: 'Payload' }).last()
  await payload.getByText('4,602 more characters').waitFor()
  await payload.getByText('2000 items ]').click()
  await payload.getByText('1500 more: copy it to see them').waitFor()
})

test('a graph of many ranks runs down', async () => {
  await using opened = await visit(browser, `${shop.url}occurrences/${ids[tasks]}`, { width: 390 })
  await opened.page.locator('.graph svg.down').waitFor()
  expect(await opened.page.getByText('7 in a graph').count()).toBe(1)
})

test('a job that fails without dead letters is named, with its newest error', async () => {
  await using opened = await visit(browser, shop.url)
  const { page } = opened
  const attention = page.getByRole('region', { name: 'Needs attention' })
  await attention.getByText(/^x{40}/).waitFor()
  await attention.getByText('Last 24 hours').waitFor()
  await attention.getByRole('listitem').filter({ hasText: long }).getByRole('link', { name: 'Look' }).click()
  await page.waitForURL(`**/occurrences/*`)
  expect(ids[failed]).toBeTruthy()
})
