import { expect, it } from 'vitest'
import { z } from 'zod'
import { defineJob } from '../../src/model/definition.ts'
import { newCluster } from '../support/cluster.ts'
import { onEachStore } from '../support/each-store.ts'

const secret = '4111111111111111'

onEachStore('redact', (newDatabase) => {
  it('no log line, error, progress, event or audit event has the value; the record and the handler do', async () => {
    const lines: unknown[] = []
    const line = (message: string, fields?: object) => void lines.push(message, fields)
    const { node } = newCluster({ connect: newDatabase() })
    let seen: unknown
    const job = defineJob<{ card: { number: string } }>('pay', { redact: ['card.number'], retry: { max: 0 } }, async (ctx) => {
      const { payload } = ctx
      seen = payload.card.number
      ctx.log.info(`card ${payload.card.number}`, { payload })
      ctx.progress(0.5, `card ${payload.card.number}`)
      ctx.audit('card.refused', { order: '7' }, { number: payload.card.number })
      throw new Error(`refused ${payload.card.number}`, { cause: new Error(payload.card.number) })
    })
    const { punctual, probe } = await node({ jobs: [job], log: { debug: line, info: line, warn: line, error: line } })
    const payload = { card: { number: secret } }
    const { id } = await punctual.enqueue(job, payload)
    const failed = await probe.next('occurrence.failed', (one) => one.id === id)
    expect(seen).toBe(secret)
    const found = await punctual.get(id)
    expect(found).toMatchObject({ payload, redact: ['card.number'], error: { message: 'refused [redacted]' } })
    const { payload: _, ...rest } = found as NonNullable<typeof found>
    const { items } = await punctual.list({ job: 'pay' })
    const shown = { rest, items, failed, lines, progress: probe.seen('task.progress'), tries: probe.seen('task.failed') }
    const text = JSON.stringify([shown, (await punctual.audit({ job: 'pay' })).items])
    expect(text).not.toContain(secret)
    expect(text).toContain('card [redacted]')
    expect(found?.log[0]?.lines[0]).toMatchObject({
      message: 'card [redacted]',
      fields: { payload: { card: { number: '[redacted]' } } },
    })
    expect(text).toContain('card.refused')
  })

  it('the message of a schema that refuses an old payload does not show the value', async () => {
    const { node, client } = newCluster({ connect: newDatabase() })
    const schema = z.object({
      pin: z.string().refine((pin) => pin.length < 4, { error: ({ input }) => `bad pin ${String(input)}` }),
    })
    const job = defineJob('login', { payload: schema, redact: ['pin'], retry: { max: 0 } }, () => {})
    const { id } = await client().punctual.enqueue('login', { pin: '998877' })
    const { probe } = await node({ jobs: [job] })
    const { error } = await probe.next('occurrence.failed', (one) => one.id === id)
    expect(JSON.stringify(error)).not.toContain('998877')
  })

  it('a payload with the mark of a hidden value is refused, and nothing is written', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const job = defineJob<{ pin: string }>('login', { redact: ['pin'] }, () => {})
    const { punctual } = await node({ jobs: [job] })
    await expect(punctual.trigger(job, { payload: { pin: '[redacted]' } })).rejects.toMatchObject({
      code: 'payload.rejected',
      details: { field: 'pin' },
    })
    expect((await punctual.list({ job: 'login' })).items).toEqual([])
  })
})
