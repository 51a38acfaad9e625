import { remind } from '../../jobs.ts'
import { punctual } from '../../punctual.ts'

export async function POST(_request: Request, { params }: { params: Promise<{ id: string }> }) {
  const order = Number((await params).id)
  const { id, outcome } = await punctual.enqueue(remind, { order }, { key: `order-${order}`, delay: '15m' })
  return Response.json({ id, outcome })
}
