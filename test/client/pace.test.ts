import { expect, it } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import { newCluster } from '../support/cluster.ts'
import { onEachStore } from '../support/each-store.ts'

onEachStore('paced calls', (newDatabase) => {
  const started = async () => {
    const seen: unknown[] = []
    const save = defineJob('save', ({ payload }) => {
      seen.push(payload)
    })
    const { node, clock } = newCluster({ connect: newDatabase() })
    return { save, seen, clock, ...(await node({ jobs: [save] })) }
  }

  it('debounced run once, with the last payload', async () => {
    const { save, seen, clock, punctual } = await started()
    for (const draft of [1, 2, 3]) {
      await punctual.enqueue(save, draft, { key: 'doc', debounce: { wait: '5s', longest: '1m' } })
      await clock.advance(2000)
    }
    expect(seen).toEqual([])
    await clock.advance(3000)
    await punctual.idle()
    expect(seen).toEqual([3])
    expect((await punctual.list()).items).toHaveLength(1)
  })

  it('throttled run once within the time, with the first payload', async () => {
    const { save, seen, clock, punctual } = await started()
    for (const draft of [1, 2, 3]) {
      const handle = await punctual.enqueue(save, draft, { key: 'doc', throttle: '1m' })
      expect(handle.outcome).toBe(draft === 1 ? 'created' : 'existing')
      await punctual.idle()
      await clock.advance(10_000)
    }
    await clock.advance(30_000)
    await punctual.enqueue(save, 4, { key: 'doc', throttle: '1m' })
    await punctual.idle()
    expect(seen).toEqual([1, 4])
  })

  it('refuse a missing key, other ways to wait and odd times, and write nothing', async () => {
    const { save, punctual } = await started()
    const debounce = { wait: '5s' }
    for (const options of [
      { debounce },
      { throttle: '1m', idempotencyKey: 'k' },
      { key: 'k', debounce, throttle: '1m' },
      { key: 'k', debounce, delay: '1m' },
      { key: 'k', debounce, onConflict: 'replace' as const },
      { key: 'k', throttle: 0 },
      { key: 'k', debounce: { wait: '5s', longest: '4s' } },
    ])
      await expect(punctual.enqueue(save, 1, options)).rejects.toMatchObject({ code: 'option.invalid' })
    const odd = { key: 'k', debounce: { wait: '5s', most: '1m' } } as never
    await expect(punctual.enqueue(save, 1, odd)).rejects.toMatchObject({ code: 'option.unknown' })
    expect((await punctual.list()).items).toEqual([])
  })

  it('refuse a throttle that is not shorter than the retention of the job', async () => {
    const { save, punctual } = await started()
    const brief = defineJob('brief', { retention: { age: '7d', failed: '1h' } }, () => {})
    const kept = defineJob('kept', { retention: 'forever' }, () => {})
    const refused = { code: 'option.invalid', details: { field: 'throttle' } }
    await expect(punctual.enqueue(brief, undefined, { key: 'k', throttle: '1h' })).rejects.toMatchObject(refused)
    await expect(punctual.enqueue(save, 1, { key: 'k', throttle: '3650d' })).rejects.toMatchObject(refused)
    expect((await punctual.list()).items).toEqual([])
    expect((await punctual.enqueue(brief, undefined, { key: 'k', throttle: '59m' })).outcome).toBe('created')
    expect((await punctual.enqueue(kept, undefined, { key: 'k', throttle: '3650d' })).outcome).toBe('created')
  })
})
