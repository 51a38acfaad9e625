import { signal } from '@preact/signals'
import { root } from './root.ts'

/** When the server last answered, by this browser's clock. */
export const lastContact = signal(Date.now())
/** Set while reads fail because the server or its store does not answer: since when, by this browser's clock, and what was said. */
export const outage = signal<{ readonly since: number; readonly message: string } | null>(null)
let lastRead = Date.now()

/** The server's time minus this browser's, from the last answer that told it. */
export const clockOffset = signal(0)

/** The server wants to know who asks: at first, or since a session has ended. */
export const needsLogin = signal(false)

/** A refusal or failure that the server explained. */
export class RequestError extends Error {
  readonly status: number
  readonly code: string
  readonly details: Readonly<Record<string, unknown>>

  constructor(status: number, code: string, message: string, details: Readonly<Record<string, unknown>> = {}) {
    super(message)
    this.status = status
    this.code = code
    this.details = details
  }
}

/** Reads that take longer are given up. */
const slowMs = 20_000
const slow = new RequestError(
  0,
  'request.slow',
  `The server took longer than ${slowMs / 1000} s for this. Choose a job, a tenant, a state or a shorter time, then try again`,
)

export type Query = Readonly<Record<string, string | number | boolean | undefined | null>>

export function get<Answer>(path: string, query: Query = {}, signal?: AbortSignal): Promise<Answer> {
  return send<Answer>('GET', address(path, query), undefined, signal ? { signal } : {})
}

export function post<Answer>(path: string, body: unknown = {}, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
  return send<Answer>('POST', address(path), body, { headers })
}

export function write<Answer>(
  method: 'PATCH' | 'PUT' | 'DELETE',
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  return send<Answer>(method, address(path), body, { headers })
}

export function address(path: string, query: Query = {}): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== null && value !== '') search.append(name, String(value))
  return `${root}api/v1/${path}${search.size > 0 ? `?${search}` : ''}`
}

async function send<Answer>(
  method: string,
  url: string,
  body: unknown,
  options: { signal?: AbortSignal; headers?: Readonly<Record<string, string>> },
): Promise<Answer> {
  const limit = new AbortController()
  options.signal?.addEventListener('abort', () => limit.abort(options.signal?.reason))
  // A write may have happened although its answer is late: only reads are given up.
  const timer = method === 'GET' ? setTimeout(() => limit.abort(slow), slowMs) : undefined
  try {
    return await answered<Answer>(method, url, body, { ...options, signal: limit.signal })
  } catch (error) {
    throw limit.signal.reason === slow ? slow : error
  } finally {
    clearTimeout(timer)
  }
}

async function answered<Answer>(
  method: string,
  url: string,
  body: unknown,
  options: { signal: AbortSignal; headers?: Readonly<Record<string, string>> },
): Promise<Answer> {
  const response = await fetch(url, {
    method,
    credentials: 'same-origin',
    headers: {
      Accept: 'application/json',
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...options.headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: options.signal,
  }).catch((error: Error) => {
    if (error.name === 'AbortError') throw error
    throw noteOutage(new RequestError(0, 'server.unreachable', 'The server does not answer'))
  })
  lastContact.value = Date.now()
  const text = await response.text()
  const answer = text === '' ? undefined : parse(text)
  if (response.ok) {
    lastRead = lastContact.value
    if (outage.peek()) outage.value = null
    return answer as Answer
  }
  if (response.status === 401) needsLogin.value = true
  const problem = failure(response.status, answer)
  throw method === 'GET' && problem.status === 503 ? noteOutage(problem) : problem
}

/** The stream can stay open while reads fail: what is on screen is as old as the last read. */
function noteOutage(problem: RequestError): RequestError {
  if (!outage.peek()) outage.value = { since: lastRead, message: problem.message }
  return problem
}

/** Whole numbers that a double cannot hold stay as they were written. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text, /\d{16}/.test(text) ? keepDigits : undefined)
  } catch {
    return undefined
  }
}

type RawJson = { rawJSON?: (text: string) => unknown }

function keepDigits(_key: string, value: unknown, context?: { source?: string }): unknown {
  const { rawJSON } = JSON as RawJson
  const source = context?.source
  if (typeof value !== 'number' || !source || Number.isSafeInteger(value) || !/^-?\d+$/.test(source) || !rawJSON) return value
  return rawJSON(source)
}

/** Problems carry their fields at the top, or under `error`. */
function failure(status: number, answer: unknown): RequestError {
  const record = (typeof answer === 'object' && answer !== null ? answer : {}) as Record<string, unknown>
  const problem = (record.error ?? record) as Record<string, unknown>
  const message = problem.detail ?? problem.message ?? problem.title ?? `The server answered with status ${status}`
  return new RequestError(
    status,
    String(problem.code ?? 'unknown'),
    String(message),
    (problem.details ?? {}) as Record<string, unknown>,
  )
}
