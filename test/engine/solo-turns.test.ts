import { expect, it } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import { newCluster, occurrence, taskStates } from '../support/cluster.ts'
import { onEachStore } from '../support/each-store.ts'

onEachStore('A turn of one task', (newDatabase) => {
  it('that is tried again at once keeps every attempt', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const job = defineJob('eager').task('only', ({ attempt, fail }) => {
      if (attempt === 1) fail('once more', { retryIn: 0 })
      return attempt
    })
    const { punctual, probe } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    await probe.next('occurrence.completed')
    const seen = await occurrence(punctual, id)
    expect(taskStates(seen)).toEqual({ only: 'succeeded failed succeeded' })
    expect(seen).toMatchObject({ state: 'completed', result: 2 })
  })

  it('whose handler returns or throws at once does not pile up on those before it', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    let deepest = 0
    let depth = 0
    const job = defineJob('quick', { retry: { max: 0 } }).task('only', ({ payload }) => {
      depth += 1
      deepest = Math.max(deepest, depth)
      queueMicrotask(() => {
        depth -= 1
      })
      if (payload === 'throw') throw new Error('at once')
    })
    const { punctual } = await node({ jobs: [job], concurrency: 5 })
    const answers = await punctual.enqueueMany(
      Array.from({ length: 500 }, (_, at) => ({ job, payload: at % 2 === 0 ? 'return' : 'throw' })),
    )
    await punctual.idle()
    expect(deepest).toBeLessThanOrEqual(5)
    const states = await Promise.all(answers.slice(-2).map(async ({ id }) => (await occurrence(punctual, id)).state))
    expect(states).toEqual(['completed', 'dead'])
  })

  it('gives a signal that was aborted before it was first asked for', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const seen: unknown[] = []
    const gate = Promise.withResolvers<void>()
    const job = defineJob('late').task('only', async (ctx) => {
      await gate.promise
      seen.push(ctx.signal.aborted, ctx.signal.reason.code)
    })
    const { punctual, probe } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    await probe.next('task.started')
    await punctual.cancel(id, { reason: 'not needed' })
    await clock.settle()
    gate.resolve()
    expect(await probe.next('occurrence.canceled')).toMatchObject({ id, reason: 'not needed' })
    expect(seen).toEqual([true, 'cancel'])
  })

  it('has a timeout of its own among others that began in the same burst', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const job = defineJob('slow', { retry: { max: 0 } }).task(
      'only',
      ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    )
    const { punctual, probe } = await node({ jobs: [job] })
    const timeouts = ['30s', '10s', '20s']
    const answers = await punctual.enqueueMany(timeouts.map((timeout) => ({ job, timeout })))
    for (const { id } of answers) await probe.next('task.started', (event) => event.id === id)
    const dead: (string | undefined)[] = []
    punctual.on('occurrence.failed', ({ id }) => dead.push(timeouts[answers.findIndex((answer) => answer.id === id)]))
    for (const expected of [[], ['10s'], ['10s', '20s'], ['10s', '20s', '30s']]) {
      await clock.settle()
      expect(dead).toEqual(expected)
      await clock.advance('10s')
    }
  })
})
