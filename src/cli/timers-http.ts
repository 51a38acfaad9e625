import type { Punctual } from '../client/punctual.ts'
import { schedulerEnv } from '../client/scheduler-env.ts'
import { Access } from '../http/access/access.ts'
import { callerOf } from '../http/api.ts'
import { checkUnbounded } from '../http/call/call.ts'
import { problemResponse, Refusal } from '../http/problem.ts'
import { secured } from '../http/security-headers.ts'
import type { Logger } from '../model/context.ts'
import { metricsText } from '../timers/metrics-text.ts'
import type { Timers } from '../timers/timers.ts'

interface Manner {
  /** Only this machine can send requests. Else health is a state without its reasons, and metrics need a token of the store. */
  readonly isLocal: boolean
  readonly log: Logger
}

/** Serves the health and the metrics of a timer service. */
export function timersHandler(punctual: Punctual, timers: Timers, { isLocal, log }: Manner) {
  const access = new Access(schedulerEnv(punctual), { open: isLocal }, { basePath: '', log })
  const answer = async (request: Request): Promise<Response> => {
    const { pathname } = new URL(request.url)
    if (pathname === '/healthz') return Response.json({ isOk: true })
    if (pathname === '/readyz') {
      const health = await timers.health()
      return Response.json(isLocal ? health : { isOk: health.isOk }, { status: health.isOk ? 200 : 503 })
    }
    if (pathname !== '/metrics') throw new Refusal('route.unknown', 'There are /healthz, /readyz and /metrics')
    checkUnbounded({ caller: await callerOf({ access }, request) }, 'Metrics are of all tenants')
    return new Response(metricsText(timers.metrics), { headers: { 'Content-Type': 'text/plain; version=0.0.4' } })
  }
  return async (request: Request): Promise<Response> =>
    secured(await answer(request).catch((error: unknown) => problemResponse(error, request, log)))
}
