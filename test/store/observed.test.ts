import { describe, expect, it } from 'vitest'
import { createPunctual, type StoreCall } from '../../src/index.ts'
import { defineJob } from '../../src/model/definition.ts'
import { memory } from '../../src/store/memory/index.ts'
import { manualClock } from '../../src/testing/manual-clock.ts'

const job = defineJob('job', () => 1)

describe('calls to the store', () => {
  it('are reported with verb, duration and error, until the listener ends', async () => {
    const store = memory()
    const clock = manualClock()
    const punctual = createPunctual({ store, clock, jobs: [job] })
    const calls: StoreCall[] = []
    const end = punctual.onStoreCall((call) => calls.push(call))
    await punctual.enqueue(job)
    expect(calls.map(({ verb }) => verb)).toEqual(['open', 'create'])
    expect(calls.every(({ durationMs, error }) => durationMs >= 0 && error === null)).toBe(true)
    const broken = new Error('away')
    store.list = async () => {
      throw broken
    }
    await expect(punctual.list()).rejects.toBe(broken)
    expect(calls.at(-1)).toMatchObject({ verb: 'list', error: broken })
    end()
    await punctual.counts()
    expect(calls).toHaveLength(3)
    await punctual.close()
  })

  it('open the store once, however many come at the same time, and again after a failure', async () => {
    const store = memory()
    let opened = 0
    const open = store.open.bind(store)
    store.open = async (env) => {
      opened++
      if (opened === 1) throw new Error('not yet')
      await open(env)
    }
    const punctual = createPunctual({ store, clock: manualClock(), jobs: [job] })
    const first = await Promise.allSettled([punctual.list(), punctual.counts()])
    expect(first.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    await Promise.all([punctual.list(), punctual.counts(), punctual.nodes()])
    expect(opened).toBe(2)
    await punctual.close()
  })

  it('never open a store again after close', async () => {
    const store = memory()
    let opened = 0
    const open = store.open.bind(store)
    store.open = (env) => {
      opened++
      return open(env)
    }
    const punctual = createPunctual({ store, clock: manualClock(), jobs: [job] })
    await punctual.list()
    await punctual.close()
    for (const call of [() => punctual.list(), () => punctual.enqueue(job), () => punctual.wake(), () => punctual.status(job)])
      await expect(call()).rejects.toMatchObject({ code: 'punctual.closed' })
    expect(opened).toBe(1)
  })
})
