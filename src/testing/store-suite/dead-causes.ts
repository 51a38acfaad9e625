import assert from 'node:assert/strict'
import type { OccurrenceFilter } from '../../store/query.ts'
import type { CountsQuery, DeadCause, NewOccurrence } from '../../store/store.ts'
import { minute, type Scene } from './scene.ts'
import { topic } from './topic.ts'

export const deadCauseCases = topic('dead causes', {
  'dead work is grouped by what it died of, however the ids in its messages differ': async (scene) => {
    const first = scene.now
    await die(scene, 'no order 41', { tenant: 'globex' })
    await scene.clock.advance(minute)
    const newest = await die(scene, 'no order 42', { tenant: 'acme' })
    await die(scene, 'card refused')
    const [most, other, ...rest] = await causes(scene)
    assert.deepEqual(
      { ...most, cause: 'any' },
      {
        ...{ cause: 'any', count: 2, firstAt: first, lastAt: first + minute, sample: newest },
        tenants: ['acme', 'globex'],
      },
    )
    assert.deepEqual([other?.count, rest], [1, []])
    assert.notEqual(most?.cause, other?.cause)
  },
  'groups are those of a tenant and a job, the most frequent first, at most as many as asked for': async (scene) => {
    await die(scene, 'rare', { tenant: 'acme' })
    for (const tenant of ['acme', 'globex', 'globex']) await die(scene, 'often', { tenant })
    const counts = async (of: CountsQuery) => (await causes(scene, of)).map(({ count }) => count)
    assert.deepEqual(await counts({}), [3, 1])
    assert.deepEqual(await counts({ causes: 1 }), [3])
    assert.deepEqual(await counts({ tenant: 'globex' }), [2])
    assert.deepEqual(await counts({ tenant: 'acme', job: 'mail' }), [1, 1])
    assert.deepEqual(await counts({ job: 'report' }), [])
  },
  'a list has only the dead work of a cause, page by page': async (scene) => {
    const wanted = [await die(scene, 'no order 1'), await die(scene, 'no order 2', { tenant: 'acme', key: 'k', entity: 'e' })]
    await die(scene, 'card refused')
    await scene.completed()
    const { cause } = (await causes(scene))[0] as DeadCause
    const listed = async (filter: Partial<OccurrenceFilter> = {}) =>
      (await scene.store.list({ limit: 10, cause, ...filter })).items.map(({ id }) => id)
    assert.deepEqual(await listed(), wanted.toReversed())
    const page = await scene.store.list({ limit: 1, cause })
    assert.deepEqual([page.items[0]?.id, page.items[0]?.cause], [wanted[1], cause])
    assert.deepEqual(await listed({ cursor: page.cursor as string }), [wanted[0]])
    assert.deepEqual(await listed({ tenant: 'acme' }), [wanted[1]])
    assert.deepEqual(await listed({ tenant: 'acme', key: 'k' }), [wanted[1]])
    assert.deepEqual(await listed({ entity: 'e' }), [wanted[1]])
    assert.deepEqual(await listed({ from: scene.now - minute, to: scene.now + minute }), wanted.toReversed())
    assert.deepEqual(await listed({ to: scene.now }), [])
    assert.deepEqual(await listed({ cause: 'another' }), [])
  },
  'work that is revived or discarded leaves its group': async (scene) => {
    const [revived, discarded] = [await die(scene, 'no'), await die(scene, 'no')]
    await scene.store.move({ which: { id: revived }, to: { retry: { in: minute } } })
    assert.equal((await causes(scene))[0]?.count, 1)
    await scene.store.move({ which: { id: discarded }, to: { discard: null } })
    assert.deepEqual(await causes(scene), [])
    assert.equal((await scene.store.list({ limit: 1 })).items[0]?.cause, null)
  },
  'work that a rescue buries has a cause': async (scene) => {
    await scene.running()
    await scene.loseNode({ mostRecoveries: 0 })
    const [group] = await causes(scene)
    assert.equal(group?.count, 1)
    assert.equal((await scene.store.list({ limit: 1, cause: group?.cause as string })).items.length, 1)
  },
  'a retry may bring another payload': async (scene) => {
    const id = await scene.dead({ payload: '1' })
    assert.equal(await scene.store.move({ which: { id }, to: { retry: { in: 0 }, payload: '2' } }), 'moved')
    assert.equal((await scene.get(id)).record.payload, '2')
    assert.equal((await scene.claim()).answer.members[0]?.record.payload, '2')
  },
})

async function causes({ store }: Scene, query: CountsQuery = {}): Promise<readonly DeadCause[]> {
  return (await store.counts({ causes: 10, ...query })).causes
}

async function die(scene: Scene, message: string, over: Partial<NewOccurrence> = {}): Promise<string> {
  const holding = await scene.running(over)
  assert.equal(await scene.settle(holding, 'dead', { end: scene.end('dead', { error: { message } }) }), 'ok')
  return holding.id
}
