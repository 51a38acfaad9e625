import { expect, it } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import { newCluster, occurrence } from '../support/cluster.ts'
import { onEachStore } from '../support/each-store.ts'

onEachStore('TM-5 claims', (newDatabase) => {
  it('made while a beat is on its way are not given back by it', async () => {
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

  it('that find no slot for a second are given back, so that another node runs them', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const gate = Promise.withResolvers<void>()
    const job = defineJob('mixed').task('only', async ({ payload }) => {
      if (payload === 'long') await gate.promise
    })
    const busy = await node({ jobs: [job], concurrency: 1 })
    await busy.punctual.enqueue(job, 'long')
    await clock.advance('1s')
    const ids = await busy.punctual.enqueue(['a', 'b', 'c'].map((payload) => ({ job, payload })))
    await clock.settle()
    const free = await node({ jobs: [job], concurrency: 1 })
    await clock.advance('5s')
    for (const { id } of ids) expect((await occurrence(free.punctual, id)).state).toBe('completed')
    gate.resolve()
    await clock.advance('1s')
    expect(await free.punctual.counts()).toMatchObject({ completed: 4 })
  })

  it('of a pass by hand wait for their slot, however long that takes', async () => {
    const { client, clock } = newCluster({ connect: newDatabase() })
    const job = defineJob('slow').task('only', () => new Promise<void>((resolve) => void clock.timer(5000, resolve)))
    const { punctual } = client({ jobs: [job], concurrency: 1 })
    await punctual.enqueue([1, 2, 3].map((payload) => ({ job, payload })))
    const summary = punctual.runDue()
    await clock.advance('20s')
    expect(await summary).toMatchObject({ claimed: 3, succeeded: 3 })
  })
})
