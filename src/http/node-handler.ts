import type { IncomingMessage, ServerResponse } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { textOf } from './plain-response.ts'

type FetchHandler = (request: Request) => Promise<Response>
/** A request of Node.js as frameworks hand it on: they may have read its body, and cut its path. */
type FrameworkRequest = IncomingMessage & { readonly originalUrl?: string; readonly body?: unknown; readonly rawBody?: unknown }

/**
 * The handler for frameworks in the style of Node.js. Give `basePath` the path it is mounted at.
 * @example app.use('/jobs', toNodeHandler(createHandler(punctual, { basePath: '/jobs', authenticate })))
 */
export function toNodeHandler(handler: FetchHandler): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const listen = getRequestListener(
    async (request, { outgoing }) => written(await handler(request), outgoing as ServerResponse),
    { overrideGlobalObjects: false },
  )
  return async (request: FrameworkRequest, response) => {
    const { originalUrl, url } = request
    // Express takes the mount off the path; the handler knows its own.
    if (originalUrl !== undefined && originalUrl !== url) request.url = originalUrl
    const body = request.readableEnded || request.readableDidRead ? readAlready(request) : undefined
    if (body === undefined) return listen(request, response)
    return getRequestListener((given) => handler(withBody(given, body)), { overrideGlobalObjects: false })(request, response)
  }
}

/** Writes an answer whose text is known; the others are left to the listener. */
function written(response: Response, outgoing: ServerResponse): Response {
  const text = textOf(response)
  if (text === undefined) return response
  outgoing.writeHead(response.status, { ...Object.fromEntries(response.headers), 'content-length': Buffer.byteLength(text) })
  outgoing.end(text)
  return RESPONSE_ALREADY_SENT
}

/** A body that a parser of the framework has read: as the bytes it had, or written anew. */
function readAlready({ rawBody, body }: FrameworkRequest): string | Uint8Array | undefined {
  if (rawBody instanceof Uint8Array || typeof rawBody === 'string') return rawBody
  if (body instanceof Uint8Array || typeof body === 'string') return body
  return body === undefined ? undefined : JSON.stringify(body)
}

function withBody(request: Request, body: string | Uint8Array): Request {
  const headers = new Headers(request.headers)
  headers.delete('content-length')
  headers.delete('content-encoding')
  const hasBody = request.method !== 'GET' && request.method !== 'HEAD'
  return new Request(request.url, {
    method: request.method,
    headers,
    signal: request.signal,
    ...(hasBody && { body: body as string }),
  })
}
