import fastify from 'fastify'
import type { Punctual } from 'punctual'
import { remind } from './jobs.ts'

export function createApp(punctual: Punctual) {
  const app = fastify()
  app.addHook('onReady', async () => {
    await punctual.start()
  })
  app.addHook('onClose', () => punctual.close())
  app.post<{ Params: { id: string } }>('/orders/:id', async (request) => {
    const order = Number(request.params.id)
    const { id, outcome } = await punctual.enqueue(remind, { order }, { key: `order-${order}`, delay: '15m' })
    return { id, outcome }
  })
  return app
}
