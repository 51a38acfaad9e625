import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { PunctualError } from '../errors.ts'

const loopbackNames: readonly string[] = ['127.0.0.1', '::1', 'localhost']

/** A running HTTP server. */
export interface HttpServer {
  readonly url: string
  /** Takes no more requests, and lets go of the connections. */
  close(): Promise<void>
}

/** Serves a Fetch handler on this machine alone: what cannot be asked who it is must not be reachable from elsewhere. */
export async function listen(
  handle: (request: Request) => Promise<Response>,
  { host, port }: { host: string; port: number },
): Promise<HttpServer> {
  if (!loopbackNames.includes(host)) {
    throw new PunctualError(
      'config.invalid',
      `The server has no authentication and listens only on ${loopbackNames.join(', ')}; got ${host}`,
      {
        field: 'host',
        given: host,
        allowed: loopbackNames,
      },
    )
  }
  const server = createAdaptorServer({
    fetch: (request) => (isForLoopback(request) ? handle(request) : misdirected()),
    overrideGlobalObjects: false,
    serverOptions: { headersTimeout: 10_000, requestTimeout: 30_000, maxHeaderSize: 16_384 },
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

/** A page of another site whose name was pointed at this machine sends that name; a browser would let it read the answer. */
function isForLoopback(request: Request): boolean {
  return loopbackNames.includes(new URL(request.url).hostname.replace(/^\[|\]$/g, ''))
}

function misdirected(): Response {
  const message = `This server answers only to the names ${loopbackNames.join(', ')}`
  return Response.json({ error: { code: 'host.refused', message, details: {} } }, { status: 421 })
}

async function close(server: Server): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await closed
}
