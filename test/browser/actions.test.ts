import type { Browser, Page } from 'playwright-core'
import { defineJob } from 'punctual'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startBrowser } from '../support/browser.ts'
import { openShop, type Shop, seedMs } from './shop.ts'
import { violations } from './violations.ts'
import { visit } from './visit.ts'

let browser: Browser
let shop: Shop
beforeAll(async () => {
  browser = await startBrowser()
  shop = await openShop()
}, seedMs)
afterAll(async () => {
  await browser?.close()
  await shop?.[Symbol.asyncDispose]()
})

const submit = (page: Page) => page.locator('dialog .foot button[type=submit]').click()
const command = (page: Page) => page.locator('dialog .cmd code').first().textContent()

/** The browser reports the refused request as a fault; here it is wanted. */
function expectRefused(faults: string[]): void {
  expect(faults.length).toBeGreaterThan(0)
  for (const fault of faults.splice(0)) expect(fault).toContain('400')
}

describe('a job', () => {
  test('is triggered with a payload, and the dialog shows the command', async () => {
    await using opened = await visit(browser, `${shop.url}jobs/default/digest-mail`)
    const { page } = opened
    await page.getByRole('button', { name: 'Trigger…' }).click()
    await page.getByLabel('Payload, JSON').fill('{"customer": "tyrell"')
    await page.getByText(/Not valid JSON/).waitFor()
    await page.getByLabel('Payload, JSON').fill('{"customer":"tyrell"}')
    expect(await command(page)).toBe(`punctual trigger digest-mail --payload '{"customer":"tyrell"}'`)
    await page.getByLabel('Reason, kept in the audit').fill('asked by mail')
    expect(await command(page)).toContain('--reason "asked by mail"')
    await submit(page)
    await page.getByRole('link', { name: 'Open' }).click()
    await page.getByText('tyrell').first().waitFor()
  })

  test('is paused and resumed', async () => {
    await using opened = await visit(browser, `${shop.url}jobs/default/fraud-score-refresh`)
    const { page } = opened
    await page.getByRole('button', { name: 'Pause…' }).click()
    await page.getByLabel('Reason, kept with the pause').fill('vendor is down')
    expect(await command(page)).toBe('punctual pause fraud-score-refresh --for 1h --reason "vendor is down"')
    await submit(page)
    await page.getByRole('button', { name: 'Resume…' }).waitFor()
    expect(
      (await shop.punctual.pauses()).some(({ job, reason }) => job === 'fraud-score-refresh' && reason === 'vendor is down'),
    ).toBe(true)
    await page.getByRole('button', { name: 'Resume…' }).click()
    await submit(page)
    await page.getByRole('button', { name: 'Pause…' }).waitFor()
  })

  test('is moved to 03:00 in Warsaw, with a preview, and rolled back', async () => {
    await using opened = await visit(browser, `${shop.url}jobs/default/nightly-report`)
    const { page } = opened
    const text = page.getByLabel('Cron, ISO 8601 or RRULE')
    await text.fill('0 3 * *')
    await page.locator('.hint.bad').waitFor()
    opened.faults.length = 0
    await text.fill('0 3 * * *')
    await page.getByText('At 03:00').first().waitFor()
    await page.locator('.was').first().waitFor()
    const before = (await shop.punctual.versions('nightly-report')).at(-1)?.version ?? 0
    await page.getByRole('button', { name: `Save as version ${before + 1}` }).click()
    await page.getByText(`Saved as version ${before + 1}`).waitFor()
    expect((await shop.punctual.versions('nightly-report')).at(-1)?.scheduleText).toContain('03:00')
    await page
      .getByRole('listitem')
      .filter({ hasText: `v${before}` })
      .getByRole('button', { name: 'Roll back…' })
      .click()
    await submit(page)
    await expect.poll(async () => (await shop.punctual.versions('nightly-report')).length).toBe(before + 2)
    opened.faults.length = 0
  })

  test('is backfilled after a dry run', async () => {
    await using opened = await visit(browser, `${shop.url}jobs/default/ledger-close`)
    const { page } = opened
    await page.getByRole('button', { name: 'Backfill…' }).click()
    const from = new Date(Date.now() - 3 * 86_400_000).toISOString().slice(0, 16)
    await page.getByLabel('From').fill(from)
    await page.getByText('All', { exact: true }).click()
    await page.getByText('instants in the range').waitFor()
    await page.getByRole('button', { name: /^Backfill [1-9]/ }).click()
    await page.getByText('Backfill of ledger-close').waitFor()
    await page.goto(`${shop.url}operations`)
    await page
      .getByRole('link', { name: /backfill/i })
      .first()
      .waitFor()
  })
})

describe('dead letters', () => {
  test('one is retried from its page', async () => {
    const { items } = await shop.punctual.list({ job: 'payment-timeout', state: 'dead', limit: 1 })
    const id = items[0]!.id
    await using opened = await visit(browser, `${shop.url}occurrences/${id}`)
    const { page } = opened
    await page.getByRole('button', { name: 'Retry…' }).click()
    expect(await command(page)).toBe(`punctual dead retry ${id}`)
    await submit(page)
    await expect.poll(async () => (await shop.punctual.get(id))?.state).not.toBe('dead')
  })

  test('one is discarded with a reason', async () => {
    const { items } = await shop.punctual.list({ job: 'invoice', state: 'dead', limit: 1 })
    const id = items[0]!.id
    await using opened = await visit(browser, `${shop.url}occurrences/${id}`)
    const { page } = opened
    await page.getByRole('button', { name: 'Discard…' }).click()
    await page.getByLabel('Reason, kept in the audit').fill('customer left')
    await submit(page)
    await expect.poll(async () => (await shop.punctual.get(id))?.state).toBe('canceled')
  })

  test('a cause is retried as an operation that counts before it asks', async () => {
    await using opened = await visit(browser, `${shop.url}dead-letters`)
    const { page } = opened
    const group = page.getByRole('region', { name: /ECONNREFUSED/ })
    await group.getByRole('button', { name: /^Retry \d+…/ }).click()
    await page.getByText('match now').waitFor()
    await page.getByLabel('At once').check()
    await page.getByLabel('Reason, kept in the audit').fill('gateway is back')
    await page
      .locator('dialog')
      .getByRole('button', { name: /^Retry [1-9]/ })
      .click()
    await page
      .getByRole('status')
      .filter({ hasText: /dead letter/ })
      .waitFor()
    await expect
      .poll(
        async () => {
          const { items } = await shop.punctual.list({ job: 'payment-timeout', state: 'dead', limit: 50 })
          return items.filter(({ error }) => error?.message.includes('ECONNREFUSED')).length
        },
        { timeout: 20_000 },
      )
      .toBe(0)
  })
})

describe('occurrences', () => {
  test('pending work is moved and canceled; ended work is replayed', async () => {
    const { id } = await shop.punctual.enqueue('digest-mail', { customer: 'later' }, { delay: '1h', key: 'to-move' })
    await using opened = await visit(browser, `${shop.url}occurrences/${id}`)
    const { page } = opened
    await page.getByRole('button', { name: 'Move…' }).click()
    await page.getByLabel('Due in').fill('2h')
    await submit(page)
    await expect.poll(async () => (await shop.punctual.get(id))?.dueAt.getTime() ?? 0).toBeGreaterThan(Date.now() + 90 * 60_000)
    await page.getByRole('button', { name: 'Cancel…' }).click()
    await submit(page)
    await expect.poll(async () => (await shop.punctual.get(id))?.state).toBe('canceled')
    await page.getByRole('button', { name: 'Replay…' }).click()
    await page.getByLabel('Reason', { exact: true }).fill('was right after all')
    await submit(page)
    await page.getByText(/runs again/).waitFor()
  })

  test('some are selected by key and canceled together', async () => {
    for (const n of [1, 2, 3])
      await shop.punctual.enqueue('digest-mail', { customer: `many-${n}` }, { delay: '1h', entity: 'crowd' })
    await using opened = await visit(browser, `${shop.url}occurrences?state=pending&entity=crowd&job=digest-mail`)
    const { page } = opened
    await page.locator('tbody tr').nth(2).waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('x')
    await page.getByText('1 selected').waitFor()
    await page.getByLabel('Select all on this page').check()
    await page.getByText('3 selected').waitFor()
    await page.getByRole('region', { name: 'Selection' }).getByRole('button', { name: 'Cancel…' }).click()
    await submit(page)
    await expect
      .poll(
        async () => (await shop.punctual.list({ entity: 'crowd', job: 'digest-mail', state: 'canceled', limit: 5 })).items.length,
      )
      .toBe(3)
  })
})

test('everything is paused and resumed from the overview', async () => {
  await using opened = await visit(browser, shop.url)
  const { page } = opened
  await page.getByRole('button', { name: 'Pause all…' }).click()
  expect(await command(page)).toBe('punctual pause --all')
  await submit(page)
  await page.getByText('Everything is paused.').waitFor()
  await page.getByRole('button', { name: 'Resume all…' }).click()
  await submit(page)
  await page.getByRole('button', { name: 'Pause all…' }).waitFor()
})

test('tokens are created, shown once and revoked', async () => {
  await using opened = await visit(browser, `${shop.url}settings`)
  const { page } = opened
  await page.getByRole('button', { name: 'New token…' }).click()
  await page.getByLabel('Name').fill('grace')
  await page.getByLabel('Role').selectOption('operator')
  await submit(page)
  await page.getByText('The secret of grace, shown once:').waitFor()
  await page.getByRole('button', { name: 'Revoke grace' }).click()
  await submit(page)
  await expect.poll(() => page.getByRole('button', { name: 'Revoke grace' }).count()).toBe(0)
})

describe('an effect of unknown outcome', () => {
  test('is resolved by a person, and the work can be retried', async () => {
    await using opened = await visit(browser, `${shop.url}gate`)
    const { page } = opened
    const { items } = await shop.punctual.gates({ state: 'unknown' })
    expect(items.length).toBeGreaterThan(0)
    await page.getByRole('button', { name: 'Resolve…' }).first().click()
    await page.getByLabel('It happened').check()
    await page.getByLabel('Its outcome, JSON, optional').fill('{"id":"ch_1"}')
    expect(await command(page)).toMatch(/^punctual gate resolve \S+ charge .*--happened --result/)
    await submit(page)
    await page.getByText('charge is recorded as done').waitFor()
    await expect.poll(async () => (await shop.punctual.gates({ state: 'unknown' })).items.length).toBe(items.length - 1)
  })
})

describe('the audit', () => {
  test('is filtered by action and actor, in the address too', async () => {
    await shop.punctual.pause('digest-mail', { by: 'grace', reason: 'provider moves' })
    await shop.punctual.resume('digest-mail', { by: 'grace' })
    await using opened = await visit(browser, `${shop.url}audit`)
    const { page } = opened
    await page.getByLabel('Action').selectOption('pause')
    await page.getByLabel('Actor').fill('grace')
    await page.keyboard.press('Enter')
    await page.getByText('“provider moves”').waitFor()
    expect(page.url()).toMatch(/action=pause/)
    expect(page.url()).toMatch(/actor=grace/)
    await expect.poll(() => page.locator('tbody tr').count()).toBe(1)
  })
})

describe('the log of a run', () => {
  test('is shown while the handler runs', async () => {
    const end = Promise.withResolvers<void>()
    const job = defineJob('tail').task('read', async ({ log }) => {
      log.warn('Row without a customer', { row: 17 })
      await end.promise
      log.info('All rows read')
    })
    shop.punctual.define(job)
    const { id } = await shop.punctual.enqueue(job, undefined)
    await using opened = await visit(browser, `${shop.url}occurrences/${id}`)
    const { page } = opened
    await page.getByRole('log').getByText('Row without a customer').waitFor()
    await page.getByRole('button', { name: 'Stop…' }).waitFor()
    end.resolve()
    await page.getByRole('log').getByText('All rows read').waitFor()
  })
})

describe('a dead letter', () => {
  test('is retried with another payload, and a fault is shown at its field', async () => {
    const [dead] = (await shop.punctual.list({ job: 'invoice', state: 'dead', limit: 1 })).items
    await using opened = await visit(browser, `${shop.url}dead-letters?cause=${dead?.cause}`)
    const { page } = opened
    await page.getByRole('button', { name: 'Edit and retry…' }).click()
    await page.getByLabel('vatId, optional').fill('7010001234')
    await submit(page)
    await page.getByText('The schema of the job refuses this payload.').waitFor()
    const field = page.getByLabel('vatId, optional')
    await expect.poll(() => field.getAttribute('aria-invalid')).toBe('true')
    await page.getByText('must start with a country, such as PL7010001234').waitFor()
    await expect.poll(() => field.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true)
    expect((await shop.punctual.get(dead?.id ?? ''))?.state).toBe('dead')
    expectRefused(opened.faults)
    await field.fill('PL7010001234')
    expect(await field.getAttribute('aria-invalid')).toBeNull()
    expect(await command(page)).toContain(`--payload '{"customer":"globex","vatId":"PL7010001234"}'`)
    await submit(page)
    await page.getByText('with another payload').waitFor()
    expect((await shop.punctual.get(dead?.id ?? ''))?.payload).toEqual({ customer: 'globex', vatId: 'PL7010001234' })
  })

  test('is edited as JSON on its page, with the place of a fault', async () => {
    const [dead] = (await shop.punctual.list({ job: 'payment-timeout', state: 'dead', limit: 1 })).items
    await using opened = await visit(browser, `${shop.url}occurrences/${dead?.id}`)
    const { page } = opened
    await page.getByRole('button', { name: 'Retry…' }).click()
    await page.getByRole('button', { name: 'Edit the payload' }).click()
    await page.getByRole('button', { name: 'JSON' }).click()
    await page.getByLabel('JSON', { exact: true }).fill('{"order":1,}')
    await page.getByText(/Not valid JSON at line 1, column 12/).waitFor()
    await page.getByLabel('JSON', { exact: true }).fill('{"order":1,"amount":"2","currency":"PLN"}')
    await submit(page)
    await page.getByText('amount: must have two decimals, such as 19.90').waitFor()
    expectRefused(opened.faults)
  })
})

describe('a node', () => {
  test('is drained, with a warning when it is the only one', async () => {
    await using own = await openShop()
    await using opened = await visit(browser, `${own.url}nodes`)
    const { page } = opened
    await page.getByRole('button', { name: 'Drain…' }).click()
    await page.getByText('It is the only node.').waitFor()
    await page.getByLabel('Reason, kept in the audit').fill('new release')
    await submit(page)
    await expect.poll(async () => (await own.punctual.audit({ action: 'drain' })).items[0]?.reason).toBe('new release')
    await page.getByText('Draining').waitFor()
  })
})

describe.each([
  [1440, 'light'],
  [390, 'dark'],
] as const)('dialogs at %i px, %s', (width, theme) => {
  const dialogs: readonly (readonly [string, string, (page: Page) => Promise<void>])[] = [
    ['trigger', 'jobs/default/digest-mail', (page) => page.getByRole('button', { name: 'Trigger…' }).click()],
    ['pause', 'jobs/default/search-reindex', (page) => page.getByRole('button', { name: 'Pause…' }).click()],
    ['backfill', 'jobs/default/search-reindex', (page) => page.getByRole('button', { name: 'Backfill…' }).click()],
    ['resolve', 'gate', (page) => page.getByRole('button', { name: 'Resolve…' }).first().click()],
    ['token', 'settings', (page) => page.getByRole('button', { name: 'New token…' }).click()],
    ['drain', 'nodes', (page) => page.getByRole('button', { name: 'Drain…' }).click()],
    [
      'bulk',
      'occurrences?state=dead',
      async (page) => {
        await page.locator('tbody .check').first().click()
        await page.getByRole('button', { name: /^Select all/ }).click()
        await page.getByRole('button', { name: 'Discard…' }).click()
      },
    ],
  ]
  test.each(dialogs)('%s passes axe', async (_, path, open) => {
    await using opened = await visit(browser, `${shop.url}${path}`, { width, theme })
    const { page } = opened
    await open(page)
    await page.locator('dialog[open] .foot button').first().waitFor()
    await page.waitForLoadState('networkidle').catch(() => {})
    expect(await violations(page)).toEqual([])
  })
})
