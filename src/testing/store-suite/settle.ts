import assert from 'node:assert/strict'
import type { TurnEnd } from '../../model/lifecycle.ts'
import { stateAfter } from '../../model/lifecycle.ts'
import { forged, idsOf, memberOf, memberRef, minute, type Scene } from './scene.ts'
import { topic } from './topic.ts'

export const settleCases = topic('settle', {
  'the end row keeps all that it was given, and the node': async (scene) => {
    const holding = await scene.running()
    await scene.clock.advance(40)
    const end = scene.end('completed', {
      startedAt: scene.now - 30,
      result: '{"sent":true}',
      attempt: 'succeeded',
      settings: { retry: { max: 5 }, timeoutMs: 100 },
      tasks: [
        { task: 'send', state: 'succeeded', attempts: 2, durationMs: 12 },
        { task: 'log', state: 'canceled', attempts: 0, durationMs: 0, canceledBy: 'send' },
      ],
      reason: 'done',
    })
    assert.equal(await scene.settle(holding, 'completed', { end }), 'ok')
    const { state, node, turns } = await scene.get(holding.id)
    assert.deepEqual([state, node, turns], ['completed', null, [{ ...end, turn: 1, node: 'node-1' }]])
  },
  'the end carries logs, which a later turn keeps and a removal takes along': async (scene) => {
    const holding = await scene.running()
    const log = (turn: number, text: string) => ({ turn, task: 'run', n: turn, text })
    await scene.store.checkpoint([{ ...memberRef(holding), attempts: [], logs: [log(1, '{"a":1}')] }])
    assert.equal(await scene.settle(holding, 'parked', { logs: [log(1, '{"a":2}')] }), 'ok')
    const next = await scene.claim()
    assert.equal(await scene.settle(next, 'completed', { logs: [log(2, '{"b":1}')] }), 'ok')
    assert.deepEqual((await scene.get(holding.id)).logs, [log(1, '{"a":2}'), log(2, '{"b":1}')])
    await scene.clock.advance(minute)
    await scene.store.prune({ endedBefore: scene.now, keyRetentionMs: 0, limit: 10 })
    assert.equal(await scene.store.get({ id: holding.id }), null)
  },
  'each way to end leaves the occurrence in the state of the table': async (scene) => {
    for (const end of ['completed', 'failed', 'dead', 'canceled'] satisfies TurnEnd[]) {
      const holding = await scene.running()
      assert.equal(await scene.settle(holding, end), 'ok')
      assert.equal(await scene.state(holding.id), stateAfter[end])
      assert.deepEqual(await scene.claimedIds(), [], `nothing is claimed after ${end}`)
    }
  },
  'a failure keeps its error': async (scene) => {
    const holding = await scene.running()
    const error = { message: 'no route', name: 'TypeError', code: 'E_ROUTE', stack: 'at line 1' }
    await scene.settle(holding, 'failed', { end: scene.end('failed', { error }) })
    assert.deepEqual((await scene.get(holding.id)).turns[0]?.error, error)
    assert.deepEqual((await scene.store.list({ limit: 1 })).items[0]?.error, error)
  },
  'attempts settle with their turn, those recorded before left as they were': async (scene) => {
    const holding = await scene.running()
    const first = scene.attempt({ task: 'a' })
    await scene.store.checkpoint([{ ...memberRef(holding), attempts: [first] }])
    await scene.settle(holding, 'failed', { attempts: [{ ...first, state: 'succeeded' }, scene.attempt({ task: 'a', n: 2 })] })
    assert.deepEqual(
      (await scene.get(holding.id)).attempts.map(({ n, state }) => [n, state]),
      [
        [1, 'failed'],
        [2, 'failed'],
      ],
    )
  },
  'JB-12 a parked occurrence waits its delay by the clock of the store': async (scene) => {
    const holding = await scene.running()
    await scene.settle(holding, 'parked', { delayMs: 2000 })
    const { state, dueAt, node } = await scene.get(holding.id)
    assert.deepEqual([state, dueAt, node], ['retrying', scene.now + 2000, null])
    await scene.clock.advance(1999)
    assert.deepEqual(await scene.claimedIds(), [])
    await scene.clock.advance(1)
    assert.deepEqual(await scene.claimedIds(), [holding.id])
  },
  'JB-12 the next turn brings the turns and attempts before it': async (scene) => {
    const holding = await scene.running()
    const attempt = scene.attempt({ task: 'fetch' })
    const end = scene.end('parked', { error: { message: 'first' }, settings: { timeoutMs: 5 } })
    await scene.settle(holding, 'parked', { end, attempts: [attempt] })
    const member = memberOf(await scene.claim())
    assert.deepEqual([member.turn, member.recoveries], [2, 0])
    assert.deepEqual(member.turns, [{ ...end, turn: 1, node: 'node-1' }])
    assert.deepEqual(member.attempts, [attempt])
  },
  'first due and due again are kept apart': async (scene) => {
    const scheduledAt = scene.now
    const holding = await scene.running()
    await scene.settle(holding, 'parked', { delayMs: minute })
    await scene.clock.advance(minute)
    const member = memberOf(await scene.claim())
    assert.deepEqual([member.record.scheduledAt, member.dueAt], [scheduledAt, scheduledAt + minute])
  },
  'JB-19 a released occurrence is pending again, its turn recorded': async (scene) => {
    const holding = await scene.running()
    await scene.settle(holding, 'released', { end: scene.end('released', { startedAt: null, reason: 'shutdown' }) })
    assert.equal(await scene.state(holding.id), 'pending')
    const member = memberOf(await scene.claim())
    assert.deepEqual([member.turn, member.turns.map(({ end, reason }) => [end, reason])], [2, [['released', 'shutdown']]])
  },
  'a settle said twice is ok twice and ends once': async (scene) => {
    const holding = await scene.running()
    const item = scene.settleItem(holding, 'completed')
    for (const _ of [1, 2]) assert.deepEqual(await scene.settleAll([item], [holding.claim]), ['ok'])
    assert.equal((await scene.get(holding.id)).turns.length, 1)
  },
  'a park said twice is ok twice, also when the next turn already runs elsewhere': async (scene) => {
    const holding = await scene.running()
    const item = { ...scene.settleItem(holding, 'parked'), attempts: [scene.attempt()] }
    assert.deepEqual(await scene.settleAll([item], [holding.claim]), ['ok'])
    assert.deepEqual(await scene.settleAll([item], [holding.claim]), ['ok'])
    await scene.join('node-2')
    const next = await scene.claim({ node: 'node-2' })
    assert.deepEqual(await scene.settleAll([item], [holding.claim]), ['ok'])
    const { node, turns, attempts } = await scene.get(holding.id)
    assert.deepEqual([node, turns.length, attempts.length, memberOf(next).turn], ['node-2', 1, 1, 2])
  },
  'a turn that has ended one way cannot end another way': async (scene) => {
    const holding = await scene.running()
    await scene.settle(holding, 'completed', { done: false })
    assert.equal(await scene.settle(holding, 'failed'), 'lost')
    assert.equal(await scene.state(holding.id), 'completed')
  },
  'one lost item does not undo its neighbours': async (scene) => {
    await scene.join()
    for (let i = 0; i < 3; i++) await scene.create({ due: scene.now - 3 + i })
    const holding = await scene.claim()
    const items = [
      scene.settleItem(holding, 'completed', 0),
      { ...scene.settleItem(holding, 'completed', 1), ...forged(holding, { turn: 2 }, 1) },
      scene.settleItem(holding, 'failed', 2),
    ]
    assert.deepEqual(await scene.settleAll(items, []), ['ok', 'lost', 'ok'])
    assert.deepEqual(await Promise.all(idsOf(holding).map((id) => scene.state(id))), ['completed', 'running', 'failed'])
  },
  'items of several claims settle in one call': async (scene) => {
    await scene.join()
    const ids = [await scene.create(), await scene.create()]
    const [a, b] = [await scene.claim({ limit: 1 }), await scene.claim({ limit: 1 })]
    assert.deepEqual(
      await scene.settleAll([scene.settleItem(a, 'completed'), scene.settleItem(b, 'failed')], [a.claim, b.claim]),
      ['ok', 'ok'],
    )
    assert.deepEqual([await scene.state(ids[0] as string), await scene.state(ids[1] as string)], ['completed', 'failed'])
  },
  'a settle without items may only say that claims are done': async (scene) => {
    const holding = await scene.running()
    await scene.settle(holding, 'completed', { done: false })
    assert.deepEqual(await scene.settleAll([], [holding.claim]), [])
    assert.deepEqual((await scene.beat({ claims: [holding.claim.id] })).lost, [holding.claim.id])
  },
  'members that are left stay claimed while their neighbours end': async (scene) => {
    const holding = await twoRunning(scene)
    await scene.settle(holding, 'completed', { done: false })
    assert.deepEqual((await scene.beat({ claims: [holding.claim.id] })).lost, [])
    assert.equal(await scene.settle(holding, 'completed', { i: 1 }), 'ok')
  },
  'a claim said to be done stands on while a member has not ended': async (scene) => {
    const holding = await twoRunning(scene)
    await scene.settle(holding, 'completed', { done: true })
    assert.deepEqual((await scene.beat({ claims: [holding.claim.id] })).lost, [])
    await scene.settleAll([], [holding.claim])
    assert.equal(await scene.settle(holding, 'completed', { i: 1 }), 'ok')
    assert.deepEqual((await scene.beat({ claims: [holding.claim.id] })).lost, [holding.claim.id])
  },
  'a settle said again leaves alone what a late claim took under the same id': async (scene) => {
    const holding = await scene.running()
    const item = scene.settleItem(holding, 'completed')
    assert.deepEqual(await scene.settleAll([item], [holding.claim]), ['ok'])
    const next = await scene.create()
    await scene.store.claim(scene.claimRequest(holding.claim))
    assert.equal(await scene.state(next), 'running')
    assert.deepEqual(await scene.settleAll([item], [holding.claim]), ['ok'])
    await scene.beat()
    assert.equal(await scene.state(next), 'pending')
  },
  'a claim is done only for who knows its token': async (scene) => {
    const holding = await twoRunning(scene)
    await scene.settleAll([], [{ id: holding.claim.id, token: 'guessed' }])
    assert.equal(await scene.settle(holding, 'completed'), 'ok')
  },
  'a settle or a create whose claim is refused changes nothing': async (scene) => {
    const holding = await scene.running()
    const claim = scene.claimRequest({ node: 'unknown' })
    await assert.rejects(scene.store.settle([scene.settleItem(holding, 'completed')], { claim }), { code: 'claim.lost' })
    await assert.rejects(scene.store.create([scene.row()], { claim }), { code: 'claim.lost' })
    assert.deepEqual((await scene.store.counts({})).states.pending, 0)
    assert.equal(await scene.state(holding.id), 'running')
    assert.equal(await scene.settle(holding, 'completed'), 'ok')
  },
  'a batch of one hundred settles in one call': async (scene) => {
    await scene.join()
    await scene.createAll(Array.from({ length: 100 }, () => scene.row()))
    const holding = await scene.claim({ limit: 100 })
    const items = holding.members.map((_, i) => scene.settleItem(holding, 'completed', i))
    const answers = await scene.settleAll(items, [holding.claim])
    assert.ok(answers.length === 100 && answers.every((answer) => answer === 'ok'))
    assert.equal((await scene.store.counts({})).states.completed, 100)
  },
})

async function twoRunning(scene: Scene) {
  await scene.join()
  await scene.create({ due: scene.now - 2 })
  await scene.create({ due: scene.now - 1 })
  return scene.claim()
}
