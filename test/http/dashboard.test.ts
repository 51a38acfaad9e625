import type { Punctual } from 'punctual'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { asker, newPunctual } from './asker.ts'

let punctual: Punctual
beforeAll(() => {
  punctual = newPunctual()
})
afterAll(() => punctual.close())
const ask = asker(() => punctual)

const script = /<script[^>]* src="([^"]+)"/

describe('the dashboard', () => {
  test.each([
    ['/', './'],
    ['/jobs', './'],
    ['/jobs/default/nightly', '../../'],
    ['/occurrences/01a1e133', '../'],
  ])('%s is the page, whose files are found from its own address', async (path, up) => {
    const { status, text } = await ask(path)
    expect(status).toBe(200)
    expect(text).toContain(`name="punctual-root" content="${up}"`)
    const [, source = ''] = script.exec(text) ?? []
    expect(source.startsWith(`${up}assets/`)).toBe(true)
    const { pathname } = new URL(source, `http://localhost${path}`)
    expect(await ask(pathname)).toMatchObject({ status: 200 })
  })

  test('works below a base path, and sends an address without its slash to the one with it', async () => {
    const basePath = '/ops/punctual'
    const { status, response } = await ask('/ops/punctual', { basePath })
    expect({ status, location: response.headers.get('location') }).toEqual({ status: 308, location: 'punctual/' })
    const { text } = await ask('/ops/punctual/jobs/a/b', { basePath })
    const [, source = ''] = script.exec(text) ?? []
    const { pathname } = new URL(source, 'http://localhost/ops/punctual/jobs/a/b')
    expect(pathname.startsWith('/ops/punctual/assets/')).toBe(true)
    expect(await ask(pathname, { basePath })).toMatchObject({ status: 200 })
  })

  test.each(['/ops/punctual', '/ops/punctual/'])('the base path may be written %s', async (basePath) => {
    expect(await ask('/ops/punctual/jobs', { basePath })).toMatchObject({ status: 200 })
    expect(await ask('/ops/punctual/api/v1/jobs', { basePath })).toMatchObject({ status: 200 })
  })

  test('S12: allows only code and styles of its own, and has none in the page', async () => {
    const { text, response } = await ask('/')
    const policy = response.headers.get('content-security-policy')
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("script-src 'self'")
    expect(policy).not.toContain('unsafe')
    expect(text).not.toMatch(/<script(?![^>]* src=)|<style| style=| on\w+=/)
  })

  test('S11: nothing of a request comes back in the page', async () => {
    const { text } = await ask('/occurrences/%3Cscript%3Ealert(1)%3C%2Fscript%3E?q=alert(2)')
    expect(text).not.toContain('alert')
  })

  test('files are packed for who can unpack them, and are kept for good by their hashed names', async () => {
    const { text } = await ask('/')
    const [, source = ''] = script.exec(text) ?? []
    const path = source.slice(1)
    const plain = await ask(path)
    expect(plain.response.headers.get('content-encoding')).toBe(null)
    expect(plain.response.headers.get('cache-control')).toContain('immutable')
    expect(plain.response.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
    const packed = await ask(path, { headers: { 'accept-encoding': 'br, gzip' } })
    expect(packed.response.headers.get('content-encoding')).toBe('gzip')
  })

  test('addresses that are no page stay unknown', async () => {
    for (const path of ['/nope', '/jobs/a/b/c', '/assets/nope.js', '/assets/..%2findex.html', '/index.html'])
      expect(await ask(path)).toMatchObject({ status: 404 })
  })
})
