import type { Browser } from 'playwright-core'
import { createPunctual, defineJob, interval } from 'punctual'
import { memory } from 'punctual/memory'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBrowser } from '../support/browser.ts'
import { serveShop } from './shop.ts'
import { visit } from './visit.ts'

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/** Each would leave a node `x-pwned`, an attribute `pwned` or a global `pwned`, if it were read as anything but text. */
const tags = ['x-pwned', 'img pwned src=x', 'svg pwned onload=pwned=1', 'iframe pwned srcdoc=a', 'body pwned', 'math pwned']
const outs = ['', '">', "'>", '`>', '</script>', '</style>', '</title>', '-->', ']]>', '</textarea>']
const others = [
  'javascript:pwned=1',
  'JaVaScRiPt:pwned=1//',
  'data:text/html,<x-pwned>',
  '" onmouseover="pwned=1" pwned="',
  "' autofocus onfocus='pwned=1' pwned='",
  '{{constructor.constructor("pwned=1")()}}',
  '\u0024{pwned=1}',
  '&lt;x-pwned&gt;&#60;x-pwned&#62;',
  '\u202e<x-pwned>\u202c',
  '[a](javascript:pwned=1)',
  '\\u003cx-pwned\\u003e',
  '%3Cx-pwned%3E',
]
const hostile = [...outs.flatMap((out) => tags.map((tag) => `${out}<${tag}>`)), ...others]

let browser: Browser
beforeAll(async () => {
  browser = await startBrowser()
})
afterAll(() => browser?.close())

async function world() {
  const first = hostile[0] as string
  const jobs = hostile.map((text, at) =>
    defineJob(text, { retry: { max: 0 }, schedule: interval(`PT${at + 1}H`) }).task(text, async (ctx) => {
      for (const line of hostile) ctx.log.error(line, { [line]: line })
      await ctx.progress(50, text)
      throw Object.assign(new Error(hostile.join('\n')), { name: text, code: text })
    }),
  )
  const echo = defineJob<unknown>('echo', ({ payload }) => payload)
  const punctual = createPunctual({ store: memory(), jobs: [...jobs, echo], log: silent, name: first })
  await punctual.start()
  const payload = { list: hostile, ...Object.fromEntries(hostile.map((text) => [text, text])) }
  const dead = await punctual.enqueue(first, payload, { key: first, entity: first, refs: { [first]: first } })
  for (const text of hostile) await punctual.enqueue(text, { text }, { key: text, entity: text })
  const done = await punctual.enqueue(echo, payload)
  await punctual.enqueue(echo, payload, { tenant: first, key: first, delay: '1h' })
  await punctual.idle()
  const reason = { reason: first, by: first }
  await punctual.pause(first, reason)
  await punctual.update(first, { enabled: false }, reason)
  await punctual.once(first, first, () => Promise.reject(Object.assign(new Error(first), { outcome: 'unknown' }))).catch(() => {})
  await punctual.retryAll({ job: first }, reason)
  await punctual.idle()
  return { punctual, first, dead: dead.id, done: done.id }
}

/** Elements, attributes and values that only injected text could have made. */
const search = `({
  nodes: [...document.querySelectorAll('x-pwned, [pwned], iframe, [onload], [onmouseover], [onfocus]')].map((one) => one.outerHTML),
  links: [...document.querySelectorAll('[href], [src], [action]')]
    .flatMap((one) => ['href', 'src', 'action'].map((name) => one.getAttribute(name) ?? ''))
    .filter((link) => /^\\s*(javascript|data:text)/i.test(link)),
  ran: 'pwned' in window,
})`

test('S10: 72 hostile texts in every field stay text on every page', async () => {
  const { punctual, first, dead, done } = await world()
  await using shop = await serveShop(punctual, { open: true, label: first })
  await using opened = await visit(browser, shop.url)
  const { page } = opened
  const job = encodeURIComponent(first)
  const paths = [
    ...['', 'jobs', `jobs/default/${job}`, 'occurrences', `occurrences?key=${job}`, `occurrences/${dead}`, `occurrences/${done}`],
    ...['dead-letters', 'calendar', 'nodes', 'operations', 'gate', 'timers', 'audit', 'settings'],
  ]
  expect(hostile).toHaveLength(72)
  for (const path of paths) {
    await page.goto(`${shop.url}${path}`)
    await page.waitForLoadState('networkidle')
    expect(await page.evaluate(search), path).toEqual({ nodes: [], links: [], ran: false })
  }
  // The texts are there, as they were given.
  await page.goto(`${shop.url}occurrences/${dead}`)
  await page.getByText(first).first().waitFor()
  await page.goto(`${shop.url}jobs`)
  await page
    .getByText(/^<.*pwned.*>$/)
    .nth(5)
    .waitFor()
})
