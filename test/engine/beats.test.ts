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
})
