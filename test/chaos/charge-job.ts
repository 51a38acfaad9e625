import { defineJob } from '../../src/model/definition.ts'
import type { Checked, EffectContext } from '../../src/model/effect.ts'

export interface Order {
  readonly order: string
  /** Whether the job can ask the bank what became of a charge. */
  readonly isChecked: boolean
}

const bank = process.env.BANK ?? ''

interface Booked {
  readonly id: number
}

async function charge(order: string, { idempotencyKey, signal }: EffectContext): Promise<Booked> {
  const body = JSON.stringify({ order, idempotencyKey, pid: process.pid })
  const response = await fetch(`${bank}/charge`, { method: 'POST', signal, body })
  return (await response.json()) as Booked
}

async function check({ idempotencyKey }: EffectContext): Promise<Checked<Booked>> {
  return (await (await fetch(`${bank}/find?key=${idempotencyKey}`)).json()) as Checked<Booked>
}

/** Charges a card once, at a bank that books every request it gets. */
export const pay = defineJob<Order>('pay', { retry: { max: 1000, interval: '20ms', factor: 1 } }, async (ctx) => {
  const { order, isChecked } = ctx.payload
  const { id } = await ctx.once('charge', (given) => charge(order, given), isChecked ? { check } : {})
  ctx.audit('order.paid', { order, charge: String(id) })
  return id
})
