import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isIP } from 'node:net'
import { type BuiltIn, builtIn } from '../client/built-in.ts'
import type { Punctual } from '../client/punctual.ts'
import { PunctualError, shown } from '../errors.ts'
import type { Context } from '../model/context.ts'
import { cut } from '../model/cut.ts'
import { defineJob } from '../model/definition.ts'
import { checkObject, checkOneOf, checkOptions } from '../model/limits.ts'
import type { RetryHint } from '../model/retry.ts'
import { type DurationInput, parseDuration } from '../time/duration.ts'
import { AddressRefused, guardedLookup, isInside } from './address-guard.ts'
import { checkedSchema } from './checked-schema.ts'
import { signatureHeader, signatureOf } from './signature.ts'

/** The payload of `punctual/http`. */
export interface HttpPayload {
  readonly url: string
  /** Default POST. */
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON; a text is sent as it is. */
  readonly body?: unknown
}

/** The options of `createWebhooks`. */
export interface WebhooksOptions {
  punctual: Punctual
  /** Signs each request: see `verifySignature`. At least 16 characters. */
  secret: string
  /** How long a request may take. Default 30 s. */
  timeout?: DurationInput
  /** Allows addresses of this machine and of private networks. Default false. */
  allowPrivate?: boolean
}

interface Call {
  readonly url: URL
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly timeoutMs: number
  readonly allowPrivate: boolean
}

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
const mostResponseBytes = 65_536
const keptCharacters = 500
const firstWaitMs = 5000
const longestWaitMs = 3_600_000

/** A status that is no success. */
class HttpFailure extends Error implements RetryHint {
  override readonly name = 'HttpFailure'
  readonly retryable: boolean
  readonly retryInMs?: number

  constructor(status: number, text: string, retryable: boolean, retryInMs: number | null) {
    super(`The receiver answered ${status}${text === '' ? '' : `: ${cut(text, keptCharacters)}`}`)
    this.retryable = retryable
    if (retryInMs !== null) this.retryInMs = retryInMs
  }
}

/**
 * Lets jobs that are made without code call a URL, as `punctual/http`: signed, with a timeout, and retried by status and Retry-After.
 * Redirects are not followed, and addresses inside are refused.
 * @example createWebhooks({ punctual, secret }); await punctual.enqueue('punctual/http', { url: 'https://example.com/hook', body: { id: 42 } })
 */
export function createWebhooks(options: WebhooksOptions): void {
  checkOptions(options, ['punctual', 'secret', 'timeout', 'allowPrivate'], 'createWebhooks')
  const { punctual, secret, timeout = '30s', allowPrivate = false } = options
  if (typeof secret !== 'string' || secret.length < 16)
    throw new PunctualError('option.invalid', 'secret must be a text of at least 16 characters', { field: 'secret', min: 16 })
  const timeoutMs = parseDuration(timeout, 'timeout', 1)
  let job: BuiltIn
  const definition = defineJob<HttpPayload>(
    'punctual/http',
    {
      payload: checkedSchema(checkHttpPayload),
      retry: { max: 8, interval: firstWaitMs, factor: 2, maxInterval: longestWaitMs },
      timeout: timeoutMs + 5000,
    },
    (ctx) => run(ctx, { secret, timeoutMs, allowPrivate, now: () => job.clock.wall() }),
  )
  job = builtIn(punctual, definition)
}

async function run(
  ctx: Context<HttpPayload>,
  { secret, timeoutMs, allowPrivate, now }: { secret: string; timeoutMs: number; allowPrivate: boolean; now: () => number },
): Promise<{ status: number }> {
  const { url, method = 'POST', headers = {}, body } = ctx.payload
  const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body)
  const sent = {
    ...(body !== undefined && { 'content-type': typeof body === 'string' ? 'text/plain' : 'application/json' }),
    'user-agent': 'punctual',
    ...headers,
    'punctual-id': ctx.occurrenceId,
    [signatureHeader]: signatureOf(secret, now(), text),
  }
  const answer = await call({ url: new URL(url), method, headers: sent, body: text, timeoutMs, allowPrivate }, ctx.signal)
  const { status, body: answered, retryAfter } = answer
  if (status >= 200 && status < 300) return { status }
  const mayPass = status === 408 || status === 425 || status === 429 || status >= 500
  throw new HttpFailure(status, answered, mayPass, mayPass ? retryAfterMs(retryAfter, now(), ctx.attempt) : null)
}

interface Answer {
  readonly status: number
  readonly body: string
  readonly retryAfter: string | undefined
}

function call({ url, method, headers, body, timeoutMs, allowPrivate }: Call, signal: AbortSignal): Promise<Answer> {
  // A literal address is connected to without a lookup.
  const literal = url.hostname.replace(/^\[|\]$/g, '')
  if (!allowPrivate && isIP(literal) !== 0 && isInside(literal)) return Promise.reject(new AddressRefused(literal))
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest
  return new Promise((resolve, reject) => {
    const request = send(
      url,
      {
        method,
        headers: { ...headers, 'content-length': Buffer.byteLength(body) },
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
        // A new connection each time: a kept one was checked for another name.
        agent: false,
        ...(!allowPrivate && { lookup: guardedLookup as never }),
      },
      (response) => read(response).then(resolve, reject),
    )
    request.on('error', reject)
    // An answer that begins another protocol is no answer to this.
    request.once('upgrade', ({ statusCode = 0 }, socket) => {
      socket.destroy()
      reject(new HttpFailure(statusCode, '', false, null))
    })
    request.end(body)
  })
}

/** Reads an answer up to the limit, and lets go of the rest. */
async function read(response: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response) {
    chunks.push(chunk as Buffer)
    size += (chunk as Buffer).length
    if (size > mostResponseBytes) break
  }
  response.destroy()
  const body = Buffer.concat(chunks).subarray(0, mostResponseBytes).toString()
  return { status: response.statusCode ?? 0, body, retryAfter: response.headers['retry-after'] }
}

/** The wait that the receiver asks for, in seconds or as a date: at most a day. A shorter one than without it would use up the retries. */
function retryAfterMs(text: string | undefined, now: number, attempt: number): number | null {
  if (text === undefined) return null
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now
  const waitMs = Math.min(firstWaitMs * 2 ** (attempt - 1), longestWaitMs)
  return ms > waitMs ? Math.min(ms, 86_400_000) : null
}

function checkHttpPayload(payload: unknown): HttpPayload {
  checkObject(payload, 'payload')
  checkOptions(payload, ['url', 'method', 'headers', 'body'], 'payload')
  const { url, method = 'POST', headers = {} } = payload as HttpPayload
  const parsed = typeof url === 'string' && url.length <= 2048 ? URL.parse(url) : null
  if (!parsed || (parsed.protocol !== 'http:' && parsed.protocol !== 'https:') || parsed.username !== '')
    throw new PunctualError('option.invalid', `url must be an http or https URL without credentials; got ${shown(url)}`, {
      field: 'url',
    })
  checkOneOf(method, 'method', methods)
  checkObject(headers, 'headers')
  for (const [name, value] of Object.entries(headers))
    if (
      !/^[\w-]{1,100}$/.test(name) ||
      typeof value !== 'string' ||
      /[^\t -~]/.test(value) ||
      /^(host|content-length|transfer-encoding|connection|punctual-.*)$/i.test(name)
    )
      throw new PunctualError('option.invalid', `headers.${shown(name)} is not a header that may be set`, { field: 'headers' })
  return payload as HttpPayload
}
