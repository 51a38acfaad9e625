import { expect, it } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import { newCluster, occurrence } from '../support/cluster.ts'
import { onEachStore } from '../support/each-store.ts'

onEachStore('TM-7 lines of ctx.log', (newDatabase) => {
  it('are stored with their attempt, with level, instant and fields, and debug lines are not', async () => {
    const { node, clock } = newCluster({ connect: newDatabase(), start: '2026-03-01T12:00:00Z' })
    const job = defineJob('import', { retry: { max: 1, interval: '1s' } }).task('rows', ({ log, attempt, fail }) => {
      log.debug('noise')
      log.info('begun', { file: 'a.csv', big: 5n })
      log.error('broken', { error: new TypeError('no such column') })
      if (attempt === 1) fail('once')
    })
    const { punctual, probe } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    await probe.next('occurrence.retrying')
    await clock.advance('1s')
    await probe.next('occurrence.completed')
    const { log } = await occurrence(punctual, id)
    expect(log.map(({ task, attempt, turn, dropped }) => [task, attempt, turn, dropped])).toEqual([
      ['rows', 1, 1, 0],
      ['rows', 2, 2, 0],
    ])
    expect(log[0]?.lines).toEqual([
      { at: new Date('2026-03-01T12:00:00Z'), level: 'info', message: 'begun', fields: { file: 'a.csv', big: '5' } },
      {
        at: new Date('2026-03-01T12:00:00Z'),
        level: 'error',
        message: 'broken',
        fields: { error: expect.objectContaining({ name: 'TypeError', message: 'no such column' }) },
      },
    ])
  })

  it('of a running attempt are seen a second later, and stay when its node is lost', async () => {
    const { node, clock, pass } = newCluster({ connect: newDatabase() })
    const job = defineJob('import').task('rows', ({ log, attempt }) => {
      log.info(`try ${attempt}`)
      return attempt === 1 ? new Promise(() => {}) : undefined
    })
    const first = await node({ jobs: [job] })
    const { id } = await first.punctual.enqueue(job, undefined)
    await first.probe.next('task.started')
    await clock.advance('1s')
    await clock.settle()
    const messages = async (node = first) =>
      (await occurrence(node.punctual, id)).log.map(({ turn, lines }) => [turn, ...lines.map(({ message }) => message)])
    expect(await messages()).toEqual([[1, 'try 1']])
    first.store.freeze()
    const second = await node({ jobs: [job] })
    await pass(25)
    await second.probe.next('occurrence.completed')
    expect(await messages(second)).toEqual([
      [1, 'try 1'],
      [2, 'try 2'],
    ])
  })

  it('keep to their cap: the oldest are dropped and counted, and a long line is cut', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const cycle: { self?: unknown } = {}
    cycle.self = cycle
    const job = defineJob('chatty').task('only', ({ log }) => {
      for (let line = 1; line <= 1000; line++) log.info(`line ${line} ${'x'.repeat(100)}`)
      log.warn('y'.repeat(100_000), { text: 'z'.repeat(100_000) })
      log.warn('odd', cycle)
    })
    const { punctual, probe, store } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    await probe.next('occurrence.completed')
    const [log] = (await occurrence(punctual, id)).log
    expect((log?.dropped ?? 0) + (log?.lines.length ?? 0)).toBe(1002)
    expect(log?.lines.at(-2)?.message).toMatch(/^y+… \[cut\]$/)
    expect(log?.lines.at(-1)).toMatchObject({ message: 'odd', fields: { unreadable: expect.any(String) } })
    expect((await store.get({ id }))?.logs[0]?.text.length).toBeLessThan(18 * 1024)
  })

  it('of a handler that was written off are not stored any more', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const late = Promise.withResolvers<void>()
    const job = defineJob('slow', { timeout: '1s', retry: { max: 0 } }).task('only', async ({ log }) => {
      log.info('in time')
      await late.promise
      log.info('too late')
    })
    const { punctual, probe } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    await probe.next('task.started')
    await clock.advance('10m')
    await probe.next('occurrence.failed')
    late.resolve()
    await clock.settle()
    expect((await occurrence(punctual, id)).log.flatMap(({ lines }) => lines.map(({ message }) => message))).toEqual(['in time'])
  })
})
