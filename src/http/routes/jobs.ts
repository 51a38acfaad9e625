import { Hono } from 'hono'
import type { Punctual } from '../../client/punctual.ts'
import { readNumber, readQuery } from '../query.ts'

const defaultLimit = 100

/** The jobs by name; `after` is the name of the last one of the page before. */
export function jobRoutes(punctual: Punctual): Hono {
  return new Hono().get('/jobs', async (c) => {
    const { limit: limitText, ...query } = readQuery(c.req.url, ['tenant', 'after', 'limit'])
    const limit = limitText === undefined ? defaultLimit : readNumber(limitText, 'limit')
    const items = await punctual.jobs({ ...query, limit })
    return c.json({ items, cursor: items.length === limit ? (items.at(-1)?.name ?? null) : null })
  })
}
