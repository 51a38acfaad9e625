import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { PunctualError } from '../errors.ts'

/** A running HTTP server. */
export interface HttpServer {
  readonly url: string
  /** Takes no more requests, and lets go of the connections. */
  close(): Promise<void>
}

/** Serves a Fetch handler. The handler checks access rights. Headers must arrive within `patienceMs`, the whole request in three times that. */
export async function listen(
  handle: (request: Request) => Promise<Response>,
  { host, port, patienceMs = 10_000 }: { host: string; port: number; patienceMs?: number },
): Promise<HttpServer> {
  const server = createAdaptorServer({
    fetch: handle,
    overrideGlobalObjects: false,
    serverOptions: {
      headersTimeout: patienceMs,
      requestTimeout: 3 * patienceMs,
      connectionsCheckingInterval: patienceMs / 4,
      maxHeaderSize: 16_384,
    },
  }) as Server
  server.maxConnections = 1000
  await bind(server, host, port)
  const { port: bound } = server.address() as AddressInfo
  return { url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}/`, close: () => close(server) }
}

async function bind(server: Server, host: string, port: number): Promise<void> {
  server.listen(port, host)
  try {
    await once(server, 'listening')
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code === 'EADDRINUSE' ? 'it is taken' : (error as Error).message
    throw new PunctualError(
      'config.invalid',
      `Cannot listen on port ${port} of ${host}: ${reason}; choose another with --port or PORT (0: any free one)`,
      {
        field: 'port',
        given: port,
      },
    )
  }
}

async function close(server: Server): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await closed
}
