import { describe, expect, it } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import { newCluster, occurrence } from '../support/cluster.ts'
import { onEachStore } from '../support/each-store.ts'

onEachStore('TM-6 missing handlers', (newDatabase) => {
  it('a definition without a handler is told, and its work stays pending until a capable node joins', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const job = defineJob('invoice').task('render').task('send')
    const first = await node({ jobs: [job], handlers: { invoice: { render: () => 1 } } })
    expect(await first.probe.next('handler.missing')).toMatchObject({ job: 'invoice', task: 'send' })
    expect(first.log).toContainEqual(expect.objectContaining({ level: 'warn', message: expect.stringContaining('"send"') }))
    const { id } = await first.punctual.enqueue(job, undefined)
    await clock.advance('1h')
    expect((await occurrence(first.punctual, id)).state).toBe('pending')
    expect(first.punctual.health.state).toBe('ok')
    const second = await node({ jobs: [job], handlers: { invoice: { render: () => 1, send: () => 'sent' } } })
    await second.probe.next('occurrence.completed')
    expect((await occurrence(first.punctual, id)).result).toBe('sent')
  })

  it('a handler without a definition is told, and hurts nothing', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const job = defineJob('known').task('only', () => 1)
    const { punctual, probe, log } = await node({ jobs: [job], handlers: { stranger: () => 1, known: { other: () => 1 } } })
    expect(probe.seen('handler.missing').map(({ job: name, task }) => [name, task])).toEqual([
      ['stranger', null],
      ['known', 'other'],
    ])
    expect(log.filter(({ level }) => level === 'warn')).toHaveLength(2)
    await punctual.enqueue(job, undefined)
    await probe.next('occurrence.completed')
  })

  it('a handler that is registered later makes waiting work run', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const job = defineJob('late').task('only')
    const { punctual, probe } = await node({ jobs: [job] })
    await punctual.enqueue(job, 'x')
    punctual.handle('late', ({ payload }: { payload: unknown }) => payload)
    await probe.next('occurrence.completed')
  })

  it('TM-1, TM-2 work enqueued by name from a process without the definition runs where it is known', async () => {
    const { node, client } = newCluster({ connect: newDatabase() })
    const { id } = await client().punctual.enqueue('remote', { a: 1 }, { priority: 3 })
    const job = defineJob('remote').task('only', ({ payload }) => payload)
    const { punctual, probe } = await node({ jobs: [job] })
    await probe.next('occurrence.completed')
    expect(await occurrence(punctual, id)).toMatchObject({ result: { a: 1 }, priority: 3 })
  })
})

describe('TM-6 duplicates', () => {
  it('two definitions of one name, and two handlers of one task, are refused', () => {
    const { client } = newCluster()
    const job = defineJob('twice').task('only', () => 1)
    expect(() => client({ jobs: [job, defineJob('twice')] })).toThrow(expect.objectContaining({ code: 'definition.duplicate' }))
    const { punctual } = client({ jobs: [job], handlers: { other: () => 1 } })
    expect(() => punctual.define(job)).toThrow(expect.objectContaining({ code: 'definition.duplicate' }))
    const twoHandlers = expect.objectContaining({ code: 'handler.duplicate' })
    expect(() => punctual.handle('other', () => 2)).toThrow(twoHandlers)
    expect(() => punctual.handle('twice', () => 2)).toThrow(twoHandlers)
    expect(() => punctual.handle('twice', 'only', () => 2)).toThrow(twoHandlers)
    expect(() => punctual.define(defineJob('other').task('only', () => 1))).toThrow(twoHandlers)
    punctual.define(defineJob('other').task('only'))
    expect(() => punctual.handle('other', 'only', () => 2)).toThrow(twoHandlers)
  })
})
