import { expect, it } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import { newCluster, occurrence } from '../support/cluster.ts'
import { onEachStore } from '../support/each-store.ts'

onEachStore('TM-5 beats', (newDatabase) => {
  it('do not give back a claim that was made while they were on their way', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const blocked = Promise.withResolvers<void>()
    const starts: number[] = []
    const job = defineJob('slow').task('only', ({ attempt }) => {
      starts.push(attempt)
      return blocked.promise
    })
    const { punctual, store, probe } = await node({ jobs: [job] })
    const beats = store.calls('beat')
    const letThrough = store.hold('beat')
    await clock.advance('5s')
    expect(store.calls('beat')).toBe(beats + 1)
    const { id } = await punctual.enqueue(job, undefined)
    await clock.settle()
    letThrough()
    await clock.settle()
    blocked.resolve()
    await probe.next('occurrence.completed')
    expect(starts).toEqual([1])
    expect((await occurrence(punctual, id)).turns).toHaveLength(1)
  })

  it('come in time while the store keeps figures waiting, so a node that hears nothing stops itself', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const isAborted = Promise.withResolvers<string>()
    const job = defineJob('slow').task('only', async ({ payload, signal }) => {
      if (payload === 'long') signal.addEventListener('abort', () => isAborted.resolve(signal.reason.code))
      if (payload === 'long') await isAborted.promise
    })
    const { punctual, store, probe } = await node({ jobs: [job] })
    const letThrough = store.hold('figures')
    await punctual.enqueue(job, undefined)
    await probe.next('occurrence.completed')
    await punctual.enqueue(job, 'long')
    await probe.next('task.started')
    await clock.advance('5s')
    const beats = store.calls('beat')
    await clock.advance('15s')
    expect(store.calls('beat')).toBe(beats + 3)
    store.stall()
    await clock.advance('15s')
    expect(await isAborted.promise).toBe('lost')
    letThrough()
    store.heal()
  })
})
