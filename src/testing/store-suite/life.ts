import assert from 'node:assert/strict'
import { type Ability, abilities } from '../../store/abilities.ts'
import { dump } from './dump.ts'
import { memberRef } from './scene.ts'
import { topic } from './topic.ts'

const anyStore = topic('life', {
  'every ability is either had or declared as lacking with a reason': async ({ store, lacks }) => {
    for (const ability of Object.keys(abilities) as Ability[]) {
      assert.notEqual(
        store.abilities.has(ability),
        lacks[ability] !== undefined,
        `${ability} must be had or lacking, and not both`,
      )
    }
  },
  'a claim may carry at least 100 occurrences': async ({ store }) => {
    assert.ok(Number.isSafeInteger(store.batchLimit) && store.batchLimit >= 100)
  },
  'opening an open store again changes nothing': async (scene) => {
    const id = await scene.create()
    await scene.store.open({ clock: scene.clock, random: () => 0 })
    assert.equal(await scene.state(id), 'pending')
  },
  'an empty store answers every read': async ({ store, now }) => {
    assert.deepEqual(await store.readJobs({ limit: 10 }), [])
    assert.deepEqual(await store.list({ limit: 10 }), { items: [], cursor: null })
    const { isRescueDue: _, ...nodes } = await store.nodes()
    assert.deepEqual(nodes, { now, nodes: [], unserved: [] })
    assert.deepEqual(await store.peek({ kinds: ['mail'] }), { now, nextDue: null })
    assert.equal(await store.get({ tenant: 'default', job: 'mail', key: 'k' }), null)
    const { states, lastRunAt } = await store.counts({})
    assert.equal(lastRunAt, null)
    assert.ok(Object.values(states).every((count) => count === 0))
  },
})

const durable = topic(
  'life',
  {
    'all that was acknowledged is there after closing and opening again': async (scene) => {
      const { store } = scene
      await scene.putJob()
      await scene.plan([scene.now + 60_000])
      const holding = await scene.running({ key: 'k', refs: { order: '42' }, settings: { timeoutMs: 5 } })
      await store.checkpoint([{ ...memberRef(holding), attempts: [scene.attempt()] }])
      await scene.create({ due: { in: 5000 }, entity: 'e' })
      await scene.settle(holding, 'parked', { delayMs: 1000 })
      await scene.create()
      await scene.claim()
      const before = await dump(store)
      await store.close()
      assert.deepEqual(await dump(await scene.another()), before)
    },
  },
  'durable',
)

const shared = topic(
  'life',
  {
    'two handles of the same data claim each occurrence once': async (scene) => {
      const other = await scene.another()
      await scene.join()
      const ids = await Promise.all(Array.from({ length: 20 }, () => scene.create()))
      const requests = Array.from({ length: 10 }, () => scene.claimRequest({ limit: 3 }))
      const answers = await Promise.all(requests.map((request, i) => (i % 2 === 0 ? scene.store : other).claim(request)))
      const taken = answers.flatMap((answer) => answer.members.map((member) => member.record.id))
      assert.deepEqual(taken.toSorted(), ids.toSorted())
    },
    'of two handles that create under one key, one creates': async (scene) => {
      const other = await scene.another()
      const row = scene.row({ key: 'k' })
      const answers = await Promise.all([scene.store.create([row]), other.create([row])])
      assert.deepEqual(answers.map(({ rows: [answer] }) => answer?.outcome).toSorted(), ['created', 'existing'])
    },
    'a claim of one handle is canceled, settled and seen through the other': async (scene) => {
      const other = await scene.another()
      const holding = await scene.running()
      assert.deepEqual(await other.cancel({ which: { id: holding.id }, reason: 'by hand' }), [
        { id: holding.id, outcome: 'canceling' },
      ])
      const { cancels } = await scene.beat({ claims: [holding.claim.id] })
      assert.equal(cancels.length, 1)
      const { items } = await other.settle([scene.settleItem(holding, 'canceled')], { done: [holding.claim] })
      assert.deepEqual(items, ['ok'])
      assert.equal(await scene.state(holding.id), 'canceled')
    },
  },
  'many-processes',
)

export const lifeCases = [...anyStore, ...durable, ...shared]
