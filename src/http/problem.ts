// Errors as HTTP answers them: problem+json (RFC 9457), with the codes of the library and a few that only HTTP has.
import { type ErrorCode, type ErrorDetails, PunctualError } from '../errors.ts'
import type { Logger } from '../model/context.ts'

/** The codes that only HTTP has, each with its status. */
export const httpStatuses = {
  'request.invalid': 400,
  'access.required': 401,
  'access.refused': 403,
  'access.read-only': 403,
  'access.origin': 403,
  'route.unknown': 404,
  'tenant.unknown': 404,
  'token.unknown': 404,
  'operation.unknown': 404,
  'method.unsupported': 405,
  'request.too-large': 413,
  'request.unsupported': 415,
  'host.refused': 421,
  'request.throttled': 429,
  'request.failed': 500,
} as const

/** The status of each code of the library. Codes that no request can cause are 500. */
export const errorStatuses: Readonly<Partial<Record<ErrorCode, number>>> = {
  'option.unknown': 400,
  'option.invalid': 400,
  'name.invalid': 400,
  'key.invalid': 400,
  'duration.invalid': 400,
  'instant.invalid': 400,
  'zone.invalid': 400,
  'schedule.invalid': 400,
  'schedule.never': 400,
  'schedule.unknown': 400,
  'payload.invalid': 400,
  'payload.rejected': 400,
  'payload.too-large': 413,
  'task.unknown': 400,
  'definition.unknown': 404,
  'job.unknown': 404,
  'node.unknown': 404,
  'job.conflict': 409,
  'job.outdated': 412,
  'occurrence.unknown': 404,
  'occurrence.conflict': 409,
  'gate.busy': 409,
  'gate.conflict': 409,
  'gate.held': 409,
  'gate.lost': 409,
  'gate.unknown': 404,
  'store.busy': 503,
  'store.closed': 503,
  'store.refused': 503,
  'store.unreachable': 503,
  'punctual.closed': 503,
}

export type HttpCode = keyof typeof httpStatuses

/** A request that HTTP itself refuses. */
export class Refusal extends Error {
  readonly code: HttpCode
  readonly details: ErrorDetails
  readonly headers: Readonly<Record<string, string>>

  constructor(code: HttpCode, message: string, details: ErrorDetails = {}, headers: Readonly<Record<string, string>> = {}) {
    super(message)
    this.code = code
    this.details = details
    this.headers = headers
  }
}

/** The response names the cause of a known error. Details of any other error go only to the log. */
export function problemResponse(error: unknown, request: Request, log: Logger): Response {
  if (error instanceof Refusal) return problem(httpStatuses[error.code], error, error.headers)
  const status = error instanceof PunctualError ? (errorStatuses[error.code] ?? 500) : 500
  if (error instanceof PunctualError && status < 500) return problem(status, error)
  // A store's failure may name files, hosts and users.
  if (error instanceof PunctualError && status === 503)
    return problem(
      503,
      { code: error.code, message: 'The store does not answer; try again', details: {} },
      { 'Retry-After': '1' },
    )
  const instance = crypto.randomUUID()
  log.error('A request failed', {
    instance,
    method: request.method,
    path: new URL(request.url).pathname.slice(0, 500),
    error: error instanceof Error ? (error.stack ?? error.message) : String(error),
  })
  const told = { code: 'request.failed', message: 'The request failed; the log of the server has the reason', details: {} }
  return problem(500, told, {}, instance)
}

function problem(
  status: number,
  { code, message, details }: { readonly code: string; readonly message: string; readonly details: ErrorDetails },
  headers: Readonly<Record<string, string>> = {},
  instance?: string,
): Response {
  const body = {
    type: `urn:punctual:${code}`,
    title: titles[status] ?? 'Refused',
    status,
    code,
    detail: message,
    ...(instance !== undefined && { instance: `urn:uuid:${instance}` }),
    ...(Object.keys(details).length > 0 && { details }),
  }
  return new Response(JSON.stringify(body), { status, headers: { 'Content-Type': 'application/problem+json', ...headers } })
}

const titles: Readonly<Record<number, string>> = {
  400: 'Invalid request',
  401: 'Credential needed',
  403: 'Not allowed',
  404: 'Unknown',
  405: 'Method not supported',
  409: 'Conflict',
  412: 'Outdated',
  413: 'Too large',
  415: 'Content type not supported',
  421: 'Misdirected request',
  429: 'Too many requests',
  500: 'Failed',
  503: 'Store not available',
}
