import type { Browser } from 'playwright-core'
import { createPunctual, defineJob } from 'punctual'
import { memory } from 'punctual/memory'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBrowser } from '../support/browser.ts'
import { serveShop } from './shop.ts'
import { visit } from './visit.ts'

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
let browser: Browser
beforeAll(async () => {
  browser = await startBrowser()
})
afterAll(() => browser?.close())

test('a filter is kept under a name in the browser, opened again and forgotten', async () => {
  const mail = defineJob('mail').task('send', () => {})
  const punctual = createPunctual({ store: memory(), jobs: [mail], log: silent })
  await punctual.start()
  await using shop = await serveShop(punctual, { open: true })
  await using opened = await visit(browser, `${shop.url}occurrences?job=mail&state=dead`)
  const { page } = opened
  await page.getByRole('button', { name: 'Save view' }).click()
  await page.getByLabel('Name').fill('Dead mails')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  const views = page.getByRole('navigation', { name: 'Saved views' })
  await views.getByRole('link', { name: 'Dead mails' }).and(page.locator('[aria-current]')).waitFor()
  expect(await page.getByRole('button', { name: 'Save view' }).count()).toBe(0)
  await page.goto(`${shop.url}occurrences`)
  await views.getByRole('link', { name: 'Dead mails' }).click()
  await page.waitForURL(/job=mail&state=dead/)
  await page.getByRole('button', { name: 'Forget the view Dead mails' }).click()
  await views.waitFor({ state: 'detached' })
  await page.reload()
  await page.getByRole('button', { name: 'Save view' }).waitFor()
  expect(await views.count()).toBe(0)
})
