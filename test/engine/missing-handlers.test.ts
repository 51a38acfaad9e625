import { describe, expect, it } from 'vitest'
import type { Context } from '../../src/model/context.ts'
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

  it('due work that no node can run is logged as an error once, and runs when a handler comes', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const { punctual, probe, log } = await node({ jobs: [defineJob('other', () => 1)] })
    const errors = () => log.filter(({ level }) => level === 'error').map(({ message }) => message)
    const { id } = await punctual.enqueue('invoice', { order: 1 })
    await clock.advance('1m')
    expect(errors()).toEqual([])
    for (let minute = 0; minute < 5; minute++) await clock.advance('1m')
    const message = 'Work of "invoice" is due, and no node has all its handlers'
    expect(errors()).toEqual([message])
    expect(probe.seen('handler.missing')).toEqual([{ job: 'invoice', task: null, message }])
    const second = await node({ jobs: [defineJob('invoice', () => 'rendered')] })
    await second.probe.next('occurrence.completed')
    expect((await occurrence(punctual, id)).result).toBe('rendered')
    expect(errors()).toEqual([message])
  })

  it('a handler without a definition is told, and hurts nothing', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const job = defineJob('known').task('only', () => 1)
    const { punctual, probe, log } = await node({ jobs: [job], handlers: { stranger: () => 1, known: { other: () => 1 } } })
    expect(probe.seen('handler.missing').map(({ job: name, task }) => [name, task])).toEqual([
      ['known', 'other'],
      ['stranger', null],
    ])
    expect(log.filter(({ level }) => level === 'warn')).toHaveLength(2)
    await punctual.enqueue(job, undefined)
    await probe.next('occurrence.completed')
  })

  it('TM-2 a node that has only handlers runs what another process has declared, whichever comes first', async () => {
    for (const isFirst of [true, false]) {
      const { node, clock } = newCluster({ connect: newDatabase() })
      const declarer = () =>
        node({
          jobs: [
            defineJob('invoice', { retry: { max: 0 } })
              .task('render', { retry: { max: 2, interval: '1s', factor: 1, jitter: 0 } })
              .task('send', { timeout: '3s' }),
            defineJob('ping'),
          ],
          name: 'declarer',
        })
      const attempts: number[] = []
      const handlers = {
        invoice: {
          render: ({ attempt, fail, payload }: Context) => {
            attempts.push(attempt)
            return attempt < 3 ? fail('not yet') : `page for ${payload}`
          },
          send: ({ results }: Context) => `sent ${results.render}`,
        },
        ping: () => 'pong',
      }
      const worker = () => node({ handlers, name: 'worker' })
      const first = isFirst ? await worker() : await declarer()
      const second = isFirst ? await declarer() : await worker()
      await clock.advance('1s')
      const [runner, owner] = isFirst ? [first, second] : [second, first]
      const { id } = await owner.punctual.enqueue('invoice', 'acme')
      const ping = await owner.punctual.enqueue('ping')
      await clock.advance('10s')
      expect(await occurrence(owner.punctual, id)).toMatchObject({ state: 'completed', result: 'sent page for acme' })
      expect(await occurrence(owner.punctual, ping.id)).toMatchObject({ state: 'completed', result: 'pong' })
      expect(attempts).toEqual([1, 2, 3])
      expect(runner.probe.seen('occurrence.completed')).toHaveLength(2)
      expect((await owner.punctual.versions('invoice')).length).toBe(1)
    }
  })

  it('TM-2 a node that has only handlers follows a new edition, and runs none that it lacks a handler for', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const v1 = defineJob('steps').task('one')
    const old = await node({ jobs: [v1], name: 'old' })
    const worker = await node({ handlers: { steps: { one: () => 1, two: () => 2 } }, name: 'worker' })
    await old.punctual.enqueue('steps')
    await clock.advance('5s')
    expect((await worker.probe.next('occurrence.completed')).report.tasks).toHaveLength(1)
    await old.punctual.close()
    const newer = await node({ jobs: [v1.task('two')], name: 'newer' })
    await clock.advance('5s')
    await newer.punctual.enqueue('steps')
    await clock.advance('5s')
    expect((await worker.probe.next('occurrence.completed')).report.tasks).toHaveLength(2)
    await newer.punctual.close()
    const newest = await node({ jobs: [v1.task('two').task('three')], name: 'newest' })
    await clock.advance('5s')
    const { id } = await newest.punctual.enqueue('steps')
    await clock.advance('1m')
    expect((await occurrence(newest.punctual, id)).state).toBe('pending')
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
