// A visit to the dashboard that fails when the page does something it must not: an error in the console, a script that throws, a
// refused request, a violation of the content security policy.
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { expect } from 'vitest'

export interface Visit extends AsyncDisposable {
  readonly page: Page
  readonly context: BrowserContext
  /** Faults of the page so far. */
  readonly faults: string[]
}

interface VisitOptions {
  readonly width?: number
  readonly theme?: 'light' | 'dark'
  readonly token?: string
  /** The page's clock can be moved by `page.clock`. */
  readonly isClockSet?: boolean
}

export async function visit(
  browser: Browser,
  address: string,
  { width = 1440, theme = 'light', token, isClockSet = false }: VisitOptions = {},
): Promise<Visit> {
  const context = await browser.newContext({
    viewport: { width, height: 900 },
    colorScheme: theme,
    timezoneId: 'Europe/Warsaw',
    reducedMotion: 'reduce',
    hasTouch: width < 960,
  })
  const page = await context.newPage()
  if (isClockSet) await page.clock.install()
  const faults: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(message.text())
  })
  page.on('pageerror', (error) => faults.push(`${error.message} ${error.stack ?? ''}`))
  page.on('response', (response) => {
    if (response.status() >= 400) faults.push(`${response.status()} ${response.request().method()} ${response.url()}`)
  })
  await page.addInitScript(
    "addEventListener('securitypolicyviolation', (event) => console.error('CSP: ' + event.violatedDirective + ' ' + event.blockedURI))",
  )
  await page.goto(address)
  if (token !== undefined) {
    await page.getByLabel('Token').fill(token)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('navigation', { name: 'Pages' }).waitFor()
    faults.length = 0
  }
  return {
    page,
    context,
    faults,
    [Symbol.asyncDispose]: async () => {
      await context.close()
      expect(faults).toEqual([])
    },
  }
}
