import { Hono } from 'hono'
import { stderrLogger } from '../client/logger.ts'
import type { Punctual } from '../client/punctual.ts'
import { schedulerEnv } from '../client/scheduler-env.ts'
import { PunctualError } from '../errors.ts'
import type { Logger } from '../model/context.ts'
import { checkOneOf, checkOptions, checkWhole } from '../model/limits.ts'
import { Access, type AccessOptions, checkAccess } from './access/access.ts'
import { apiRoutes, callerOf, type Limits } from './api.ts'
import { Board } from './board/board.ts'
import { checkUnbounded, type Desk } from './call/call.ts'
import { metricsPage } from './metrics/metrics-page.ts'
import { openApi } from './openapi.ts'
import { problemResponse, Refusal } from './problem.ts'
import { dashboardRoutes } from './routes/dashboard.ts'
import { secured } from './security-headers.ts'
import { Changes } from './stream/changes.ts'
import { eventStream } from './stream/event-stream.ts'

/** The options of `createHandler`. Without `authenticate`, `proxy` and `open` requests need a token of the store. */
export interface HandlerOptions extends AccessOptions {
  /** Where the handler is mounted, such as `/punctual`. Default: the root. */
  basePath?: string
  /** Refuses everything that writes, whatever the role. Default false. */
  readOnly?: boolean
  /** A name of this installation, such as `production eu-1`, for people to read. */
  label?: string
  /** `open`: `/metrics` needs no token. Default `guarded`: a role, and no bounds of tenants. */
  metrics?: 'guarded' | 'open'
  /** Bounds on requests. */
  limits?: Partial<Limits>
  /** Gets failures whose details no response may carry. Default: lines of JSON on standard error. */
  log?: Logger
}

const optionNames = ['authenticate', 'proxy', 'open', 'origins', 'basePath', 'readOnly', 'label', 'metrics', 'limits', 'log']
const defaultLimits: Limits = { bodyBytes: 512 * 1024, requestsPerSecond: 5000 }

/**
 * A Fetch handler for a scheduler: the dashboard at `/`, the API under `/api/v1`, its description at `/api/openapi.json`, changes as a
 * stream at `/api/v1/events`, `/healthz`, `/readyz` and `/metrics`.
 * @example export default { fetch: createHandler(punctual, { basePath: '/jobs', authenticate: (request) => userOf(request) }) }
 */
export function createHandler(punctual: Punctual, options: HandlerOptions = {}): (request: Request) => Promise<Response> {
  checkOptions(options, optionNames, 'createHandler')
  checkAccess(options)
  const basePath = checkBasePath(options.basePath ?? '')
  const log = options.log ?? stderrLogger
  const env = schedulerEnv(punctual)
  const desk: Desk = {
    punctual,
    env,
    access: new Access(env, options, { basePath, log }),
    board: new Board(env),
    label: options.label ?? null,
    isReadOnly: options.readOnly === true,
  }
  const isMetricsOpen = checkOneOf(options.metrics ?? 'guarded', 'metrics', ['guarded', 'open']) === 'open'
  const app = routes(desk, basePath, checkLimits(options.limits), isMetricsOpen)
  app.onError((error, c) => problemResponse(error, c.req.raw, log))
  return async (request) => {
    try {
      return secured(await app.fetch(request))
    } catch (error) {
      return secured(problemResponse(error, request, log))
    }
  }
}

function routes(desk: Desk, basePath: string, limits: Limits, isMetricsOpen: boolean): Hono {
  const { punctual, env } = desk
  const changes = new Changes(env)
  const root = `${basePath}/api/v1`
  const app = new Hono({ getPath: (request) => withoutSlash(request, basePath) })
  app.get('/healthz', () => Response.json({ state: punctual.health.state }))
  app.get('/readyz', () =>
    Response.json({ state: punctual.health.state }, { status: punctual.health.state === 'ok' ? 200 : 503 }),
  )
  const page = metricsPage(punctual)
  app.get('/metrics', async (c) => {
    if (!isMetricsOpen) checkUnbounded({ caller: await callerOf(desk, c.req.raw) }, 'Metrics are of all tenants')
    return page.response()
  })
  app.get('/api/openapi.json', async (c) => {
    await callerOf(desk, c.req.raw)
    return Response.json(openApi(root))
  })
  app.get('/api/v1/events', async (c) => {
    const request = c.req.raw
    const isStillLetIn = async () => (await desk.access.caller(request)) !== null
    return eventStream(await callerOf(desk, request), request, { changes, isStillLetIn })
  })
  app.route('/api/v1', apiRoutes(desk, root, limits))
  app.route('/', dashboardRoutes(basePath))
  app.all('*', unknown)
  return app
}

function unknown(): never {
  throw new Refusal('route.unknown', 'There is nothing at this address')
}

/** The path beneath the mount, with and without a slash at its end. Paths outside the mount are unknown. */
function withoutSlash(request: Request, basePath: string): string {
  const { pathname } = new URL(request.url)
  const isInside = basePath === '' || pathname === basePath || pathname.startsWith(`${basePath}/`)
  const path = isInside ? pathname.slice(basePath.length) : '/api/outside'
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path || '/'
}

function checkLimits(given: Partial<Limits> = {}): Limits {
  checkOptions(given, ['bodyBytes', 'requestsPerSecond'], 'limits')
  const limits = { ...defaultLimits, ...given }
  checkWhole(limits.bodyBytes, 'limits.bodyBytes', 1, 64 * 1024 * 1024)
  checkWhole(limits.requestsPerSecond, 'limits.requestsPerSecond', 1, 1_000_000)
  return limits
}

function checkBasePath(basePath: string): string {
  if (typeof basePath === 'string' && /^(\/[\w.~-]+)*\/?$/.test(basePath)) return basePath.replace(/\/$/, '')
  throw new PunctualError(
    'option.invalid',
    `basePath must be a path such as /punctual, of letters, digits and - . _ ~; got ${JSON.stringify(basePath)}`,
    { field: 'basePath', given: basePath },
  )
}
