// Rule 3: the end row is the fence. Under a claim that is no longer valid, every write is refused and changes nothing.
import assert from 'node:assert/strict'
import type { Limit } from '../../model/limit.ts'
import { lastingDump } from './dump.ts'
import { forged, type Holding, memberOf, memberRef, minute, type Scene } from './scene.ts'
import { topic } from './topic.ts'

const limit: readonly Limit[] = [{ kind: 'concurrency', key: 'c', limit: 1 }]

/** Ways in which a claim of node-1 stops standing. */
const endings: Readonly<Record<string, (scene: Scene, holding: Holding & { id: string }) => Promise<unknown>>> = {
  'its answer was taken as lost and it was released': (scene) => scene.beat(),
  'its node was rescued': (scene) => scene.loseNode(),
  'its node was rescued and another node runs the next turn': async (scene) => {
    await scene.loseNode()
    await scene.clock.advance(1000)
    await scene.claim({ node: 'node-2' })
  },
  'its member was buried as dead by a rescue': (scene) => scene.loseNode({ mostRecoveries: 0 }),
  'its member overran its deadline': async (scene, holding) => {
    await scene.store.checkpoint([
      { ...memberRef(holding), attempts: [], start: { startedAt: scene.now, deadlineAt: scene.now + 1 } },
    ])
    await scene.clock.advance(2)
    await scene.rescue()
  },
  'its member was canceled and its node rescued': async (scene, { id }) => {
    await scene.store.cancel({ which: { id }, reason: 'by hand' })
    await scene.loseNode()
  },
  'its member overran, was canceled and gave its key to the next': async (scene, holding) => {
    await scene.create({ limits: limit })
    await scene.claim()
    await scene.store.checkpoint([
      { ...memberRef(holding), attempts: [], start: { startedAt: scene.now, deadlineAt: scene.now + 1 } },
    ])
    await scene.store.cancel({ which: { id: holding.id }, reason: null })
    await scene.clock.advance(2)
    await scene.rescue()
    assert.equal((await scene.claim()).members.length, 1)
  },
  'its member was buried by a rescue and its key is held by another': async (scene) => {
    await scene.create({ limits: limit })
    await scene.claim()
    await scene.loseNode({ mostRecoveries: 0 })
    assert.equal((await scene.claim({ node: 'node-2' })).members.length, 1)
  },
  'its member has completed': (scene, holding) => scene.settle(holding, 'completed', { done: false }),
  'it was settled as done': (scene, holding) => scene.settle(holding, 'completed'),
  'its member was parked': (scene, holding) => scene.settle(holding, 'parked', { delayMs: minute }),
  'its member was parked and runs the next turn under another claim': async (scene, holding) => {
    await scene.settle(holding, 'parked')
    await scene.claim()
  },
  'its member was pruned': async (scene, holding) => {
    await scene.settle(holding, 'completed')
    await scene.clock.advance(minute)
    await scene.store.prune({ endedBefore: scene.now, keyRetentionMs: 0, limit: 10 })
  },
}

const fenced = Object.entries(endings).map(([ending, bring]) => {
  const title = `a claim cannot write any more when ${ending}`
  return [title, (scene: Scene) => refusesWrites(scene, bring)] as const
})

async function refusesWrites(
  scene: Scene,
  bring: (scene: Scene, holding: Holding & { id: string }) => Promise<unknown>,
): Promise<void> {
  const holding = await scene.running({ key: 'k', limits: limit })
  const item = { ...memberRef(holding), attempts: [scene.attempt({ task: 'late' })] }
  await bring(scene, holding)
  const before = await lastingDump(scene.store)
  const start = { startedAt: scene.now, deadlineAt: scene.now + minute }
  const progress = { task: 'run', done: 1, message: 'late', at: scene.now }
  const logs = [{ turn: holding.members[0]?.turn ?? 1, task: 'late', n: 1, text: '{}' }]
  assert.deepEqual(await scene.store.checkpoint([{ ...item, progress, logs, start }]), ['lost'])
  // A new end: the same end twice would be a repeated call.
  const end = scene.end('failed', { endedAt: scene.now + 7 })
  assert.deepEqual(await scene.settleAll([{ ...item, logs, end, delayMs: 0 }], []), ['lost'])
  assert.deepEqual(await scene.settleAll([{ ...item, end: { ...end, end: 'parked' }, delayMs: 0 }], [holding.claim]), ['lost'])
  assert.deepEqual(await lastingDump(scene.store), before)
}

export const fenceCases = topic('fence', {
  ...Object.fromEntries(fenced),
  'JS-11, S38: a claim cannot be written under with another token': async (scene) => {
    const holding = await scene.running()
    const before = await lastingDump(scene.store)
    const item = { ...memberRef(holding), claim: { ...holding.claim, token: 'guessed' }, attempts: [scene.attempt()] }
    assert.deepEqual(await scene.store.checkpoint([item]), ['lost'])
    assert.deepEqual(await scene.settleAll([{ ...item, end: scene.end('completed'), delayMs: 0 }], [item.claim]), ['lost'])
    assert.deepEqual(await lastingDump(scene.store), before)
    assert.equal(await scene.settle(holding, 'completed'), 'ok')
  },
  'S38: the member of another claim cannot be written under one of your own': async (scene) => {
    const first = await scene.running()
    await scene.join('node-2')
    await scene.create()
    const second = await scene.claim({ node: 'node-2' })
    const item = { claim: second.claim, member: memberOf(first), attempts: [scene.attempt()] }
    const before = await lastingDump(scene.store)
    assert.deepEqual(await scene.store.checkpoint([item]), ['lost'])
    assert.deepEqual(await scene.settleAll([{ ...item, end: scene.end('completed'), delayMs: 0 }], []), ['lost'])
    assert.deepEqual(await lastingDump(scene.store), before)
  },
  'another turn than the one claimed cannot be written': async (scene) => {
    const holding = await scene.running()
    await scene.settle(holding, 'parked')
    const next = await scene.claim()
    for (const turn of [1, 3]) {
      const item = { ...forged(next, { turn }), attempts: [scene.attempt({ task: 'x' })] }
      assert.deepEqual(await scene.store.checkpoint([item]), ['lost'])
      assert.deepEqual(await scene.settleAll([{ ...item, end: scene.end('completed'), delayMs: 0 }], []), ['lost'])
    }
    assert.equal(await scene.settle(next, 'completed'), 'ok')
  },
  'a member that never was cannot be written': async (scene) => {
    const holding = await scene.running()
    const item = { ...forged(holding, { ref: 999_999 }), attempts: [scene.attempt()] }
    assert.deepEqual(await scene.store.checkpoint([item]), ['lost'])
    assert.deepEqual(await scene.settleAll([{ ...item, end: scene.end('completed'), delayMs: 0 }], []), ['lost'])
  },
  'of two ends of one turn said at the same time, one counts': async (scene) => {
    const holding = await scene.running()
    const ends = [scene.settleItem(holding, 'completed'), scene.settleItem(holding, 'failed')]
    const answers = await Promise.all(ends.map((item) => scene.settleAll([item], [])))
    assert.deepEqual(answers.flat().toSorted(), ['lost', 'ok'])
    assert.equal((await scene.get(holding.id)).turns.length, 1)
  },
  'a completion at the very instant of a cancel by rescue is told that it was lost': async (scene) => {
    const holding = await scene.running()
    await scene.store.cancel({ which: { id: holding.id }, reason: null })
    await scene.loseNode()
    assert.equal(await scene.settle(holding, 'completed'), 'lost')
    assert.equal(await scene.state(holding.id), 'canceled')
  },
})
