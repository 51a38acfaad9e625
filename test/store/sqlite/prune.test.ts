import { expect, it } from 'vitest'
import { memberRef } from '../../../src/testing/store-suite/scene.ts'
import { sqliteScene } from '../../support/sqlite-scene.ts'

const week = 7 * 86_400_000

it('a claim that was never given back cannot write to a member that was pruned', async () => {
  const scene = await sqliteScene()
  const holding = await scene.running()
  const { claim } = holding
  await scene.settle(holding, 'completed', { done: false })
  await scene.clock.advance(1000)
  expect(await scene.store.prune({ endedBefore: scene.now, keyRetentionMs: week, limit: 10 })).toEqual({ pruned: 1, more: false })
  const item = { ...memberRef(holding), attempts: [] }
  expect(await scene.store.checkpoint([item])).toEqual(['lost'])
  expect((await scene.claim({ ...claim, node: 'node-1' })).members).toEqual([])
  expect((await scene.store.counts({})).states.completed).toBe(0)
})

it('prunes what ended late among what was pruned long ago, however many neighbours there are', async () => {
  const scene = await sqliteScene()
  await scene.store.create(Array.from({ length: 2500 }, (_, n) => scene.row({ due: { in: n % 100 === 0 ? week : 0 } })))
  for (const at of [0, 2 * week]) {
    await scene.clock.advance(at)
    await scene.join()
    const holding = await scene.claim({ limit: 2500 })
    const items = holding.members.map((_, i) => scene.settleItem(holding, 'completed', i))
    await scene.settleAll(items, [holding.claim])
  }
  expect(await scene.store.prune({ endedBefore: scene.now - week, keyRetentionMs: week, limit: 5000 })).toEqual({
    pruned: 2475,
    more: false,
  })
  expect(await scene.store.prune({ endedBefore: scene.now - week, keyRetentionMs: week, limit: 5000 })).toEqual({
    pruned: 0,
    more: false,
  })
  expect(await scene.store.prune({ endedBefore: scene.now + 1, keyRetentionMs: week, limit: 20 })).toEqual({
    pruned: 20,
    more: true,
  })
  expect(await scene.store.prune({ endedBefore: scene.now + 1, keyRetentionMs: week, limit: 20 })).toEqual({
    pruned: 5,
    more: false,
  })
  expect((await scene.store.list({ limit: 1 })).items).toEqual([])
})

it('lists a window of time from anywhere in the table', async () => {
  const scene = await sqliteScene()
  await scene.store.create(Array.from({ length: 3000 }, (_, n) => scene.row({ due: n })))
  const { items, cursor } = await scene.store.list({ from: 1000, to: 1005, limit: 3 })
  expect(items.map(({ scheduledAt }) => scheduledAt)).toEqual([1004, 1003, 1002])
  const rest = await scene.store.list({ from: 1000, to: 1005, limit: 3, cursor: cursor as string })
  expect(rest.items.map(({ scheduledAt }) => scheduledAt)).toEqual([1001, 1000])
  await scene.createOne({ key: 'k', due: 50 })
  await scene.createOne({ key: 'k', due: 1002, onConflict: 'reschedule' })
  expect((await scene.store.list({ states: ['pending'], from: 1002, to: 1003, limit: 9 })).items).toHaveLength(2)
})
