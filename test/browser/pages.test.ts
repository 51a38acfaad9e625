import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startBrowser } from '../support/browser.ts'
import { openShop, type Shop, seedMs } from './shop.ts'
import { violations } from './violations.ts'
import { visit } from './visit.ts'

let browser: Browser
let shop: Shop
let dead = ''

beforeAll(async () => {
  browser = await startBrowser()
  shop = await openShop()
  const { items } = await shop.punctual.list({ job: 'payment-timeout', state: 'dead', limit: 1 })
  dead = items[0]?.id ?? ''
}, seedMs)
afterAll(async () => {
  await browser?.close()
  await shop?.[Symbol.asyncDispose]()
})

const pages: readonly (readonly [string, () => string, RegExp])[] = [
  ['Overview', () => '', /is failing: connect ECONNREFUSED/],
  ['Jobs', () => 'jobs', /subscription\.renewal_tick/],
  ['Job', () => 'jobs/default/nightly-report', /code says/],
  ['Occurrences', () => 'occurrences', /payment-timeout/],
  ['Occurrence', () => `occurrences/${dead}`, /capture failed 4 times/],
  ['Dead letters', () => 'dead-letters', /customer\.vatId is required/],
  ['Calendar', () => 'calendar', /is your busiest hour/],
  ['Nodes', () => 'nodes', /1 node runs/],
  ['Operations', () => 'operations', /currency-rate-sync/],
  ['Gate', () => 'gate', /charge/],
  ['Timers', () => 'timers', /No timer service runs/],
  ['Audit', () => 'audit', /“paid”/],
  ['Settings', () => 'settings', /This browser/],
]

describe.each([
  [1440, 'light'],
  [390, 'dark'],
] as const)('at %i px, %s', (width, theme) => {
  test.each(pages)('%s shows its data, passes axe and does not scroll sideways', async (_, path, text) => {
    await using opened = await visit(browser, `${shop.url}${path()}`, { width, theme })
    const { page } = opened
    await page.getByText(text).first().waitFor()
    await page.waitForLoadState('networkidle').catch(() => {})
    expect(await sidewaysPx(page)).toBe(0)
    expect(await violations(page)).toEqual([])
  })
})

test('what the address says is kept: zoom, filters, state and page', async () => {
  await using opened = await visit(browser, `${shop.url}?zoom=7d`)
  const { page } = opened
  await page.getByRole('button', { name: '7 d' }).and(page.locator('[aria-pressed=true]')).waitFor()
  await page.getByRole('button', { name: '15 m' }).click()
  expect(page.url()).toContain('zoom=15m')
  await page.goto(`${shop.url}occurrences?state=completed&job=invoice`)
  await page.getByText('job:').waitFor()
  await page.locator('tbody tr').nth(5).waitFor()
  for (const job of await page.locator('tbody tr .strong').allTextContents()) expect(job).toBe('invoice')
})

test('lists page by key, forth and back', async () => {
  await using opened = await visit(browser, `${shop.url}occurrences?state=completed`)
  const { page } = opened
  const first = await page.locator('tbody tr a').first().getAttribute('href')
  await page.getByRole('button', { name: 'Older' }).click()
  await page.waitForURL(/cursor=/)
  await expect.poll(() => page.locator('tbody tr a').first().getAttribute('href')).not.toBe(first)
  await page.getByRole('button', { name: 'Newer' }).click()
  await expect.poll(() => page.locator('tbody tr a').first().getAttribute('href')).toBe(first)
})

test('keys: j and k move, Enter opens, g and a letter go, ? shows them, Ctrl K finds', async () => {
  await using opened = await visit(browser, `${shop.url}jobs`)
  const { page } = opened
  await page.locator('tbody tr').first().waitFor()
  await page.keyboard.press('j')
  await page.keyboard.press('j')
  await page.keyboard.press('k')
  expect(await page.locator('tr.cur .strong').textContent()).toBe(await page.locator('tbody tr .strong').first().textContent())
  await page.keyboard.press('Enter')
  await page.waitForURL(/jobs\/default\//)
  await page.keyboard.press('g')
  await page.keyboard.press('d')
  await page.waitForURL(/dead-letters/)
  await page.keyboard.press('?')
  await page.getByRole('heading', { name: 'Keys' }).waitFor()
  await page.keyboard.press('Escape')
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Search or jump to' }).fill('nightly')
  await page.getByRole('option', { name: /^nightly-report/ }).waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL(/jobs\/default\/nightly-report/)
})

test('what is typed while the palette loads goes to it, and does not act on the page', async () => {
  await using opened = await visit(browser, `${shop.url}jobs/default/ledger-close`)
  const { page } = opened
  const loading = Promise.withResolvers<void>()
  await page.route(/palette/, async (route) => {
    await loading.promise
    await route.continue()
  })
  const schedule = page.getByLabel('Cron, ISO 8601 or RRULE')
  await schedule.waitFor()
  const before = await schedule.inputValue()
  await page.keyboard.press('Control+k')
  await page.keyboard.type('ert')
  loading.resolve()
  const field = page.getByRole('combobox', { name: 'Search or jump to' })
  await expect.poll(() => field.inputValue()).toBe('ert')
  expect(await schedule.inputValue()).toBe(before)
  expect(await page.locator('dialog[open]').count()).toBe(1)
})

test('Enter in the palette opens what was typed, also before it was found', async () => {
  await using opened = await visit(browser, shop.url)
  const { page } = opened
  await page.keyboard.press('Control+k')
  const field = page.getByRole('combobox', { name: 'Search or jump to' })
  await page.getByRole('option', { name: /currency-rate-sync/ }).waitFor()
  const answering = Promise.withResolvers<void>()
  await page.route(/\/jobs\?search=night/, async (route) => {
    await answering.promise
    await route.continue()
  })
  await field.fill('night')
  await page.keyboard.press('Enter')
  expect(await field.inputValue()).toBe('night')
  answering.resolve()
  await page.waitForURL(/jobs\/default\/nightly-report/)
})

test('the palette acts on the job that it finds', async () => {
  await using opened = await visit(browser, shop.url)
  const { page } = opened
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Search or jump to' }).fill('ledger')
  await page.getByRole('option', { name: /Trigger ledger-close/ }).click()
  await page.getByRole('heading', { name: 'Run ledger-close now?' }).waitFor()
  expect(page.url()).not.toContain('do=')
})

test('the zone switch redraws times: UTC, mine, the job’s', async () => {
  await using opened = await visit(browser, `${shop.url}jobs`)
  const { page } = opened
  const next = page
    .getByRole('row', { name: /ledger-close/ })
    .locator('time')
    .first()
  await next.waitFor()
  const inWarsaw = await next.textContent()
  await page.getByRole('button', { name: 'UTC', exact: true }).click()
  await expect.poll(() => next.textContent()).not.toBe(inWarsaw)
  await page.getByRole('button', { name: 'Job’s zone' }).click()
  await expect.poll(() => next.textContent()).toBe(inWarsaw)
})

test('changes arrive by themselves', async () => {
  await using opened = await visit(browser, `${shop.url}occurrences?job=digest-mail`)
  const { page } = opened
  await page.locator('tbody tr').first().waitFor()
  await shop.punctual.enqueue('digest-mail', { customer: 'tyrell' }, { key: 'live-arrival' })
  await page.getByText('live-arrival').waitFor({ timeout: 15_000 })
})

test('lines do not move under the pointer: new ones wait behind a button', async () => {
  await using opened = await visit(browser, `${shop.url}occurrences?job=digest-mail`)
  const { page } = opened
  const first = page.locator('tbody tr').first()
  await first.hover()
  const before = await first.locator('a').getAttribute('href')
  await shop.punctual.enqueue('digest-mail', { customer: 'tyrell' }, { key: 'under-pointer' })
  await page.getByRole('button', { name: '1 new' }).waitFor({ timeout: 15_000 })
  expect(await first.locator('a').getAttribute('href')).toBe(before)
  await page.getByRole('button', { name: '1 new' }).click()
  await page.getByText('under-pointer').waitFor()
  // Another page is another list, wherever the pointer is.
  await page.getByRole('link', { name: /^Canceled/ }).hover()
  await page.getByRole('link', { name: /^Canceled/ }).click()
  await page.getByText('Nothing matches.').waitFor()
})

test('a page that is held still reads nothing, and everything when it goes on', async () => {
  await using opened = await visit(browser, `${shop.url}occurrences?job=digest-mail`)
  const { page } = opened
  await page.getByRole('button', { name: 'Live' }).click()
  await page.getByRole('button', { name: /Held at/ }).waitFor()
  const reads: string[] = []
  page.on('request', (request) => reads.push(request.url()))
  await shop.punctual.enqueue('digest-mail', { customer: 'tyrell' }, { key: 'while-held' })
  await using other = await visit(browser, `${shop.url}occurrences?job=digest-mail`)
  await other.page.getByText('while-held').waitFor({ timeout: 15_000 })
  expect(reads).toEqual([])
  await page.keyboard.press('h')
  await page.getByText('while-held').waitFor({ timeout: 15_000 })
})

test('tabs share one stream, and another takes it over when its tab closes', async () => {
  await using opened = await visit(browser, `${shop.url}occurrences?job=digest-mail`)
  await opened.page.getByText('Live', { exact: true }).waitFor()
  const second = await opened.context.newPage()
  const streams: string[] = []
  second.on('request', (request) => request.url().endsWith('/events') && streams.push(request.url()))
  await second.goto(`${shop.url}occurrences?job=digest-mail`)
  await second.locator('tbody tr').first().waitFor()
  await shop.punctual.enqueue('digest-mail', { customer: 'tyrell' }, { key: 'for-both' })
  await second.getByText('for-both').waitFor({ timeout: 15_000 })
  expect(streams).toHaveLength(0)
  const takenOver = second.waitForRequest(/\/events$/)
  await opened.page.close()
  await takenOver
})

test('data that cannot be refreshed stays, dimmed, with its age', async () => {
  await using gone = await openShop()
  await using opened = await visit(browser, gone.url, { isClockSet: true })
  const { page, faults } = opened
  await page
    .getByText(/is failing/)
    .first()
    .waitFor()
  await gone[Symbol.asyncDispose]()
  await page.clock.fastForward(11_000)
  await page.getByText(/Last update \d+ s ago/).waitFor({ timeout: 30_000 })
  expect(await page.locator('.app.stale').count()).toBe(1)
  expect(await page.getByText(/is failing/).count()).toBeGreaterThan(0)
  faults.length = 0
})

test('data is dimmed, with the reason, while the server answers and its store does not', async () => {
  await using opened = await visit(browser, shop.url, { isClockSet: true })
  const { page, faults } = opened
  await page
    .getByText(/is failing/)
    .first()
    .waitFor()
  await page.getByText('Live', { exact: true }).waitFor()
  const problem = {
    status: 503,
    json: { title: 'Store not available', detail: 'The store does not answer.', code: 'store.unreachable' },
  }
  await page.route(/\/api\/v1\/(?!events)/, (route) => route.fulfill(problem))
  await page.clock.fastForward(61_000)
  await page.getByText(/Last update \d+ [sm].* ago: The store does not answer\. What you see/).waitFor()
  expect(await page.locator('.app.stale').count()).toBe(1)
  await page.unroute(/\/api\/v1\/(?!events)/)
  await page.getByRole('button', { name: 'Try now' }).click()
  await expect.poll(() => page.locator('.app.stale').count()).toBe(0)
  faults.length = 0
})

test('a read that takes too long is given up, with advice', async () => {
  await using opened = await visit(browser, `${shop.url}jobs`, { isClockSet: true })
  const { page } = opened
  await page.route('**/api/v1/audit?**', () => new Promise(() => {}))
  await page.getByRole('link', { name: 'Audit' }).click()
  await page.getByRole('heading', { name: 'Audit' }).waitFor()
  await page.clock.fastForward(21_000)
  await page.getByText(/took longer than 20 s for this. Choose a job/).waitFor()
})

/** How far the page could be scrolled to the side. */
function sidewaysPx(page: Page): Promise<number> {
  return page.evaluate('Math.max(0, document.documentElement.scrollWidth - document.documentElement.clientWidth)')
}
