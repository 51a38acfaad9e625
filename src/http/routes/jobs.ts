import { Hono } from 'hono'
import type { Punctual } from '../../client/punctual.ts'
import { readNumber, readQuery } from '../query.ts'

/** The jobs by name and tenant, and the versions of one. */
export function jobRoutes(punctual: Punctual): Hono {
  return new Hono()
    .get('/jobs', async (c) => {
      const { limit, ...query } = readQuery(c.req.url, ['tenant', 'cursor', 'limit'])
      return c.json(await punctual.jobs({ ...query, ...(limit !== undefined && { limit: readNumber(limit, 'limit') }) }))
    })
    .get('/jobs/:name/versions', async (c) => {
      const query = readQuery(c.req.url, ['tenant'])
      return c.json({ items: await punctual.versions(c.req.param('name'), query) })
    })
}
