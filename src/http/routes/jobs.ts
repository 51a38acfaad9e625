import { Hono } from 'hono'
import type { Punctual } from '../../client/punctual.ts'
import { PunctualError } from '../../errors.ts'
import { readNumber, readQuery } from '../query.ts'

const defaultLimit = 100

/** The jobs by name and tenant, and the versions of one. */
export function jobRoutes(punctual: Punctual): Hono {
  return new Hono()
    .get('/jobs', async (c) => {
      const { limit: limitText, after, ...query } = readQuery(c.req.url, ['tenant', 'after', 'limit'])
      const limit = limitText === undefined ? defaultLimit : readNumber(limitText, 'limit')
      const items = await punctual.jobs({ ...query, limit, ...(after !== undefined && { after: decodePlace(after) }) })
      const last = items.at(-1)
      return c.json({ items, cursor: last && items.length === limit ? encodePlace(last) : null })
    })
    .get('/jobs/:name/versions', async (c) => {
      const query = readQuery(c.req.url, ['tenant'])
      return c.json({ items: await punctual.versions(c.req.param('name'), query) })
    })
}

interface Place {
  readonly name: string
  readonly tenant: string
}

/** A place in the list as a text that fits into an address. */
function encodePlace({ name, tenant }: Place): string {
  return Buffer.from(JSON.stringify([name, tenant])).toString('base64url')
}

function decodePlace(text: string): Place {
  try {
    const [name, tenant] = JSON.parse(Buffer.from(text, 'base64url').toString()) as [string, string]
    if (encodePlace({ name, tenant }) === text) return { name, tenant }
  } catch {}
  throw new PunctualError('option.invalid', 'after must be the cursor of the page before', { field: 'after' })
}
