import { expect, it } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import type { Store } from '../../src/store/store.ts'
import { newCluster } from '../support/cluster.ts'
import { onEachStore } from '../support/each-store.ts'

onEachStore('TM-5, TM-9 looks that nobody asked for', (newDatabase, name) => {
  it('only read while nothing is due', async () => {
    const { node, pass } = newCluster({ connect: newDatabase() })
    const job = defineJob('work').task('only', () => {})
    const { punctual, store } = await node({ jobs: [job] })
    await punctual.enqueue(job, undefined, { delay: '1h' })
    await pass(3)
    const verbs = ['claim', 'rescue', 'peek', 'nodes'] as const
    const before = verbs.map((verb) => store.calls(verb))
    await pass(10)
    const [claims, rescues, peeks, looks] = verbs.map((verb, at) => store.calls(verb) - (before[at] as number))
    expect({ claims, peeks, looks }).toEqual({ claims: 0, peeks: 5, looks: 5 })
    // The memory store rescues in the same call as it looks.
    expect(rescues).toBe(name === 'memory' ? 5 : 0)
  })

  it('do not keep the first work of a node waiting: it beats to join and to say what it runs, and prunes later', async () => {
    const { node, pass } = newCluster({ connect: newDatabase() })
    const job = defineJob('work').task('only', () => {})
    const { punctual, probe, store } = await node({ jobs: [job] })
    await punctual.enqueue(job)
    await probe.next('occurrence.completed')
    expect([store.calls('beat'), store.calls('prune')]).toEqual([2, 0])
    await pass(6)
    expect([store.calls('beat'), store.calls('prune')]).toEqual([3, 1])
  })

  it.each([
    ['two seconds', '2s', unheard],
    ['a second where no hints can come', '1s', deaf],
  ] as const)('find work that no hint told of within %s', async (_, within, disturbed) => {
    const connect = newDatabase()
    const { node, client, clock } = newCluster({ connect: () => disturbed(connect()) })
    const ran: unknown[] = []
    const job = defineJob('work').task('only', ({ payload }) => void ran.push(payload))
    const { probe } = await node({ jobs: [job] })
    await clock.advance('10s')
    await client().punctual.enqueue(job, 'untold')
    await clock.settle()
    expect(ran).toEqual([])
    await clock.advance(within)
    await probe.next('occurrence.completed')
    expect(ran).toEqual(['untold'])
  })

  it('ask again for a claim whose outcome is unknown, although nothing is due any more', async () => {
    const connect = newDatabase()
    const { node, client, clock } = newCluster({ connect: () => deaf(connect()) })
    const ran: unknown[] = []
    const job = defineJob('work').task('only', ({ payload }) => void ran.push(payload))
    const { punctual, probe, store } = await node({ jobs: [job] })
    await clock.advance('10s')
    await client().punctual.enqueue(job, 'taken')
    store.loseAnswer('claim')
    await expect(punctual.runDue()).rejects.toMatchObject({ code: 'store.unreachable' })
    expect(ran).toEqual([])
    await clock.advance('1s')
    await probe.next('occurrence.completed')
    expect(ran).toEqual(['taken'])
  })

  it('need not come for a node to be gone: its silence ends at an appointed time', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const first = await node({ jobs: [] })
    const second = await node({ jobs: [], name: 'second', node: { checkInterval: '1h' } })
    await clock.advance('11s')
    first.store.freeze()
    // At 15 s the beat of 10 s is seen, so silence ends at 30 s.
    await clock.advance('18s')
    expect(second.probe.seen('node.gone')).toEqual([])
    await clock.advance('1s')
    await second.probe.next('node.gone')
  })
})

const silent = { subscribe: () => () => {}, wake: async () => {} }

/** A store that gets no hints from other processes, and reports this. */
function deaf(store: Store): Store {
  return overridden(store, { hints: { ...silent, isLive: false } })
}

/** A store whose hints all get lost. */
function unheard(store: Store): Store {
  return overridden(store, { hints: { ...silent, isLive: true } })
}

function overridden(store: Store, over: Partial<Store>): Store {
  return new Proxy(store, {
    get(target, name) {
      if (Object.hasOwn(over, name)) return over[name as keyof Store]
      const value = target[name as keyof Store]
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
