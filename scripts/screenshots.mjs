/**
 * `npm run screenshots`: every page of the dashboard, light and dark, 1440 and 390 px wide, into `screenshots/`, or the folder that is
 * named. The server is the demo's, on a store with its past.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { build } from './build.mjs'

const folder = process.argv[2] ?? 'screenshots'
const { ok, output } = build()
if (!ok) {
  console.error(output)
  process.exit(1)
}
const { startBrowser } = await import('../test/support/browser.ts')
const { openShop } = await import('../test/browser/shop.ts')
const { setup } = await import('../examples/demo/jobs.ts')

mkdirSync(folder, { recursive: true })
const shop = await openShop()
await setup(shop.punctual)
const browser = await startBrowser()
const { items } = await shop.punctual.list({ job: 'payment-timeout', state: 'dead', limit: 1 })
const [dead] = items
const pages = {
  overview: '',
  jobs: 'jobs',
  job: 'jobs/default/nightly-report',
  occurrences: 'occurrences',
  occurrence: `occurrences/${dead?.id}`,
  'dead-letters': 'dead-letters',
  calendar: 'calendar',
  nodes: 'nodes',
  operations: 'operations',
  gate: 'gate',
  timers: 'timers',
  audit: 'audit',
  settings: 'settings',
}
for (const width of [1440, 390])
  for (const theme of ['light', 'dark']) {
    const context = await browser.newContext({
      viewport: { width, height: 900 },
      colorScheme: theme,
      timezoneId: 'Europe/Warsaw',
      reducedMotion: 'reduce',
    })
    const page = await context.newPage()
    for (const [name, path] of Object.entries(pages)) {
      await page.setViewportSize({ width, height: 900 })
      await page.goto(`${shop.url}${path}`)
      await page.waitForLoadState('networkidle', { timeout: 3000 }).catch(() => {})
      // The charts are drawn once their library is there.
      await page.waitForTimeout(700)
      // The sidebar is as high as the window: give the window the height of the page.
      await page.setViewportSize({ width, height: Math.max(900, await page.evaluate('document.documentElement.scrollHeight')) })
      await page.screenshot({ path: join(folder, `${name}-${width}-${theme}.png`), fullPage: true })
    }
    await context.close()
  }
await browser.close()
await shop[Symbol.asyncDispose]()
process.exit(0)
