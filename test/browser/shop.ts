// A server on a store with the past of the demo, for the browser to visit.
import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import type { Server } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { createPunctual, type Punctual } from 'punctual'
import { createHandler, type HandlerOptions, toNodeHandler } from 'punctual/http'
import { sqlite } from 'punctual/sqlite'
import * as demo from '../../examples/demo/jobs.ts'

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
const { setup: _, ...definitions } = demo

export interface Shop extends AsyncDisposable {
  readonly punctual: Punctual
  readonly url: string
}

const folder = mkdtempSync(join(tmpdir(), 'punctual-browser-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
let stores = 0
/** The past of days is made once for all files. How long that takes depends on the machine, and proves nothing. */
export const seedMs = 600_000
/** The past ends when it was made: a later run wants a newer one. */
const freshMs = 15 * 60_000

/** The demo's past in a separate file. All tests of the next minutes use the file that one build has made. */
function shopFile(): string {
  const own = join(folder, 'shop-0.db')
  if (!existsSync(own)) copyFileSync(seededFile(), own)
  stores += 1
  const file = join(folder, `shop-${stores}.db`)
  copyFileSync(own, file)
  return file
}

function seededFile(): string {
  const build = readFileSync('node_modules/.punctual/built', 'utf8').slice(0, 12)
  const seeded = `node_modules/.punctual/shop-${build}.db`
  const isFresh = existsSync(seeded) && Date.now() - statSync(seeded).mtimeMs < freshMs
  if (!isFresh) execFileSync(process.execPath, ['examples/demo/seed.ts', seeded], { stdio: 'inherit' })
  return seeded
}

export async function openShop(options: HandlerOptions = { open: true }, file: string = shopFile()): Promise<Shop> {
  const punctual = createPunctual({ store: sqlite(file), jobs: Object.values(definitions), log: silent, name: 'node-a' })
  await punctual.start()
  return serveShop(punctual, options)
}

/** Serves a scheduler on a free port of this machine. */
export async function serveShop(punctual: Punctual, options: HandlerOptions): Promise<Shop> {
  const handler = createHandler(punctual, { label: 'demo', log: silent, ...options })
  const server: Server = createServer(toNodeHandler(handler))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    punctual,
    url: `http://127.0.0.1:${port}${options.basePath ?? ''}/`,
    [Symbol.asyncDispose]: async () => {
      server.close()
      server.closeAllConnections()
      await punctual.close()
    },
  }
}
