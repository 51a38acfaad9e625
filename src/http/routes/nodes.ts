import { Hono } from 'hono'
import type { Punctual } from '../../client/punctual.ts'
import { readQuery } from '../query.ts'

export function nodeRoutes(punctual: Punctual): Hono {
  return new Hono().get('/nodes', async (c) => {
    readQuery(c.req.url, [])
    const nodes = await punctual.nodes()
    return c.json({
      items: nodes.map((node) => ({ ...node, startedAt: new Date(node.startedAt), beatAt: new Date(node.beatAt) })),
    })
  })
}
