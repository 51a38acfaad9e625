// @ts-expect-error: install @types/express for types
import express from 'express'
import type { Punctual } from 'punctual'
import { createHandler, toNodeHandler } from 'punctual/http'
import { remind } from './jobs.ts'

export async function serve(punctual: Punctual, port: number) {
  const app = express()
  app.use('/jobs', toNodeHandler(createHandler(punctual, { basePath: '/jobs', open: true })))
  app.post('/orders/:id', async (req: { params: { id: string } }, res: { json(body: unknown): void }) => {
    const order = Number(req.params.id)
    const { id, outcome } = await punctual.enqueue(remind, { order }, { key: `order-${order}`, delay: '15m' })
    res.json({ id, outcome })
  })
  await punctual.start()
  const server = app.listen(port, '127.0.0.1')
  // Stop taking requests first, then let running handlers end.
  const stop = async () => {
    await new Promise((done) => server.close(done))
    await punctual.close()
  }
  return { server, stop }
}
