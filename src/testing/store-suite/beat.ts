import assert from 'node:assert/strict'
import { idsOf, memberOf, minute } from './scene.ts'
import { topic } from './topic.ts'

export const beatCases = topic('beat', {
  'a node joins, stays and leaves': async (scene) => {
    const joined = await scene.join('node-1', {
      name: 'web-1',
      pid: 42,
      concurrency: 3,
      kinds: ['mail'],
      tz: '2026a',
      ttlMs: 9000,
    })
    assert.deepEqual(joined, {
      now: scene.now,
      aliveSince: scene.now,
      known: true,
      lost: [],
      cancels: [],
      isDraining: false,
      over: [],
    })
    const startedAt = scene.now
    await scene.clock.advance(5000)
    const node = scene.node({ name: 'web-1', pid: 42, concurrency: 3, kinds: ['mail'], tz: '2026a', ttlMs: 9000 })
    await scene.beat({ node })
    const { isRescueDue: _, ...answer } = await scene.store.nodes()
    assert.deepEqual(answer, {
      now: scene.now,
      nodes: [{ ...node, startedAt, beatAt: scene.now, beats: 2, running: 0 }],
      unserved: [],
    })
    assert.equal((await scene.beat({ phase: 'leave' })).known, true)
    assert.deepEqual((await scene.store.nodes()).nodes, [])
  },
  'JS-4 the start of a turn under way is read once a beat has recorded it, and only while it runs': async (scene) => {
    const holding = await scene.running()
    const { ref, turn } = memberOf(holding)
    const since = async () => (await scene.store.get({ id: holding.id }))?.runningSince
    assert.equal(await since(), null)
    const startedAt = scene.now
    await scene.clock.advance(1000)
    await scene.beat({ claims: [holding.claim.id], long: [{ ref, turn, startedAt, deadlineAt: scene.now + minute }] })
    assert.equal(await since(), startedAt)
    await scene.settle(holding, 'parked', { delayMs: 0 })
    assert.equal(await since(), null)
    await scene.claim()
    assert.equal(await since(), null)
  },
  'what is due and no node can run is named, until one can': async (scene) => {
    const unserved = async () => (await scene.store.nodes()).unserved
    await scene.join('node-1', { kinds: ['mail'] })
    await scene.create({ definition: 'fax' })
    await scene.create({ definition: 'mail' })
    assert.deepEqual(await unserved(), ['fax'])
    await scene.join('node-2', { kinds: ['fax'] })
    assert.deepEqual(await unserved(), [])
    const audit = { act: 'a-1', actor: 'ada', action: 'drain', reason: null } as const
    await scene.store.nodes({ drain: { node: 'node-2', audit } })
    assert.deepEqual(await unserved(), ['fax'], 'a node that drains takes no work')
  },
  'a node that is marked to drain learns of it at its beats, and stays marked until it leaves': async (scene) => {
    await scene.join('node-1', { name: 'web' })
    await scene.join('node-2', { name: 'web' })
    await scene.join('node-3', { name: 'db' })
    const audit = { act: 'a-1', actor: 'ada', action: 'drain', reason: 'it moves' } as const
    const marks = async () => (await scene.store.nodes()).nodes.map(({ isDraining }) => isDraining)
    const { nodes } = await scene.store.nodes({ drain: { node: 'web', audit } })
    assert.deepEqual(
      [nodes.map(({ isDraining }) => isDraining), await marks()],
      [
        [true, true, false],
        [true, true, false],
      ],
    )
    await scene.store.nodes({ drain: { node: 'web', audit } })
    await scene.store.nodes({ drain: { node: 'nobody', audit: { ...audit, act: 'a-2' } } })
    const rows = await scene.store.listAudit({ of: 'rows', order: 'oldest', limit: 10 })
    assert.deepEqual(
      rows.map(({ target, actor, action, after }) => [target, actor, action, JSON.parse(after ?? 'null')]),
      [['web', 'ada', 'drain', { draining: ['node-1', 'node-2'] }]],
    )
    for (const phase of ['stay', 'pulse', 'join', 'stay', 'leave'] as const)
      assert.equal((await scene.beat({ boot: 'node-1', node: { name: 'web' }, phase })).isDraining, true)
    assert.equal((await scene.beat({ boot: 'node-3', node: { name: 'db' } })).isDraining, false)
    await scene.store.nodes({ drain: { node: 'node-3' } })
    assert.equal((await scene.beat({ boot: 'node-3', node: { name: 'db' } })).isDraining, true)
    assert.equal((await scene.join('node-1', { name: 'web' })).isDraining, false)
  },
  'a node that drains says so itself under its next boot id': async (scene) => {
    assert.equal((await scene.join('node-1', { isDraining: true })).isDraining, true)
    assert.equal((await scene.beat()).isDraining, true)
    assert.deepEqual(
      (await scene.store.nodes()).nodes.map(({ isDraining }) => isDraining),
      [true],
    )
  },
  'each beat replaces what the parts of a node report': async (scene) => {
    await scene.join('node-1', { parts: { timers: { isOk: false } } })
    const parts = async () => (await scene.store.nodes()).nodes.map((node) => node.parts)
    assert.deepEqual(await parts(), [{ timers: { isOk: false } }])
    await scene.beat({ boot: 'node-1', node: { parts: { timers: { isOk: true } } } })
    assert.deepEqual(await parts(), [{ timers: { isOk: true } }])
    await scene.beat({ boot: 'node-1', phase: 'pulse' })
    assert.deepEqual(await parts(), [{ timers: { isOk: true } }])
  },
  'every beat counts up by one': async (scene) => {
    await scene.join()
    for (let i = 2; i <= 4; i++) {
      await scene.beat()
      assert.equal((await scene.store.nodes()).nodes[0]?.beats, i)
    }
  },
  'a pulse keeps a node alive, and touches neither its claims nor what it says of itself': async (scene) => {
    const holding = await scene.running()
    const [before] = (await scene.store.nodes()).nodes
    await scene.clock.advance(1000)
    const answer = await scene.beat({ phase: 'pulse', claims: [] })
    assert.deepEqual([answer.known, answer.lost, answer.cancels], [true, [], []])
    assert.deepEqual((await scene.store.nodes()).nodes, [{ ...before, beatAt: scene.now, beats: (before?.beats ?? 0) + 1 }])
    assert.deepEqual((await scene.beat({ claims: [holding.claim.id] })).lost, [])
  },
  'a boot that never joined is unknown, and stays so': async (scene) => {
    for (const phase of ['stay', 'pulse', 'leave'] as const) {
      const answer = await scene.beat({ boot: 'ghost', claims: ['c'], phase })
      assert.deepEqual([answer.known, answer.lost, answer.cancels], [false, ['c'], []])
    }
    assert.deepEqual((await scene.store.nodes()).nodes, [])
  },
  'a node that was rescued is unknown and has lost all it lists': async (scene) => {
    const holding = await scene.running()
    await scene.loseNode()
    const { known, lost } = await scene.beat({ claims: [holding.claim.id] })
    assert.deepEqual([known, lost], [false, [holding.claim.id]])
  },
  'a node shows how many occurrences it runs': async (scene) => {
    await scene.join()
    for (let i = 0; i < 3; i++) await scene.create()
    const holding = await scene.claim()
    await scene.settle(holding, 'completed', { done: false })
    await scene.beat({ claims: [holding.claim.id] })
    assert.equal((await scene.store.nodes()).nodes[0]?.running, 2)
  },
  'rule 1: a claim that its node does not know of is released, its members unblamed': async (scene) => {
    const holding = await scene.running()
    await scene.clock.advance(1000)
    assert.deepEqual((await scene.beat()).lost, [])
    const { state, dueAt, turns } = await scene.get(holding.id)
    assert.deepEqual([state, dueAt, turns], ['pending', scene.now - 1000, [scene.bareTurn(1, 'released', { node: 'node-1' })]])
    const member = memberOf(await scene.claim())
    assert.deepEqual([member.turn, member.recoveries], [2, 0])
  },
  'rule 1: a claim whose answer is still under way is not released': async (scene) => {
    const holding = await scene.running()
    assert.deepEqual((await scene.beat({ inFlight: [holding.claim.id] })).lost, [])
    assert.equal(await scene.settle(holding, 'completed'), 'ok')
  },
  'a claim that is listed stands': async (scene) => {
    const holding = await scene.running()
    assert.deepEqual((await scene.beat({ claims: [holding.claim.id] })).lost, [])
    assert.equal(await scene.state(holding.id), 'running')
  },
  'rule 1: claims that no longer stand are reported as lost': async (scene) => {
    const holding = await scene.running()
    assert.deepEqual((await scene.beat({ claims: [holding.claim.id, 'never-was'] })).lost, ['never-was'])
    await scene.settle(holding, 'completed')
    assert.deepEqual((await scene.beat({ claims: [holding.claim.id] })).lost, [holding.claim.id])
  },
  'a claim of another node is no claim of yours': async (scene) => {
    const holding = await scene.running()
    await scene.join('node-2')
    assert.deepEqual((await scene.beat({ boot: 'node-2', claims: [holding.claim.id] })).lost, [holding.claim.id])
    assert.equal(await scene.state(holding.id), 'running')
  },
  'the beat of one node does not release claims of another': async (scene) => {
    const holding = await scene.running()
    await scene.join('node-2')
    await scene.beat({ boot: 'node-2' })
    assert.equal(await scene.state(holding.id), 'running')
  },
  'only the unended members of an unknown claim are released': async (scene) => {
    await scene.join()
    const ids = [await scene.create({ due: scene.now - 2 }), await scene.create({ due: scene.now - 1 })]
    await scene.settle(await scene.claim(), 'completed', { done: false })
    await scene.beat()
    assert.deepEqual(await Promise.all(ids.map((id) => scene.state(id))), ['completed', 'pending'])
  },
  'JB-19 what a node still holds when it leaves is left to rescue': async (scene) => {
    const holding = await scene.running()
    await scene.beat({ claims: [holding.claim.id], phase: 'leave' })
    assert.equal(await scene.state(holding.id), 'running')
    const { rescued, removed } = await scene.loseNode()
    assert.deepEqual([rescued.map(({ id, outcome }) => [id, outcome]), removed], [[[holding.id, 'lost']], ['node-1']])
  },
  'a claim of nobody knows is released also by the last beat': async (scene) => {
    const holding = await scene.running()
    await scene.beat({ phase: 'leave' })
    assert.equal(await scene.state(holding.id), 'pending')
    assert.deepEqual((await scene.store.nodes()).nodes, [])
  },
  'joining again under the same boot keeps the node and its claims': async (scene) => {
    const holding = await scene.running()
    const startedAt = scene.now
    await scene.clock.advance(1000)
    await scene.beat({ claims: [holding.claim.id], phase: 'join' })
    assert.equal((await scene.store.nodes()).nodes[0]?.startedAt, startedAt)
    assert.equal(await scene.settle(holding, 'completed'), 'ok')
  },
  'rule 9: a beat records the start and deadline of long turns': async (scene) => {
    const holding = await scene.running()
    const { ref, turn } = memberOf(holding)
    const startedAt = scene.now
    await scene.beat({ claims: [holding.claim.id], long: [{ ref, turn, startedAt, deadlineAt: scene.now + minute }] })
    await scene.clock.advance(minute)
    await scene.beat({ claims: [holding.claim.id] })
    assert.deepEqual((await scene.rescue({ gone: [] })).rescued, [])
    await scene.clock.advance(1)
    assert.deepEqual(
      (await scene.rescue({ gone: [] })).rescued.map(({ id, outcome }) => [id, outcome]),
      [[holding.id, 'stale']],
    )
    assert.equal((await scene.get(holding.id)).turns[0]?.startedAt, startedAt)
  },
  'a long turn that has ended meanwhile is passed over': async (scene) => {
    const holding = await scene.running()
    const { ref, turn } = memberOf(holding)
    await scene.settle(holding, 'parked')
    const next = await scene.claim()
    await scene.beat({ claims: [next.claim.id], long: [{ ref, turn, startedAt: scene.now, deadlineAt: scene.now - 1 }] })
    assert.deepEqual((await scene.rescue({ gone: [] })).rescued, [])
    assert.deepEqual(idsOf(next), [holding.id])
  },
})
