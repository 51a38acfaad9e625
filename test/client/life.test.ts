import { describe, expect, it } from 'vitest'
import { createPunctual } from '../../src/client/punctual.ts'
import { PunctualError } from '../../src/errors.ts'
import { defineJob } from '../../src/model/definition.ts'
import { memory } from '../../src/store/memory/index.ts'
import { drain } from '../../src/testing/drain.ts'
import { manualClock } from '../../src/testing/manual-clock.ts'
import { newCluster } from '../support/cluster.ts'
import { onEachStore } from '../support/each-store.ts'

const job = defineJob('work').task('only', () => 1)

onEachStore('the life of a scheduler', (newDatabase) => {
  it('started twice it is one node, and closed twice it is closed', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const { punctual, store } = await node({ jobs: [job] })
    await punctual.start()
    expect(await punctual.nodes()).toHaveLength(1)
    expect(punctual.health).toEqual({ state: 'ok', reasons: [] })
    await punctual.close()
    await punctual.close()
    expect(store.calls('close')).toBe(1)
    expect(punctual.health.state).toBe('stopped')
  })

  it('one that is not started is a client: it writes and reads, and is no node', async () => {
    const { client } = newCluster({ connect: newDatabase() })
    const { punctual } = client({ jobs: [job] })
    await punctual.enqueue(job, undefined)
    expect(await punctual.nodes()).toEqual([])
    expect(punctual.health.state).toBe('stopped')
    await expect(drain(punctual)).rejects.toMatchObject({ code: 'punctual.stopped' })
  })

  it('drain resolves when all that is due has run, and leaves what is due later', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const { punctual } = await node({ jobs: [job], concurrency: 2 })
    await punctual.enqueueMany(Array.from({ length: 30 }, () => ({ job })))
    await punctual.enqueue(job, undefined, { delay: '1h' })
    await drain(punctual)
    expect(await punctual.counts()).toMatchObject({ completed: 30, pending: 1 })
  })
})

describe('start', () => {
  it.each(['store.newer', 'store.corrupt', 'store.unsupported'] as const)(
    'TS-6 refuses %s, which no waiting mends',
    async (code) => {
      const store = Object.assign(Object.create(memory()), { open: () => Promise.reject(new PunctualError(code, 'hopeless')) })
      const punctual = createPunctual({ store, clock: manualClock(), jobs: [job] })
      await expect(punctual.start()).rejects.toMatchObject({ code })
      expect(punctual.health.state).toBe('stopped')
    },
  )

  it('can be left to the end of a block', async () => {
    const { client } = newCluster()
    const { punctual, store } = client({ jobs: [job] })
    {
      await using one = punctual
      await one.start()
    }
    expect(store.calls('close')).toBe(1)
    await expect(punctual.start()).rejects.toMatchObject({ code: 'punctual.closed' })
  })
})
