import { expect, it } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import { type Cluster, newCluster, occurrence } from '../support/cluster.ts'
import { onEachStore } from '../support/each-store.ts'

const suspects = ['one', 'two', 'three']

/** A job whose suspects hang for as long as the test wants, and two lives of a node that went down with all of them. */
async function newScene({ node, client, pass }: Cluster) {
  const gates = new Map<unknown, PromiseWithResolvers<void>>()
  const job = defineJob('mixed', { retry: { interval: '1s', factor: 1 } }).task('only', ({ payload }) => {
    if (payload === 'plain') return
    const gate = Promise.withResolvers<void>()
    gates.set(payload, gate)
    return gate.promise
  })
  const watcher = await node({ jobs: [], name: 'watcher' })
  const ids = (await watcher.punctual.enqueueMany(suspects.map((payload) => ({ job, payload })))).map(({ id }) => id)
  for (let life = 0; life < 2; life++) {
    gates.clear()
    const one = client({ jobs: [job] })
    await one.punctual.start()
    // On the second life each start is written before its handler runs.
    while (gates.size < suspects.length) await pass(1)
    one.store.freeze()
    await pass(18)
  }
  gates.clear()
  return { job, gates, watcher, ids }
}

onEachStore('Work that was lost twice', (newDatabase) => {
  it('runs one at a time, and takes no room from other work', async () => {
    const cluster = newCluster({ connect: newDatabase() })
    const { job, gates, watcher, ids } = await newScene(cluster)
    const { punctual } = await cluster.node({ jobs: [job], concurrency: 3 })
    await cluster.pass(5)
    expect(gates.size).toBe(1)
    const plain = await watcher.punctual.enqueueMany(Array.from({ length: 10 }, () => ({ job, payload: 'plain' })))
    await cluster.pass(2)
    for (const { id } of plain) expect((await occurrence(punctual, id)).state).toBe('completed')
    for (let done = 0; done < suspects.length; done++) {
      while (gates.size === done) await cluster.pass(1)
      expect(gates.size).toBe(done + 1)
      ;[...gates.values()].at(-1)?.resolve()
    }
    await cluster.pass(1)
    for (const id of ids) expect((await occurrence(punctual, id)).state).toBe('completed')
  })

  it('is given back while another such runs, so that another node can take it', async () => {
    const cluster = newCluster({ connect: newDatabase() })
    const { job, watcher } = await newScene(cluster)
    await cluster.node({ jobs: [job] })
    await cluster.pass(5)
    const { running, retrying, pending } = await watcher.punctual.counts({ job })
    expect([running, retrying + pending]).toEqual([1, 2])
  })
})
