import { describe, expect, it } from 'vitest'
import { memory } from '../../src/store/memory/index.ts'
import type { Queryable } from '../../src/store/store.ts'
import { newCluster } from '../support/cluster.ts'
import { onEachStore } from '../support/each-store.ts'

const unused: Queryable = { query: () => Promise.reject(new Error('must not be used')) }

describe('a transaction of the caller’s', () => {
  it('is refused on the memory store, by name, and nothing is written', async () => {
    const { punctual, store } = newCluster().client()
    const refused = { code: 'transaction.unsupported', details: { store: 'memory' }, message: expect.stringContaining('memory') }
    await expect(punctual.enqueue('mail', 1, { tx: unused })).rejects.toMatchObject(refused)
    await expect(punctual.enqueueMany([{ job: 'mail' }], { tx: unused })).rejects.toMatchObject(refused)
    await expect(punctual.cancel({ job: 'mail', key: 'k' }, { tx: unused })).rejects.toMatchObject(refused)
    expect([store.calls('create'), store.calls('cancel')]).toEqual([0, 0])
  })

  it('is left out by undefined', async () => {
    const { punctual } = newCluster().client()
    expect((await punctual.enqueue('mail', 1, { tx: undefined, key: 'k' })).outcome).toBe('created')
    expect(await punctual.enqueueMany([], { tx: undefined })).toEqual([])
    expect(await punctual.cancel({ job: 'mail', key: 'k' }, { tx: undefined })).toBe('canceled')
  })

  it('is checked before anything else happens', async () => {
    const { punctual, store } = joining()
    const invalid = { code: 'option.invalid', details: { field: 'tx' } }
    for (const tx of [null, 'BEGIN', {}, { query: 1 }] as unknown as Queryable[]) {
      await expect(punctual.enqueue('mail', 1, { tx })).rejects.toMatchObject(invalid)
      await expect(punctual.enqueueMany([], { tx })).rejects.toMatchObject(invalid)
      await expect(punctual.cancel('x', { tx })).rejects.toMatchObject(invalid)
    }
    const cyclic: Record<string, unknown> = {}
    cyclic.self = cyclic
    await expect(punctual.enqueue('mail', cyclic, { tx: unused })).rejects.toMatchObject({ code: 'payload.invalid' })
    await expect(punctual.enqueue('mail', 1, { tx: unused, key: '\0' })).rejects.toMatchObject({ code: 'key.invalid' })
    await expect(punctual.cancel('x', { tx: unused, reason: '' })).rejects.toMatchObject({ code: 'option.invalid' })
    const odd = { tx: unused, key: 'k' } as never
    await expect(punctual.enqueueMany([{ job: 'mail' }], odd)).rejects.toMatchObject({ code: 'option.unknown' })
    const inside = [{ job: 'mail', tx: unused }] as never
    await expect(punctual.enqueueMany(inside)).rejects.toMatchObject({ code: 'option.unknown' })
    expect([store.calls('create'), store.calls('cancel')]).toEqual([0, 0])
  })

  it('gets all of a bulk, in as many calls as the limit of the store asks for', async () => {
    const { punctual, store } = joining()
    const requests = Array.from({ length: 2500 }, (_, at) => ({ job: 'mail', payload: at }))
    expect(await punctual.enqueueMany(requests, { tx: unused })).toHaveLength(2500)
    expect(store.calls('create')).toBe(3)
  })
})

onEachStore('wake', (newDatabase) => {
  it('is harmless, on a node and on a client, also while the store is away', async () => {
    const { node, client } = newCluster({ connect: newDatabase() })
    const { punctual: runs } = await node({ jobs: [] })
    const { punctual, store } = client()
    await runs.wake()
    await punctual.wake()
    store.cut()
    await punctual.wake()
    store.heal()
    await Promise.all([punctual.wake(), punctual.wake()])
    await punctual.close()
    await expect(punctual.wake()).rejects.toMatchObject({ code: 'punctual.closed' })
    await runs.close()
  })
})

/** A client on a store that says it can, and takes no notice of the transaction. */
function joining() {
  const store = Object.assign(memory(), { abilities: new Set(['join']) })
  return newCluster({ connect: () => store }).client()
}
