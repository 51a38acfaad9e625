import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { gzipSync } from 'node:zlib'
import { type Context, Hono } from 'hono'
import { Refusal } from '../problem.ts'

/** The pages of the dashboard. Any other address is not its own. */
const pages = [
  '/',
  '/jobs',
  '/jobs/:tenant/:name',
  '/occurrences',
  '/occurrences/:id',
  '/dead-letters',
  '/calendar',
  '/nodes',
  '/operations',
  '/gate',
  '/timers',
  '/audit',
  '/settings',
] as const

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** Styles that scripts set through the CSSOM are no inline styles, so `style-src` needs no exception. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const immutable = 'public, max-age=31536000, immutable'

interface File {
  readonly body: Uint8Array<ArrayBuffer>
  readonly type: string
  packed?: Uint8Array<ArrayBuffer>
}

/** The dashboard: one page for all its addresses, and its files. It holds no data; the page reads that from the API. */
export function dashboardRoutes(basePath: string): Hono {
  let files: ReadonlyMap<string, File> | undefined
  const read = () => (files ??= readFiles())
  const app = new Hono()
  app.get('/assets/:file', (c) => sendFile(c, read().get(`assets/${c.req.param('file')}`), immutable))
  app.get('/icon.svg', (c) => sendFile(c, read().get('icon.svg'), 'public, max-age=86400'))
  for (const page of pages) app.get(page, (c) => sendPage(c, read().get('index.html'), basePath))
  return app
}

function sendFile(c: Context, file: File | undefined, cacheControl: string): Response | Promise<Response> {
  if (!file) throw new Refusal('route.unknown', 'There is nothing at this address')
  c.header('Content-Type', file.type)
  c.header('Cache-Control', cacheControl)
  c.header('Vary', 'Accept-Encoding')
  if (!c.req.header('Accept-Encoding')?.includes('gzip')) return c.body(file.body)
  c.header('Content-Encoding', 'gzip')
  file.packed ??= new Uint8Array(gzipSync(file.body))
  return c.body(file.packed)
}

function sendPage(c: Context, page: File | undefined, basePath: string): Response {
  const { pathname } = new URL(c.req.url)
  // Links of the page are relative to its address: without the slash they would lead beside the mount.
  if (basePath !== '' && pathname === basePath) return c.redirect(`${basePath.slice(basePath.lastIndexOf('/') + 1)}/`, 308)
  if (!page) return c.text('This package was built without its dashboard. The API is at api/v1.', 501)
  const up = '../'.repeat(Math.max(0, pathname.slice(basePath.length).split('/').length - 2)) || './'
  c.header('Content-Security-Policy', policy)
  return c.html(new TextDecoder().decode(page.body).replaceAll(/(src|href|content)="\.\//g, `$1="${up}`))
}

/** Beside the built code, or beside the sources when they run unbuilt. */
function readFiles(): ReadonlyMap<string, File> {
  const folder = ['../../dashboard/', '../../../dist/dashboard/']
    .map((path) => new URL(path, import.meta.url))
    .find((url) => existsSync(new URL('index.html', url)))
  if (!folder) return new Map()
  const names = ['index.html', 'icon.svg', ...readdirSync(new URL('assets/', folder)).map((name) => `assets/${name}`)]
  return new Map(
    names.map((name) => [
      name,
      { body: new Uint8Array(readFileSync(new URL(name, folder))), type: types[extname(name)] ?? 'application/octet-stream' },
    ]),
  )
}
