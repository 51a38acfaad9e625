import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, Page } from 'playwright-core'
import { createHandler, toNodeHandler } from '../../src/http/index.ts'
import { createPunctual } from '../../src/index.ts'
import type { Store } from '../../src/store/store.ts'
import { report } from '../http/model.ts'
import { jobName } from '../http/past.ts'

/** The times of one page of the dashboard. */
export interface PageTime {
  readonly path: string
  /** Its slowest read of data, as the browser saw it. */
  readonly slowest: string
  readonly dataMs: number
  /** The longest task while it was scrolled and typed into; null for none of 50 ms or more. */
  readonly taskMs: number | null
}

/** Browsers report tasks from here on. */
export const reportedMs = 50
const watchTasks =
  "window.longest = 0; new PerformanceObserver((list) => { for (const { duration } of list.getEntries()) window.longest = Math.max(window.longest, duration) }).observe({ type: 'longtask', buffered: true })"
const readTimes =
  "performance.getEntriesByType('resource').filter(({ name }) => name.includes('/api/') && !name.includes('/events')).map(({ name, duration }) => [name, duration])"

/** Visits each page of the dashboard on a filled store. */
export async function measure(store: Store, browser: Browser): Promise<readonly PageTime[]> {
  const punctual = createPunctual({ store, jobs: [report] })
  await punctual.counts()
  const server = createServer(toNodeHandler(createHandler(punctual, { open: true })))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
  const page = await context.newPage()
  await page.addInitScript(watchTasks)
  await checkWatch(page, url)
  const [dead] = (await punctual.list({ state: 'dead', limit: 1 })).items
  const times: PageTime[] = []
  for (const path of pathsOf(dead)) times.push(await visit(page, url, path))
  await context.close()
  server.close()
  server.closeAllConnections()
  await punctual.close()
  return times
}

function pathsOf(dead: { readonly id: string; readonly tenant: string; readonly job: string } | undefined): readonly string[] {
  return [
    ...['', '?zoom=30d', 'jobs', 'jobs?search=999', 'jobs?mark=failing', `jobs/${dead?.tenant}/${dead?.job}`],
    ...['occurrences', 'occurrences?state=dead', `occurrences?job=${jobName(4321)}`, 'occurrences?entity=customer-42'],
    ...[`occurrences/${dead?.id}`, 'dead-letters', 'calendar', 'nodes', 'operations', 'gate', 'timers', 'audit', 'settings'],
  ]
}

/** A figure of none is worth something only where a long task would have been seen. */
async function checkWatch(page: Page, url: string): Promise<void> {
  await page.goto(url)
  await page.evaluate(
    'new Promise((resolve) => setTimeout(() => { const end = performance.now() + 120; while (performance.now() < end); setTimeout(resolve, 200) }))',
  )
  if (((await page.evaluate('window.longest')) as number) < 100) throw new Error('The browser did not report a task of 120 ms')
}

async function visit(page: Page, url: string, path: string): Promise<PageTime> {
  await page.goto(url + path)
  await page.waitForLoadState('networkidle', { timeout: 20_000 }).catch(() => {})
  const reads = (await page.evaluate(readTimes)) as [string, number][]
  const slowest = reads.toSorted((a, b) => b[1] - a[1])[0]
  if (!slowest) throw new Error(`/${path} has read no data. Is the dashboard built? npm run build`)
  const [name, ms] = slowest
  await page.evaluate('window.longest = 0')
  await use(page)
  const task = Math.round((await page.evaluate('window.longest')) as number)
  return {
    path: `/${path}`.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, ':id').replace(/^\/jobs\/.+/, '/jobs/:tenant/:name'),
    slowest: new URL(name, url).pathname.replace('/api/v1/', '').replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, ':id'),
    dataMs: Math.round(ms),
    taskMs: task >= reportedMs ? task : null,
  }
}

/** Scrolls to the end and back, and types into the field of the page, if it has one. */
async function use(page: Page): Promise<void> {
  for (let step = 0; step < 12; step++) await page.mouse.wheel(0, step < 6 ? 600 : -600)
  await page.waitForTimeout(300)
  const field = page.locator('main input[type=search], main input.bare, main input.in').first()
  if (await field.isVisible().catch(() => false)) await field.pressSequentially('report-0', { delay: 30 })
  await page.keyboard.press('Control+k')
  await page.keyboard.type('report-04', { delay: 30 })
  await page.waitForTimeout(500)
  await page.keyboard.press('Escape')
}
