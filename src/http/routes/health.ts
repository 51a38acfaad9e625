import { Hono } from 'hono'
import type { Punctual } from '../../client/punctual.ts'

/** `/healthz`: the process lives. `/readyz`: this node is doing its work; otherwise 503, with the reasons for those who may read. */
export function healthRoutes(punctual: Punctual, authenticate: (request: Request) => boolean | Promise<boolean>): Hono {
  return new Hono()
    .get('/healthz', (c) => c.json({ state: punctual.health.state }))
    .get('/readyz', async (c) => {
      const { state, reasons } = punctual.health
      const isTold = (await authenticate(c.req.raw)) === true
      return c.json({ state, ...(isTold && { reasons }) }, state === 'ok' ? 200 : 503)
    })
}
