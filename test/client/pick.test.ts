import { expect, it } from 'vitest'
import type { PunctualOptions } from '../../src/client/options.ts'
import { createPunctual } from '../../src/client/punctual.ts'
import { defineJob } from '../../src/model/definition.ts'
import { memory } from '../../src/store/memory/index.ts'
import { newCluster } from '../support/cluster.ts'
import { onEachStore } from '../support/each-store.ts'

onEachStore('JB-17 pick', (newDatabase) => {
  /** Work of a busy tenant before that of two others, and the order in which a pass runs it. */
  async function orderUnder(pick: PunctualOptions['pick'], limit = 100): Promise<string[]> {
    const { client } = newCluster({ connect: newDatabase() })
    const order: string[] = []
    const job = defineJob('work').task('only', ({ tenant, payload }) => void order.push(`${tenant} ${payload}`))
    const { punctual } = client({ jobs: [job], concurrency: 1, ...(pick && { pick }) })
    const work = [...['a', 'a', 'a', 'a'], 'b', 'c']
    await punctual.enqueueMany(work.map((tenant, payload) => ({ job, tenant, payload })))
    await punctual.runDue({ limit })
    return order
  }

  it.each([undefined, 'priority'] as const)('%s: in the order of the due instants', async (pick) => {
    expect(await orderUnder(pick)).toEqual(['a 0', 'a 1', 'a 2', 'a 3', 'b 4', 'c 5'])
  })

  it('fair: a busy tenant does not keep the others waiting', async () => {
    expect((await orderUnder('fair', 3)).map((line) => line[0]).sort()).toEqual(['a', 'b', 'c'])
  })

  it('a function sees what waits, and its quotas decide', async () => {
    const seen: unknown[] = []
    const order = await orderUnder((waiting) => {
      seen.push(waiting.map(({ tenant, job, priority, count }) => `${tenant} ${job} ${priority} ${count}`).sort())
      return [
        { tenant: 'a', limit: 1 },
        { job: 'work', limit: 1 },
      ]
    })
    expect(seen[0]).toEqual(['a work 5 4', 'b work 5 1', 'c work 5 1'])
    expect(order).toHaveLength(2)
    expect(order).toContain('a 0')
  })

  it('a function that returns nothing claims nothing', async () => {
    expect(await orderUnder(() => [])).toEqual([])
  })

  it('a function that throws claims nothing until the next look', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    let throws = true
    const job = defineJob('work').task('only', () => 1)
    const { punctual } = await node({
      jobs: [job],
      pick: () => {
        if (throws) throw new Error('no quotas today')
        return [{ limit: 10 }]
      },
    })
    await punctual.enqueue(job, undefined)
    await clock.advance('5s')
    expect(await punctual.counts()).toMatchObject({ pending: 1 })
    expect(punctual.health).toMatchObject({ state: 'degraded' })
    throws = false
    await clock.advance('1m')
    expect(await punctual.counts()).toMatchObject({ completed: 1 })
  })
})

it.each(['random', 7])('pick: %j is refused', (pick) => {
  expect(() => createPunctual({ store: memory(), pick: pick as never })).toThrow(/pick must be one of priority, fair/)
})
