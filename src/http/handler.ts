import { Hono, type MiddlewareHandler } from 'hono'
import { getPath } from 'hono/utils/url'
import { stderrLogger } from '../client/logger.ts'
import type { Punctual } from '../client/punctual.ts'
import { PunctualError } from '../errors.ts'
import type { Logger } from '../model/context.ts'
import { checkOptions } from '../model/limits.ts'
import { errorResponse, refusal } from './error-response.ts'
import { explainRoutes } from './routes/explain.ts'
import { healthRoutes } from './routes/health.ts'
import { jobRoutes } from './routes/jobs.ts'
import { nodeRoutes } from './routes/nodes.ts'
import { occurrenceRoutes } from './routes/occurrences.ts'
import { statusPageRoutes } from './routes/status-page.ts'
import { securityHeaders } from './security-headers.ts'

/** The options of `createHandler`. */
export interface HandlerOptions {
  /** Decides whether a request may read: anything but true is answered with 401. `/healthz` and `/readyz` show their bare state to everyone. Default: all may read. */
  authenticate?: (request: Request) => boolean | Promise<boolean>
  /** Where the handler is mounted, such as `/punctual`. Default: the root. */
  basePath?: string
  /** Hears of failures whose details no response may carry. Default: lines of JSON on standard error. */
  log?: Logger
}

/**
 * A Fetch handler that shows what a scheduler knows: a status page at `/`, JSON under `/api/v1`, `/healthz` and `/readyz`.
 * It only reads.
 * @example export default { fetch: createHandler(punctual, { basePath: '/jobs', authenticate: isAdmin }) }
 */
export function createHandler(punctual: Punctual, options: HandlerOptions = {}): (request: Request) => Promise<Response> {
  checkOptions(options, ['authenticate', 'basePath', 'log'], 'createHandler')
  const basePath = checkBasePath(options.basePath ?? '')
  const authenticate = checkAuthenticate(options.authenticate)
  const log = options.log ?? stderrLogger

  // The base path itself answers with and without a slash at its end.
  const app = new Hono({ getPath: (request) => pathOf(request, basePath) })
    .basePath(basePath || '/')
    .use(securityHeaders)
    .use(onlyReads)
    .route('/', healthRoutes(punctual, authenticate))
    .use(onlyAuthenticated(authenticate))
    .route('/', statusPageRoutes(punctual, basePath))
    .route('/api/v1', jobRoutes(punctual))
    .route('/api/v1', occurrenceRoutes(punctual))
    .route('/api/v1', explainRoutes(punctual))
    .route('/api/v1', nodeRoutes(punctual))
  app.notFound((c) => refusal(c, 404, 'route.unknown', 'There is nothing at this address', {}))
  app.onError((error, c) => errorResponse(c, error, log))
  return async (request) => app.fetch(request)
}

function pathOf(request: Request, basePath: string): string {
  const path = getPath(request)
  return path === `${basePath}/` ? basePath || '/' : path
}

const onlyReads: MiddlewareHandler = async (c, next) => {
  if (c.req.method === 'GET' || c.req.method === 'HEAD') return next()
  c.header('Allow', 'GET, HEAD')
  return refusal(c, 405, 'method.unsupported', 'This interface only reads: use GET', { allowed: ['GET', 'HEAD'] })
}

function onlyAuthenticated(authenticate: (request: Request) => boolean | Promise<boolean>): MiddlewareHandler {
  return async (c, next) => {
    if ((await authenticate(c.req.raw)) === true) return next()
    return refusal(c, 401, 'access.refused', 'This request does not show that it may read here', {})
  }
}

function checkAuthenticate(authenticate: HandlerOptions['authenticate']): (request: Request) => boolean | Promise<boolean> {
  if (authenticate === undefined) return () => true
  if (typeof authenticate === 'function') return authenticate
  throw new PunctualError('option.invalid', `authenticate must be a function; got ${typeof authenticate}`, {
    field: 'authenticate',
  })
}

function checkBasePath(basePath: string): string {
  if (typeof basePath === 'string' && /^(\/[\w.~-]+)*\/?$/.test(basePath)) return basePath.replace(/\/$/, '')
  throw new PunctualError(
    'option.invalid',
    `basePath must be a path such as /punctual, of letters, digits and - . _ ~; got ${JSON.stringify(basePath)}`,
    { field: 'basePath', given: basePath },
  )
}
