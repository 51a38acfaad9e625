import assert from 'node:assert/strict'
import { hour, minute } from './scene.ts'
import { topic } from './topic.ts'

export const clusterLimitCases = topic('cluster limit', {
  'JS-6 a cluster’s limit is the most that runs at once, over all nodes': async (scene) => {
    await scene.join()
    await scene.join('node-2')
    for (let i = 0; i < 5; i++) await scene.create()
    const first = await scene.claim({ limit: 2, clusterLimit: 3 })
    const second = await scene.claim({ node: 'node-2', clusterLimit: 3 })
    assert.deepEqual([first.members.length, second.members.length, second.answer.nextDue], [2, 1, null])
    assert.deepEqual(await scene.claimedIds({ clusterLimit: 3 }), [])
    await scene.settle(first, 'completed', { done: false })
    const third = await scene.claim({ node: 'node-2', clusterLimit: 3 })
    assert.deepEqual([third.members.length, third.answer.nextDue], [1, null])
    assert.equal((await scene.claim({ clusterLimit: 9 })).members.length, 1)
  },
  'JS-6 below the cluster’s limit the next due instant is told': async (scene) => {
    await scene.running()
    await scene.create({ due: { in: minute } })
    assert.equal((await scene.claim({ clusterLimit: 2 })).answer.nextDue, scene.now + minute)
    assert.equal((await scene.claim({ clusterLimit: 1 })).answer.nextDue, null)
  },
  'JS-6 what is parked or was lost does not count as running': async (scene) => {
    const holding = await scene.running()
    await scene.settle(holding, 'parked', { delayMs: minute })
    const id = await scene.create()
    assert.deepEqual(await scene.claimedIds({ clusterLimit: 1 }), [id])
    await scene.loseNode({ settings: { retry: { intervalMs: hour } }, mostRecoveries: 1 })
    const next = await scene.create()
    assert.deepEqual(await scene.claimedIds({ node: 'node-2', clusterLimit: 1 }), [next])
  },
  'JS-6 claims at the same time keep to the cluster’s limit': async (scene) => {
    await scene.join()
    for (let i = 0; i < 12; i++) await scene.create()
    const claims = await Promise.all(Array.from({ length: 4 }, () => scene.claim({ limit: 3, clusterLimit: 5 })))
    assert.equal(claims.flatMap(({ members }) => members).length, 5)
  },
})
