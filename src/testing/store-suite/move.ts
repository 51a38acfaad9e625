import assert from 'node:assert/strict'
import { concurrency } from './keys.ts'
import { day, hour, idsOf, memberOf, minute } from './scene.ts'
import { topic } from './topic.ts'

export const moveCases = topic('move', {
  'enqueued work that is moved stands for its new instant, in lists too': async (scene) => {
    await scene.join()
    const id = await scene.create({ due: { in: hour } })
    assert.equal(await scene.store.move({ which: { id }, to: { due: scene.now + minute } }), 'moved')
    const { record, dueAt, state } = await scene.get(id)
    assert.deepEqual([record.scheduledAt, dueAt, state], [scene.now + minute, scene.now + minute, 'pending'])
    const { items } = await scene.store.list({ from: scene.now, to: scene.now + minute + 1, limit: 10 })
    assert.deepEqual(
      items.map((line) => [line.id, line.scheduledAt]),
      [[id, scene.now + minute]],
    )
    assert.equal((await scene.store.peek({ kinds: ['mail'] })).nextDue, scene.now + minute)
    await scene.clock.advance(minute)
    assert.deepEqual(await scene.claimedIds(), [id])
    assert.deepEqual(await scene.claimedIds(), [])
  },
  'a pending occurrence runs now, by key and by a delay from the clock of the store': async (scene) => {
    await scene.join()
    const id = await scene.create({ key: 'k', due: { in: hour } })
    await scene.clock.advance(10)
    assert.equal(await scene.store.move({ which: { tenant: 'default', job: 'mail', key: 'k' }, to: { due: { in: 0 } } }), 'moved')
    assert.equal((await scene.get(id)).dueAt, scene.now)
    assert.deepEqual(await scene.claimedIds(), [id])
  },
  'an occurrence moved to later is not claimed at its old instant': async (scene) => {
    await scene.join()
    const id = await scene.create()
    await scene.store.move({ which: { id }, to: { due: { in: minute } } })
    assert.deepEqual(await scene.claimedIds(), [])
  },
  'an instant of a schedule, a replay and a retry are moved and go on standing for their instant': async (scene) => {
    const job = await scene.putJob()
    const at = scene.now + minute
    const planned = scene.planRow(job, at)
    await scene.plan([], { rows: [planned], through: at })
    const replay = await scene.create({ source: 'replay', scheduledAt: scene.now - day, due: { in: minute } })
    const retried = await scene.running()
    const first = scene.now
    await scene.settle(retried, 'parked', { delayMs: minute })
    for (const id of [planned.id, replay, retried.id]) await scene.store.move({ which: { id }, to: { due: scene.now + hour } })
    const found = await Promise.all([planned.id, replay, retried.id].map((id) => scene.get(id)))
    assert.deepEqual(
      found.map(({ record, dueAt }) => [record.scheduledAt, dueAt]),
      [at, first - day, first].map((scheduledAt) => [scheduledAt, scene.now + hour]),
    )
  },
  'a retry that waits is moved and stays in its turn': async (scene) => {
    const holding = await scene.running()
    await scene.settle(holding, 'parked', { delayMs: hour })
    assert.equal(await scene.store.move({ which: { id: holding.id }, to: { due: { in: 0 } } }), 'moved')
    assert.equal(memberOf(await scene.claim()).turn, 2)
  },
  'what runs, has ended or is unknown is not moved': async (scene) => {
    const completed = await scene.completed()
    const dead = await scene.dead()
    const running = await scene.running()
    const to = { due: { in: minute } }
    assert.equal(await scene.store.move({ which: { id: running.id }, to }), 'running')
    assert.equal(await scene.store.move({ which: { id: completed }, to }), 'ended')
    assert.equal(await scene.store.move({ which: { id: dead }, to }), 'ended')
    assert.equal(await scene.store.move({ which: { id: scene.newId() }, to }), 'unknown')
    assert.deepEqual(await Promise.all([completed, dead, running.id].map((id) => scene.state(id))), [
      'completed',
      'dead',
      'running',
    ])
  },
  'TM-10 a dead occurrence that a person retries runs its next turn, its past kept': async (scene) => {
    const id = await scene.dead()
    assert.equal(await scene.store.move({ which: { id }, to: { retry: { in: 1000 } } }), 'moved')
    const { state, dueAt } = await scene.get(id)
    assert.deepEqual([state, dueAt], ['retrying', scene.now + 1000])
    await scene.clock.advance(1000)
    const holding = await scene.claim()
    assert.deepEqual([idsOf(holding), memberOf(holding).turn, memberOf(holding).turns.map(({ end }) => end)], [[id], 2, ['dead']])
    assert.equal(await scene.settle(holding, 'completed'), 'ok')
    assert.equal(await scene.state(id), 'completed')
  },
  'TM-12 a retry by a person starts the count of recoveries afresh': async (scene) => {
    await scene.running()
    await scene.loseNode()
    await scene.clock.advance(1000)
    const second = await scene.claim({ node: 'node-2' })
    assert.equal(memberOf(second).recoveries, 1)
    await scene.settle(second, 'dead')
    await scene.store.move({ which: { id: memberOf(second).record.id }, to: { retry: { in: 0 } } })
    assert.equal(memberOf(await scene.claim({ node: 'node-2' })).recoveries, 0)
  },
  'TM-10 a dead occurrence is discarded with a reason': async (scene) => {
    const id = await scene.dead()
    assert.equal(await scene.store.move({ which: { id }, to: { discard: 'obsolete' } }), 'moved')
    const { state, turns } = await scene.get(id)
    assert.deepEqual(
      [state, turns.map(({ turn, end, reason }) => [turn, end, reason])],
      [
        'canceled',
        [
          [1, 'dead', null],
          [2, 'canceled', 'obsolete'],
        ],
      ],
    )
    assert.deepEqual(await scene.claimedIds(), [])
  },
  'only the dead are retried and discarded': async (scene) => {
    const completed = await scene.completed()
    const running = await scene.running()
    const pending = await scene.create({ due: { in: minute } })
    for (const to of [{ retry: { in: 0 } }, { discard: null }] as const) {
      assert.equal(await scene.store.move({ which: { id: completed }, to }), 'ended')
      assert.equal(await scene.store.move({ which: { id: running.id }, to }), 'running')
      assert.equal(await scene.store.move({ which: { id: pending }, to }), 'not-dead')
      assert.equal(await scene.store.move({ which: { id: scene.newId() }, to }), 'unknown')
    }
    assert.deepEqual(await Promise.all([completed, running.id, pending].map((id) => scene.state(id))), [
      'completed',
      'running',
      'pending',
    ])
  },
  'TS-10 a move does not reach into another tenant': async (scene) => {
    const id = await scene.create({ tenant: 'acme', key: 'k', due: { in: minute } })
    const to = { due: { in: 0 } }
    assert.equal(await scene.store.move({ which: { id, tenant: 'globex' }, to }), 'unknown')
    assert.equal(await scene.store.move({ which: { tenant: 'globex', job: 'mail', key: 'k' }, to }), 'unknown')
    assert.equal(await scene.store.move({ which: { id, tenant: 'acme' }, to }), 'moved')
  },
  'JS-7 running work is released: its turn is over, and the next may begin at once': async (scene) => {
    const holding = await scene.running({ limits: concurrency(1) })
    const waiting = await scene.create({ limits: concurrency(1) })
    await scene.clock.advance(1000)
    const { ref, turn } = memberOf(holding)
    const long = [{ ref, turn, startedAt: scene.now - 500, deadlineAt: scene.now + minute }]
    assert.deepEqual((await scene.beat({ claims: [holding.claim.id], long })).over, [])
    assert.equal(await scene.store.move({ which: { id: holding.id }, to: { release: 'stuck' } }), 'moved')
    const { state, turns } = await scene.get(holding.id)
    assert.deepEqual(
      [state, turns.map(({ end, reason, node, startedAt }) => [end, reason, node, startedAt])],
      ['pending', [['released', 'stuck', 'node-1', scene.now - 500]]],
    )
    assert.deepEqual((await scene.beat({ claims: [holding.claim.id], long })).over, [{ ref, turn }])
    assert.equal(await scene.settle(holding, 'completed', { done: false }), 'lost')
    assert.deepEqual(await scene.claimedIds({ limit: 1 }), [holding.id], 'it has begun, and comes before others of its key')
    assert.equal(await scene.state(waiting), 'waiting')
  },
  'JS-7 only running work is released, and canceled work ends instead': async (scene) => {
    const release = (id: string) => scene.store.move({ which: { id }, to: { release: null } })
    const canceled = await scene.running()
    await scene.store.cancel({ which: { id: canceled.id }, reason: 'paid' })
    assert.equal(await release(canceled.id), 'moved')
    assert.deepEqual(
      (await scene.get(canceled.id)).turns.map(({ end, reason }) => [end, reason]),
      [['canceled', 'paid']],
    )
    assert.deepEqual(
      [await release(await scene.completed()), await release(await scene.dead()), await release(scene.newId())],
      ['ended', 'ended', 'unknown'],
    )
    assert.equal(await release(await scene.create({ due: { in: minute } })), 'not-running')
  },
})
