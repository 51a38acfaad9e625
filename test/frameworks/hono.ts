import { Hono } from 'hono'
import type { Punctual } from 'punctual'
import { createHandler } from 'punctual/http'
import { remind } from './jobs.ts'

export function createApp(punctual: Punctual) {
  const jobs = createHandler(punctual, { basePath: '/jobs', open: true })
  const app = new Hono()
  app.all('/jobs/*', (c) => jobs(c.req.raw))
  app.post('/orders/:id', async (c) => {
    const order = Number(c.req.param('id'))
    const { id, outcome } = await punctual.enqueue(remind, { order }, { key: `order-${order}`, delay: '15m' })
    return c.json({ id, outcome })
  })
  return app
}
