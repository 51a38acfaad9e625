/**
 * The dashboard on a large store: 10,000 jobs and 1,000,000 occurrences. For each page the slowest read of data, and the longest task of
 * the browser while it scrolls and types. `node bench/dashboard/run.ts [occurrences] [jobs] [file]`; a file that exists is used again.
 */
import { existsSync, mkdtempSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import type { Page } from 'playwright-core'
import { createHandler, toNodeHandler } from '../../src/http/index.ts'
import { createPunctual, defineJob } from '../../src/index.ts'
import { sqlite } from '../../src/store/sqlite/index.ts'
import { startBrowser } from '../../test/support/browser.ts'
import { fill, jobName } from './fill.ts'

const occurrences = Number(process.argv[2] ?? 1_000_000)
const jobs = Number(process.argv[3] ?? 10_000)
const file = process.argv[4] ?? join(mkdtempSync(join(tmpdir(), 'punctual-dashboard-')), 'large.db')
const mostDataMs = 1000
const mostTaskMs = 100

if (!existsSync(file)) {
  const since = performance.now()
  await fill(sqlite(file), { jobs, occurrences, days: 30 })
  console.error(`Filled ${file} in ${Math.round((performance.now() - since) / 1000)} s`)
}
const punctual = createPunctual({ store: sqlite(file), jobs: [defineJob('report', {}).task('run', () => {})] })
await punctual.counts()
const server = createServer(toNodeHandler(createHandler(punctual, { open: true })))
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
const browser = await startBrowser()
const [dead] = (await punctual.list({ state: 'dead', limit: 1 })).items
const job = `jobs/${dead?.tenant}/${dead?.job}`
const pages = ['', 'jobs', 'jobs?search=999', 'jobs?mark=failing', job, 'occurrences', 'occurrences?state=dead']
pages.push(
  `occurrences?job=${jobName(4321)}`,
  'occurrences?entity=customer-42',
  `occurrences/${dead?.id}`,
  'dead-letters',
  'calendar',
)
pages.push('nodes', 'operations', 'gate', 'timers', 'audit', 'settings', '?zoom=30d')

let missed = 0
const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
const page = await context.newPage()
await page.addInitScript(
  "window.longest = 0; new PerformanceObserver((list) => { for (const { duration } of list.getEntries()) window.longest = Math.max(window.longest, duration) }).observe({ type: 'longtask', buffered: true })",
)
for (const path of pages) {
  await page.goto(url + path)
  await page.waitForLoadState('networkidle', { timeout: 20_000 }).catch(() => {})
  const [slowest, ms] = await slowestRead(page)
  await page.evaluate('window.longest = 0')
  await use(page)
  const task = Math.round((await page.evaluate('window.longest')) as number)
  const isMissed = ms > mostDataMs || task > mostTaskMs
  if (isMissed) missed += 1
  console.log(
    `${isMissed ? 'MISS' : 'ok  '} /${path.padEnd(38)} data ${String(ms).padStart(5)} ms (${slowest}), longest task ${task} ms`,
  )
}
await browser.close()
server.close()
server.closeAllConnections()
await punctual.close()
process.exit(missed > 0 ? 1 : 0)

/** The slowest answer of the server, the stream left out. */
async function slowestRead(of: Page): Promise<readonly [string, number]> {
  const reads = (await of.evaluate(
    "performance.getEntriesByType('resource').filter(({ name }) => name.includes('/api/') && !name.includes('/events')).map(({ name, duration }) => [name, duration])",
  )) as [string, number][]
  const [name, ms] = reads.toSorted((a, b) => b[1] - a[1])[0] ?? ['none', 0]
  return [new URL(name, url).pathname.replace('/api/v1/', ''), Math.round(ms)]
}

/** Scrolls to the end and back, and types into the field of the page, if it has one. */
async function use(of: Page): Promise<void> {
  for (let step = 0; step < 12; step++) await of.mouse.wheel(0, step < 6 ? 600 : -600)
  await of.waitForTimeout(300)
  const field = of.locator('main input[type=search], main input.bare, main input.in').first()
  if (await field.isVisible().catch(() => false)) await field.pressSequentially('report-0', { delay: 30 })
  await of.keyboard.press('Control+k')
  await of.keyboard.type('report-04', { delay: 30 })
  await of.waitForTimeout(500)
  await of.keyboard.press('Escape')
}
