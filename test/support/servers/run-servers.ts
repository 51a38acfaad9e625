// Servers that the files of a test run share: each file has its own process, and requests them from the main process. A
// server starts with the first request, so a run that needs none starts none.
import { randomBytes } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import process from 'node:process'
import type { NeededServer } from './needed.ts'

const variable = 'PUNCTUAL_TEST_RUN'

/** The shared things by name, each with the function that makes it on the first request. */
export type Shared = Readonly<Record<string, () => Promise<unknown>>>

export interface RunServers {
  /** Names and versions of the servers that tests said they use. */
  readonly used: ReadonlySet<string>
  close(): void
}

/** Answers the processes of this run; they inherit the address, which no other process can guess. */
export async function serveRun(shared: Shared): Promise<RunServers> {
  const token = randomBytes(16).toString('hex')
  const used = new Set<string>()
  const made = new Map<string, Promise<unknown>>()
  const make = (name: string) => {
    const one = made.get(name) ?? shared[name]?.()
    if (one) made.set(name, one)
    return one
  }
  const server = createServer(async (request, response) => {
    const [, given, verb, name = ''] = decodeURIComponent(request.url ?? '').split('/')
    try {
      if (given !== token) throw new Error('Not the address of this run')
      if (verb === 'use') used.add(name)
      response.end(JSON.stringify(verb === 'use' ? null : await make(name)))
    } catch (error) {
      response.writeHead(500).end(error instanceof Error ? error.message : String(error))
    }
  })
  await listen(server)
  process.env[variable] = `http://127.0.0.1:${(server.address() as AddressInfo).port}/${token}`
  return {
    used,
    close: () => {
      delete process.env[variable]
      server.close()
      server.closeAllConnections()
    },
  }
}

/** Asks the run for what its files share; null when our process is not part of a run. */
export async function askRun<T>(name: string): Promise<T | null> {
  const address = process.env[variable]
  if (address === undefined) return null
  const response = await fetch(`${address}/get/${name}`)
  if (!response.ok) throw new Error(await response.text())
  return (await response.json()) as T
}

/** Tells the run which server a test has used, for the line that names them. */
export async function noteUse({ name }: NeededServer, version: string): Promise<void> {
  const address = process.env[variable]
  if (address !== undefined) await fetch(`${address}/use/${encodeURIComponent(`${name} ${version}`)}`)
}

function listen(server: Server): Promise<void> {
  return new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
}
