// JS-6: which of the due work is taken first can be chosen, by fairness across tenants or by quotas.
import assert from 'node:assert/strict'
import { idsOf, minute, type Scene } from './scene.ts'
import { topic } from './topic.ts'

export const pickCases = topic('pick', {
  'JS-6 a fair claim takes one of each tenant in turn, the tenant first whose work has been due the longest': async (scene) => {
    await scene.join()
    const [a1, a2, a3] = [await due(scene, 'acme', -9), await due(scene, 'acme', -8), await due(scene, 'acme', -7)]
    const [g1, g2] = [await due(scene, 'globex', -3), await due(scene, 'globex', -2)]
    const i1 = await due(scene, 'initech', -5)
    assert.deepEqual(await scene.claimedIds({ limit: 4, pick: { kind: 'fair' } }), [a1, i1, g1, a2])
    assert.deepEqual(await scene.claimedIds({ pick: { kind: 'fair' } }), [a3, g2])
  },
  'JS-6 a fair claim keeps to priorities before it is fair': async (scene) => {
    await scene.join()
    const late = await due(scene, 'globex', -9, 9)
    const urgent = [await due(scene, 'acme', -2, 0), await due(scene, 'acme', -1, 0)]
    assert.deepEqual(await scene.claimedIds({ limit: 2, pick: { kind: 'fair' } }), urgent)
    assert.deepEqual(await scene.claimedIds({ pick: { kind: 'fair' } }), [late])
  },
  'JS-6 a quota is the most that one claim takes of a group, and the first that matches counts': async (scene) => {
    await scene.join()
    const acme = [await due(scene, 'acme', -9), await due(scene, 'acme', -8)]
    const globex = [await due(scene, 'globex', -7), await due(scene, 'globex', -6), await due(scene, 'globex', -5)]
    const quotas = [{ tenant: 'acme', limit: 1 }, { limit: 2 }]
    assert.deepEqual(await scene.claimedIds({ pick: { kind: 'quotas', quotas } }), [acme[0], globex[0], globex[1]])
    assert.deepEqual(await scene.claimedIds({ pick: { kind: 'quotas', quotas } }), [acme[1], globex[2]])
  },
  'JS-6 what no quota matches, or one of nothing, is left': async (scene) => {
    await scene.join()
    const mail = await due(scene, 'acme', -9)
    const urgent = await due(scene, 'acme', -8, 0)
    await due(scene, 'globex', -7)
    const quotas = [
      { job: 'mail', priority: 0, limit: 0 },
      { tenant: 'acme', job: 'mail', limit: 5 },
    ]
    assert.deepEqual(await scene.claimedIds({ pick: { kind: 'quotas', quotas } }), [mail])
    assert.equal(await scene.state(urgent), 'pending')
    assert.deepEqual(await scene.claimedIds({ pick: { kind: 'quotas', quotas: [] } }), [])
    assert.equal((await scene.claim()).members.length, 2)
  },
  'JS-6 a pick takes nothing before it is due, nothing of other kinds and nothing twice': async (scene) => {
    await scene.join()
    await due(scene, 'acme', 1)
    await scene.create({ job: 'report' })
    const id = await due(scene, 'acme', 0)
    const first = await scene.claim({ kinds: ['mail'], pick: { kind: 'fair' } })
    assert.deepEqual([idsOf(first), first.answer.nextDue], [[id], scene.now + 1])
    assert.deepEqual(await scene.claimedIds({ kinds: ['mail'], pick: { kind: 'fair' } }), [])
  },
  'JS-6 with a pick, the next due instant is one that is not due yet': async (scene) => {
    await scene.join()
    await due(scene, 'acme', -1)
    await due(scene, 'acme', 500)
    const { members, answer } = await scene.claim({ pick: { kind: 'quotas', quotas: [] } })
    assert.deepEqual([members, answer.nextDue], [[], scene.now + 500])
  },
  'JS-6 limits hold under a pick, and what is passed over is told': async (scene) => {
    await scene.join()
    const limits = [{ kind: 'overlap', key: 'o', limit: 1, policy: 'skip' }] as const
    const first = await scene.create({ tenant: 'acme', limits, due: scene.now - 2 })
    const second = await scene.create({ tenant: 'globex', limits, due: scene.now - 1 })
    const { members, answer } = await scene.claim({ pick: { kind: 'fair' } })
    assert.deepEqual([members.map(({ record }) => record.id), answer.passed.map(({ id }) => id)], [[first], [second]])
  },
  'JS-6 claiming again under the same id returns the same members, whatever is picked': async (scene) => {
    await scene.join()
    for (const tenant of ['acme', 'acme', 'globex']) await due(scene, tenant, -1)
    const request = scene.claimRequest({ limit: 2, pick: { kind: 'fair' } })
    const { members } = await scene.store.claim(request)
    assert.deepEqual((await scene.store.claim(request)).members, members)
  },
  'JS-6 fair claims at the same time share the work without overlap': async (scene) => {
    await scene.join()
    for (let i = 0; i < 20; i++) await due(scene, i % 4 === 0 ? 'acme' : 'globex', -i)
    const request = { limit: 6, pick: { kind: 'fair' } } as const
    const taken = (await Promise.all(Array.from({ length: 5 }, () => scene.claimedIds(request)))).flat()
    assert.deepEqual([taken.length, new Set(taken).size], [20, 20])
  },
  'JS-6 what is due and may be claimed is counted by tenant, job and priority': async (scene) => {
    await scene.join()
    await due(scene, 'globex', -1)
    for (const priority of [5, 5, 0]) await due(scene, 'acme', -1, priority)
    await scene.create({ tenant: 'acme', job: 'report' })
    await due(scene, 'acme', minute)
    await scene.claim({ limit: 1, kinds: ['report'] })
    const limits = [{ kind: 'concurrency', key: 'c', limit: 1 }] as const
    await scene.create({ job: 'report', limits })
    await scene.create({ job: 'report', limits, due: scene.now + 1 })
    const group = (tenant: string, job: string, priority: number, count: number) => ({ tenant, job, priority, count })
    assert.deepEqual(await scene.store.backlog({ kinds: ['mail', 'report'] }), [
      group('acme', 'mail', 0, 1),
      group('acme', 'mail', 5, 2),
      group('default', 'report', 5, 1),
      group('globex', 'mail', 5, 1),
    ])
    await scene.clock.advance(1)
    await scene.claim({ kinds: ['report'] })
    assert.deepEqual(await scene.store.backlog({ kinds: ['report'] }), [], 'what is held back is not counted')
    assert.deepEqual(await scene.store.backlog({ kinds: [] }), [])
  },
})

function due(scene: Scene, tenant: string, inMs: number, priority = 5): Promise<string> {
  return scene.create({ tenant, priority, due: scene.now + inMs })
}
