import type { Context } from 'hono'
import { type ErrorCode, type ErrorDetails, PunctualError } from '../errors.ts'
import type { Logger } from '../model/context.ts'

/** Codes that only HTTP has. */
type HttpErrorCode = 'route.unknown' | 'method.unsupported' | 'access.refused' | 'request.failed'
type RefusalStatus = 400 | 401 | 404 | 405 | 409 | 413 | 500 | 503

export function refusal(
  c: Context,
  status: RefusalStatus,
  code: ErrorCode | HttpErrorCode,
  message: string,
  details: ErrorDetails,
): Response {
  return c.json({ error: { code, message, details } }, status)
}

/** A known error says what was wrong; of any other only the log hears more. */
export function errorResponse(c: Context, error: unknown, log: Logger): Response {
  const status = error instanceof PunctualError ? statusOf(error.code) : 500
  if (error instanceof PunctualError && status !== 500)
    return refusal(c, status, error.code, messageOf(error), status === 503 ? {} : error.details)
  log.error('A request failed', {
    path: c.req.path,
    error: error instanceof Error ? (error.stack ?? error.message) : String(error),
  })
  return refusal(c, 500, 'request.failed', 'The request failed; the log of the server says why', {})
}

/** A store's failure may name files, hosts and users: whoever asks learns only that the store is away. */
function messageOf({ code, message }: PunctualError): string {
  return code.startsWith('store.') ? 'The store does not answer; try again' : message
}

const badInput: readonly string[] = ['option', 'name', 'key', 'instant', 'duration', 'zone', 'schedule', 'payload', 'task']

function statusOf(code: ErrorCode): RefusalStatus {
  if (code === 'occurrence.unknown' || code === 'job.unknown' || code === 'definition.unknown') return 404
  if (code === 'occurrence.conflict' || code === 'job.conflict') return 409
  if (code === 'payload.too-large') return 413
  if (
    code === 'store.unreachable' ||
    code === 'store.refused' ||
    code === 'store.busy' ||
    code === 'store.closed' ||
    code === 'punctual.closed'
  )
    return 503
  const [noun] = code.split('.')
  return badInput.includes(noun as string) ? 400 : 500
}
