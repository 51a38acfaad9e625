import assert from 'node:assert/strict'
import { idsOf, memberOf, memberRef, minute, type Scene } from './scene.ts'
import { topic } from './topic.ts'

export const rescueCases = topic('rescue', {
  'TM-12 what a gone node held is lost and runs its next turn after the delay': async (scene) => {
    const holding = await scene.running()
    const { rescued, removed, more } = await scene.loseNode()
    assert.deepEqual(rescued, [{ id: holding.id, job: 'mail', turn: 1, outcome: 'lost' }])
    assert.deepEqual([removed, more], [['node-1'], false])
    const { state, dueAt, node, turns } = await scene.get(holding.id)
    assert.deepEqual([state, dueAt, node], ['retrying', scene.now + 1000, null])
    assert.deepEqual(turns, [scene.bareTurn(1, 'lost', { node: 'node-1' })])
    assert.deepEqual(
      (await scene.store.nodes()).nodes.map(({ boot }) => boot),
      ['node-2'],
    )
    await scene.clock.advance(1000)
    const member = memberOf(await scene.claim({ node: 'node-2' }))
    assert.deepEqual([member.turn, member.recoveries], [2, 1])
  },
  'rule 8: a node that has beaten since is left alone': async (scene) => {
    const holding = await scene.running()
    await scene.clock.advance(15_000)
    await scene.beat({ claims: [holding.claim.id] })
    await scene.clock.advance(15_000)
    assert.deepEqual(await scene.rescue({ gone: [{ boot: 'node-1', beats: 1 }] }), {
      rescued: [],
      removed: [],
      more: false,
      expired: [],
      openHooks: [],
    })
    assert.equal(await scene.state(holding.id), 'running')
    assert.equal((await scene.rescue({ gone: [{ boot: 'node-1', beats: 2 }] })).rescued.length, 1)
  },
  'rule 8: a node whose ttl has not passed by the clock of the store is left alone': async (scene) => {
    const holding = await scene.running()
    await scene.clock.advance(14_999)
    assert.deepEqual(await scene.rescue(), { rescued: [], removed: [], more: false, expired: [], openHooks: [] })
    assert.equal(await scene.state(holding.id), 'running')
    await scene.clock.advance(1)
    assert.deepEqual((await scene.rescue()).removed, ['node-1'])
  },
  'rule 8: the ttl is the one the node has told': async (scene) => {
    await scene.join('node-1', { ttlMs: minute })
    await scene.clock.advance(minute - 1)
    assert.deepEqual((await scene.rescue()).removed, [])
    await scene.clock.advance(1)
    assert.deepEqual((await scene.rescue()).removed, ['node-1'])
  },
  'rule 8: a jump of the wall kills nobody whom no observer has missed': async (scene) => {
    const holding = await scene.running()
    scene.clock.jump(60 * minute)
    assert.deepEqual(await scene.rescue({ gone: [] }), { rescued: [], removed: [], more: false, expired: [], openHooks: [] })
    assert.deepEqual((await scene.beat({ claims: [holding.claim.id] })).lost, [])
    scene.clock.jump(-60 * minute)
    assert.deepEqual((await scene.beat({ claims: [holding.claim.id] })).lost, [])
  },
  'a gone node that held nothing is removed': async (scene) => {
    await scene.join()
    assert.deepEqual(await scene.loseNode(), { rescued: [], removed: ['node-1'], more: false, expired: [], openHooks: [] })
  },
  'a node that is not known is passed over': async (scene) => {
    assert.deepEqual(await scene.rescue({ gone: [{ boot: 'ghost', beats: 1 }] }), {
      rescued: [],
      removed: [],
      more: false,
      expired: [],
      openHooks: [],
    })
  },
  'rule 9: recoveries wait longer each time, and the third loss is the end': async (scene) => {
    const { id } = await scene.running()
    assert.equal((await scene.loseNode()).rescued[0]?.outcome, 'lost')
    assert.equal((await loseAgain(scene, id, 'node-3')).outcome, 'lost')
    assert.equal((await scene.get(id)).dueAt, scene.now + 2000)
    assert.equal((await loseAgain(scene, id, 'node-4')).outcome, 'dead')
    const { state, turns } = await scene.get(id)
    assert.deepEqual(
      [state, turns.map(({ end, reason }) => [end, reason])],
      [
        'dead',
        [
          ['lost', null],
          ['lost', null],
          ['dead', 'lost'],
        ],
      ],
    )
    assert.equal(turns[2]?.error?.code, 'occurrence.lost')
    await scene.clock.advance(minute)
    assert.deepEqual(await scene.claimedIds({ node: 'node-2' }), [])
  },
  'rule 9: an occurrence rescued before that had not started is released unblamed': async (scene) => {
    const { id } = await scene.running()
    await scene.loseNode()
    await scene.clock.advance(1000)
    await scene.join('node-3')
    await scene.claim({ node: 'node-3' })
    await passTtl(scene)
    const { rescued } = await scene.rescue({ boot: 'node-3' })
    assert.deepEqual(
      rescued.map(({ outcome, turn }) => [outcome, turn]),
      [['released', 2]],
    )
    assert.deepEqual([await scene.state(id), (await scene.get(id)).dueAt], ['pending', scene.now])
    const member = memberOf(await scene.claim({ node: 'node-2' }))
    assert.deepEqual([member.turn, member.recoveries, member.turns.map(({ end }) => end)], [3, 1, ['lost', 'released']])
  },
  'rule 9: neighbours of what kills its node are not blamed for it': async (scene) => {
    await scene.join()
    const [poison, neighbour] = [await scene.create({ due: scene.now - 2 }), await scene.create({ due: scene.now - 1 })]
    await scene.claim()
    await scene.loseNode()
    for (const boot of ['node-3', 'node-4']) {
      await scene.clock.advance(2000)
      await scene.join(boot)
      const holding = await scene.claim({ node: boot })
      const started = holding.members.findIndex(({ record }) => record.id === poison)
      await scene.store.checkpoint([
        { ...memberRef(holding, started), attempts: [], start: { startedAt: scene.now, deadlineAt: scene.now + minute } },
      ])
      await passTtl(scene)
      await scene.rescue({ boot })
    }
    assert.deepEqual([await scene.state(poison), await scene.state(neighbour)], ['dead', 'pending'])
  },
  'what was asked to cancel while its node went is canceled': async (scene) => {
    const { id } = await scene.running()
    await scene.store.cancel({ which: { id }, reason: 'paid' })
    assert.deepEqual(
      (await scene.loseNode()).rescued.map(({ outcome }) => outcome),
      ['canceled'],
    )
    const { state, turns } = await scene.get(id)
    assert.deepEqual([state, turns], ['canceled', [scene.bareTurn(1, 'canceled', { node: 'node-1', reason: 'paid' })]])
  },
  'JB-10 what overran its deadline is stale, also while its node lives': async (scene) => {
    const holding = await overdue(scene)
    const { rescued, removed } = await scene.rescue({ gone: [] })
    assert.deepEqual([rescued, removed], [[{ id: holding.id, job: 'mail', turn: 1, outcome: 'stale' }], []])
    const { state, dueAt, turns } = await scene.get(holding.id)
    assert.deepEqual([state, dueAt, turns[0]?.end, turns[0]?.node], ['retrying', scene.now + 1000, 'stale', 'node-1'])
    assert.equal(await scene.settle(holding, 'completed'), 'lost')
  },
  'a deadline is past only after its instant': async (scene) => {
    const holding = await scene.running()
    await scene.store.checkpoint([
      { ...memberRef(holding), attempts: [], start: { startedAt: scene.now, deadlineAt: scene.now + 100 } },
    ])
    await scene.clock.advance(100)
    assert.deepEqual((await scene.rescue({ gone: [] })).rescued, [])
    await scene.clock.advance(1)
    assert.equal((await scene.rescue({ gone: [] })).rescued.length, 1)
  },
  'a deadline of an earlier turn means nothing to a later one': async (scene) => {
    const holding = await overdue(scene)
    await scene.settle(holding, 'parked')
    const next = await scene.claim()
    assert.deepEqual((await scene.rescue({ gone: [] })).rescued, [])
    assert.equal(await scene.settle(next, 'completed'), 'ok')
  },
  'a stale occurrence out of recoveries is dead': async (scene) => {
    const { id } = await overdue(scene)
    assert.deepEqual(
      (await scene.rescue({ gone: [], mostRecoveries: 0 })).rescued.map(({ outcome }) => outcome),
      ['dead'],
    )
    const { turns } = await scene.get(id)
    assert.deepEqual([turns[0]?.end, turns[0]?.reason, turns[0]?.error?.code], ['dead', 'stale', 'occurrence.stale'])
  },
  'a stale occurrence that was asked to cancel is canceled': async (scene) => {
    const { id } = await overdue(scene)
    await scene.store.cancel({ which: { id }, reason: null })
    assert.deepEqual(
      (await scene.rescue({ gone: [] })).rescued.map(({ outcome }) => outcome),
      ['canceled'],
    )
  },
  'the neighbours of a stale member stay with their node': async (scene) => {
    await scene.join()
    await scene.create({ due: scene.now - 2 })
    const other = await scene.create({ due: scene.now - 1 })
    const holding = await scene.claim()
    await scene.store.checkpoint([
      { ...memberRef(holding, 0), attempts: [], start: { startedAt: scene.now, deadlineAt: scene.now } },
    ])
    await scene.clock.advance(1)
    await scene.rescue({ gone: [] })
    assert.equal(await scene.state(other), 'running')
    assert.equal(await scene.settle(holding, 'completed', { i: 1 }), 'ok')
  },
  'members that ended before their node went are left alone': async (scene) => {
    await scene.join()
    const ids = [await scene.create({ due: scene.now - 2 }), await scene.create({ due: scene.now - 1 })]
    const holding = await scene.claim()
    await scene.settle(holding, 'completed', { done: false })
    assert.deepEqual(
      (await scene.loseNode()).rescued.map(({ id }) => id),
      [ids[1]],
    )
    assert.equal(await scene.state(ids[0] as string), 'completed')
  },
  'a large estate is worked off claim by claim': async (scene) => {
    await scene.join()
    for (let i = 0; i < 5; i++) await scene.create()
    for (let i = 0; i < 5; i++) await scene.claim({ limit: 1 })
    const steps = [await scene.loseNode({ limit: 2 }), await scene.rescue({ limit: 2 }), await scene.rescue({ limit: 2 })]
    assert.deepEqual(
      steps.map(({ rescued, removed, more }) => [rescued.length, removed, more]),
      [
        [2, [], true],
        [2, [], true],
        [1, ['node-1'], false],
      ],
    )
    assert.deepEqual(await scene.rescue(), { rescued: [], removed: [], more: false, expired: [], openHooks: [] })
  },
  'of two rescuers at the same time, each member is rescued by one': async (scene) => {
    await scene.join()
    for (let i = 0; i < 4; i++) await scene.create()
    for (let i = 0; i < 4; i++) await scene.claim({ limit: 1 })
    await scene.join('node-2')
    await scene.clock.advance(15_000)
    const answers = await Promise.all([scene.rescue(), scene.rescue()])
    assert.equal(answers.flatMap(({ rescued }) => rescued).length, 4)
    assert.equal(answers.flatMap(({ removed }) => removed).length, 1)
    assert.equal((await scene.store.counts({})).states.retrying, 4)
  },
  'a rescued node cannot claim until it joins again': async (scene) => {
    await scene.running()
    await scene.loseNode()
    await assert.rejects(scene.claim(), { code: 'claim.lost' })
    await scene.join('node-1b')
    await scene.clock.advance(1000)
    assert.equal(idsOf(await scene.claim({ node: 'node-1b' })).length, 1)
  },
})

async function passTtl(scene: Scene): Promise<void> {
  await scene.beat({ boot: 'node-2' })
  await scene.clock.advance(15_000)
  await scene.beat({ boot: 'node-2' })
}

/** Runs the occurrence on a new node, with its start recorded, and loses that node too. */
async function loseAgain(scene: Scene, id: string, boot: string) {
  await scene.clock.advance(5000)
  await scene.join(boot)
  const holding = await scene.claim({ node: boot })
  assert.deepEqual(idsOf(holding), [id])
  await scene.store.checkpoint([
    { ...memberRef(holding), attempts: [], start: { startedAt: scene.now, deadlineAt: scene.now + minute } },
  ])
  await passTtl(scene)
  const [rescued] = (await scene.rescue({ boot })).rescued
  assert.ok(rescued)
  return rescued
}

async function overdue(scene: Scene) {
  const holding = await scene.running()
  await scene.store.checkpoint([
    { ...memberRef(holding), attempts: [], start: { startedAt: scene.now, deadlineAt: scene.now + 1000 } },
  ])
  await scene.clock.advance(1001)
  return holding
}
