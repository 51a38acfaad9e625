// An endpoint that accepts work with 202 and shows its state, then its result, under the address it returned.
import type { Occurrence } from '../client/occurrence-view.ts'
import type { Punctual } from '../client/punctual.ts'
import { PunctualError } from '../errors.ts'
import { type AnyDefinition, Definition } from '../model/definition.ts'
import { checkOptions, checkWhole } from '../model/limits.ts'

/** The options of `acceptJob`. */
export interface AcceptJobOptions {
  /** The tenant of a request. Default: `default`. */
  tenant?: (request: Request) => string
  /** After how many seconds a client should look again. Default 1. */
  retryAfter?: number
  /** The largest body, in bytes. Default 256 kB. */
  maxBytes?: number
}

const live = ['pending', 'waiting', 'running', 'retrying']

/**
 * A Fetch handler. `POST` with a JSON payload enqueues the job and answers 202 with `Location`; `GET` of that address answers with the
 * state and `Retry-After` while the work is under way, then with the result, or the error as problem+json. The header `Idempotency-Key`
 * makes a repeated `POST` return the first work. Anyone who knows an address can read it: check access before you call the handler.
 * @example app.all('/reports/*', (c) => acceptJob(punctual, report)(c.req.raw))
 */
export function acceptJob(
  punctual: Punctual,
  job: AnyDefinition,
  options: AcceptJobOptions = {},
): (request: Request) => Promise<Response> {
  checkOptions(options, ['tenant', 'retryAfter', 'maxBytes'], 'acceptJob')
  if (!(job instanceof Definition)) throw new PunctualError('option.invalid', 'job must be made by defineJob', { field: 'job' })
  const { tenant } = options
  if (tenant !== undefined && typeof tenant !== 'function')
    throw new PunctualError('option.invalid', 'tenant must be a function of the request', { field: 'tenant' })
  const retryAfter = checkWhole(options.retryAfter ?? 1, 'retryAfter', 0, 86_400)
  const maxBytes = checkWhole(options.maxBytes ?? 262_144, 'maxBytes', 1, 1 << 30)
  return async (request) => {
    try {
      const scope = punctual.tenant(tenant?.(request) ?? 'default')
      const { pathname } = new URL(request.url)
      const path = pathname.replace(/\/+$/, '')
      if (request.method === 'POST') {
        const key = request.headers.get('idempotency-key')
        const accepted = await scope.enqueue(
          job,
          (await jsonOf(request, maxBytes)) as never,
          key === null ? {} : { idempotencyKey: key },
        )
        const location = `${path}/${accepted.id}`
        return Response.json(
          { id: accepted.id, state: accepted.state },
          { status: 202, headers: waiting(retryAfter, { location }) },
        )
      }
      if (request.method !== 'GET') return problem(405, 'Method not allowed', { detail: 'POST starts work, GET shows it' })
      const found = await scope.get(job, path.slice(path.lastIndexOf('/') + 1) || 'none')
      return found ? stateOf(found, retryAfter) : problem(404, 'No such work')
    } catch (error) {
      return refusal(error, retryAfter)
    }
  }
}

function stateOf(found: Occurrence, retryAfter: number): Response {
  const { id, state, progress, result, error, reason } = found
  if (live.includes(state)) return Response.json({ id, state, progress }, { headers: waiting(retryAfter) })
  if (state === 'completed')
    return Response.json({ id, state, result: result ?? null }, { headers: { 'cache-control': 'no-store' } })
  const detail = error?.message ?? reason ?? undefined
  const status = state === 'canceled' || state === 'skipped' ? 409 : 500
  return problem(status, `The work is ${state}`, {
    id,
    state,
    ...(detail !== undefined && { detail }),
    ...(error?.code && { code: error.code }),
  })
}

function waiting(retryAfter: number, more: Record<string, string> = {}): Record<string, string> {
  return { 'retry-after': String(retryAfter), 'cache-control': 'no-store', ...more }
}

async function jsonOf(request: Request, maxBytes: number): Promise<unknown> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of request.body ?? []) {
    bytes += chunk.length
    if (bytes > maxBytes)
      throw new PunctualError('payload.too-large', `The body must be at most ${maxBytes} bytes`, { field: 'body', max: maxBytes })
    chunks.push(chunk)
  }
  if (bytes === 0) return undefined
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks)))
  } catch {
    throw new PunctualError('payload.invalid', 'The body is not JSON', { field: 'body' })
  }
}

function refusal(error: unknown, retryAfter: number): Response {
  if (!(error instanceof PunctualError)) return problem(500, 'The request failed')
  const { code, message, details } = error
  if (code.startsWith('store.') || code === 'punctual.closed')
    return problem(503, 'Try again later', { code }, { 'retry-after': String(Math.max(1, retryAfter)) })
  if (code === 'payload.too-large') return problem(413, 'The body is too large', { code, detail: message })
  const isInput = ['payload', 'key', 'name', 'option'].includes(code.split('.')[0] as string)
  return isInput
    ? problem(400, 'The request was refused', { code, detail: message, ...issuesOf(details) })
    : problem(500, 'The request failed', { code })
}

function issuesOf({ issues }: Readonly<Record<string, unknown>>): { issues?: unknown } {
  return issues === undefined ? {} : { issues }
}

/** As RFC 9457 has it. */
function problem(
  status: number,
  title: string,
  more: Record<string, unknown> = {},
  headers: Record<string, string> = {},
): Response {
  return new Response(JSON.stringify({ type: 'about:blank', title, status, ...more }), {
    status,
    headers: { 'content-type': 'application/problem+json', 'cache-control': 'no-store', ...headers },
  })
}
