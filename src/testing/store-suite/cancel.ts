import assert from 'node:assert/strict'
import { memberRef, minute } from './scene.ts'
import { topic } from './topic.ts'

export const cancelCases = topic('cancel', {
  'JS-7 a pending occurrence is canceled at once, with its reason': async (scene) => {
    await scene.join()
    const id = await scene.create()
    assert.deepEqual(await scene.store.cancel({ which: { id }, reason: 'paid' }), [{ id, outcome: 'canceled' }])
    const { state, turns } = await scene.get(id)
    assert.deepEqual([state, turns], ['canceled', [scene.bareTurn(1, 'canceled', { reason: 'paid' })]])
    assert.deepEqual(await scene.claimedIds(), [])
  },
  'BL-3 an occurrence is canceled by tenant, job and key': async (scene) => {
    const id = await scene.create({ key: 'k', due: { in: minute } })
    assert.deepEqual(await scene.store.cancel({ which: { tenant: 'default', job: 'mail', key: 'k' }, reason: null }), [
      { id, outcome: 'canceled' },
    ])
  },
  'TS-2 a cancel of a version leaves work alone whose key has a higher one': async (scene) => {
    const id = await scene.create({ key: 'k', unique: 'ever', keyVersion: 3, due: { in: minute } })
    const cancel = (keyVersion: number) =>
      scene.store.cancel({ which: { tenant: 'default', job: 'mail', key: 'k' }, reason: null, keyVersion })
    assert.deepEqual(await cancel(2), [])
    assert.equal(await scene.state(id), 'pending')
    assert.deepEqual(await cancel(3), [{ id, outcome: 'canceled' }])
    const running = await scene.running({ key: 'r', unique: 'ever', keyVersion: 3 })
    const which = { tenant: 'default', job: 'mail', key: 'r' }
    assert.deepEqual(await scene.store.cancel({ which, reason: null, keyVersion: 2 }), [])
    assert.deepEqual(await scene.store.cancel({ which, reason: null, keyVersion: 4 }), [{ id: running.id, outcome: 'canceling' }])
  },
  'a live key is canceled by the one that has it': async (scene) => {
    const first = await scene.completed({ key: 'k', unique: 'live' })
    const second = await scene.create({ key: 'k', unique: 'live', due: { in: minute } })
    assert.deepEqual(await scene.store.cancel({ which: { tenant: 'default', job: 'mail', key: 'k' }, reason: null }), [
      { id: second, outcome: 'canceled' },
    ])
    assert.equal(await scene.state(first), 'completed')
  },
  'BL-3 what the store does not know has no answer': async (scene) => {
    await scene.create({ key: 'k', entity: 'e' })
    const ids = [
      { id: scene.newId() },
      { tenant: 'default', job: 'mail', key: 'other' },
      { tenant: 'default', job: 'report', key: 'k' },
    ]
    const entities = [
      { tenant: 'default', job: 'mail', entity: 'other' },
      { tenant: 'default', job: 'report', entity: 'e' },
    ]
    for (const which of [...ids, ...entities]) assert.deepEqual(await scene.store.cancel({ which, reason: null }), [])
  },
  'TS-10 a cancel does not reach into another tenant': async (scene) => {
    const id = await scene.create({ tenant: 'acme', key: 'k', entity: 'e' })
    for (const which of [
      { id, tenant: 'globex' },
      { tenant: 'globex', job: 'mail', key: 'k' },
      { tenant: 'globex', job: 'mail', entity: 'e' },
    ]) {
      assert.deepEqual(await scene.store.cancel({ which, reason: null }), [])
    }
    assert.equal(await scene.state(id), 'pending')
    assert.deepEqual(await scene.store.cancel({ which: { id, tenant: 'acme' }, reason: null }), [{ id, outcome: 'canceled' }])
  },
  'TM-1 all unended occurrences of an entity are canceled, and no others': async (scene) => {
    await scene.completed({ entity: 'order-1' })
    await scene.dead({ entity: 'order-1' })
    const running = await scene.running({ entity: 'order-1' })
    const parked = await scene.running({ entity: 'order-1' })
    await scene.settle(parked, 'parked', { delayMs: minute })
    const pending = await scene.create({ entity: 'order-1', due: { in: minute } })
    const other = await scene.create({ entity: 'order-2', due: { in: minute } })
    const answers = await scene.store.cancel({ which: { tenant: 'default', job: 'mail', entity: 'order-1' }, reason: null })
    const outcomes = Object.fromEntries(answers.map(({ id, outcome }) => [id, outcome]))
    assert.deepEqual(outcomes, { [running.id]: 'canceling', [parked.id]: 'canceled', [pending]: 'canceled' })
    assert.equal(await scene.state(other), 'pending')
  },
  'children are canceled with their parent, at every depth, ended ones in between included': async (scene) => {
    const root = await scene.running()
    const child = await scene.running({ parent: root.id })
    const done = await scene.completed({ parent: root.id })
    const grandchild = await scene.create({ parent: done, due: { in: minute } })
    const other = await scene.create({ due: { in: minute } })
    const of = async (children: boolean) => {
      const answers = await scene.store.cancel({ which: { id: root.id }, reason: 'no more', children })
      return Object.fromEntries(answers.map(({ id, outcome }) => [id, outcome]))
    }
    assert.deepEqual(await of(false), { [root.id]: 'canceling' })
    assert.deepEqual(await of(true), { [root.id]: 'canceling', [child.id]: 'canceling', [grandchild]: 'canceled' })
    assert.deepEqual(await of(true), { [root.id]: 'canceling', [child.id]: 'canceling' })
    assert.equal(await scene.state(other), 'pending')
    assert.equal((await scene.get(grandchild)).turns.at(-1)?.reason, 'no more')
  },
  'a retry that waits is canceled in its next turn': async (scene) => {
    const holding = await scene.running()
    await scene.settle(holding, 'parked', { delayMs: minute })
    assert.deepEqual(await scene.store.cancel({ which: { id: holding.id }, reason: null }), [
      { id: holding.id, outcome: 'canceled' },
    ])
    const { state, turns } = await scene.get(holding.id)
    assert.deepEqual(
      [state, turns.map(({ turn, end }) => [turn, end])],
      [
        'canceled',
        [
          [1, 'parked'],
          [2, 'canceled'],
        ],
      ],
    )
    await scene.clock.advance(minute)
    await scene.beat()
    assert.deepEqual(await scene.claimedIds(), [])
  },
  'a running occurrence is asked to stop through the beat of its node': async (scene) => {
    const holding = await scene.running()
    assert.deepEqual(await scene.store.cancel({ which: { id: holding.id }, reason: 'paid' }), [
      { id: holding.id, outcome: 'canceling' },
    ])
    assert.equal(await scene.state(holding.id), 'running')
    const { cancels, lost } = await scene.beat({ claims: [holding.claim.id] })
    const { ref, turn } = holding.members[0] as { ref: number; turn: number }
    assert.deepEqual([cancels, lost], [[{ ref, turn, reason: 'paid' }], []])
    await scene.join('node-2')
    assert.deepEqual((await scene.beat({ boot: 'node-2' })).cancels, [])
  },
  'a cancel request is told with every beat until the turn ends': async (scene) => {
    const holding = await scene.running()
    await scene.store.cancel({ which: { id: holding.id }, reason: null })
    for (const _ of [1, 2]) assert.equal((await scene.beat({ claims: [holding.claim.id] })).cancels.length, 1)
    await scene.settle(holding, 'canceled')
    assert.deepEqual((await scene.beat()).cancels, [])
  },
  'TM-1 a turn whose cancel was requested creates no children any more, and others do': async (scene) => {
    const parent = await scene.running()
    const other = await scene.running()
    const of = (holding: typeof parent, over = {}) => scene.row({ parent: holding.id, maker: memberRef(holding), ...over })
    assert.equal((await scene.createOne(of(parent, { key: 'before' }))).outcome, 'created')
    await scene.store.cancel({ which: { id: parent.id }, reason: null })
    const rows = [of(parent), of(other), of(parent, { key: 'k', unique: 'live' }), of(parent, { key: 'before' })]
    const answers = await scene.createAll(rows)
    assert.deepEqual(
      answers.map(({ outcome, state }) => [outcome, state]),
      [
        ['refused', null],
        ['created', 'pending'],
        ['refused', null],
        ['refused', null],
      ],
    )
    assert.equal((await scene.store.list({ parent: parent.id, limit: 10 })).items.length, 1)
  },
  'TM-1 a turn that is over creates no children any more': async (scene) => {
    for (const end of ['completed', 'parked'] as const) {
      const holding = await scene.running()
      await scene.settle(holding, end, { delayMs: minute })
      const { outcome } = await scene.createOne({ parent: holding.id, maker: memberRef(holding) })
      assert.equal(outcome, 'refused')
    }
  },
  'the first reason stands': async (scene) => {
    const holding = await scene.running()
    for (const reason of ['first', 'second']) await scene.store.cancel({ which: { id: holding.id }, reason })
    assert.equal((await scene.beat({ claims: [holding.claim.id] })).cancels[0]?.reason, 'first')
  },
  'a cancel acknowledged while running is not undone by a parked settle': async (scene) => {
    for (const end of ['parked', 'released'] as const) {
      const holding = await scene.running()
      await scene.store.cancel({ which: { id: holding.id }, reason: 'paid' })
      const item = { ...scene.settleItem(holding, end), end: scene.end(end, { error: { message: 'failed once' } }) }
      for (const _ of [1, 2]) assert.deepEqual(await scene.settleAll([item], [holding.claim]), ['ok'])
      const { state, turns } = await scene.get(holding.id)
      assert.deepEqual(
        [state, turns.map((turn) => [turn.end, turn.reason, turn.error?.message])],
        ['canceled', [['canceled', 'paid', 'failed once']]],
      )
      assert.deepEqual(await scene.claimedIds(), [])
    }
  },
  'a run that completes before it hears of its cancel is completed': async (scene) => {
    const holding = await scene.running()
    await scene.store.cancel({ which: { id: holding.id }, reason: null })
    assert.equal(await scene.settle(holding, 'completed'), 'ok')
    assert.equal(await scene.state(holding.id), 'completed')
  },
  'a cancel acknowledged for a claim whose answer was lost is kept when the claim is released': async (scene) => {
    const holding = await scene.running()
    await scene.store.cancel({ which: { id: holding.id }, reason: 'paid' })
    await scene.beat()
    const { state, turns } = await scene.get(holding.id)
    assert.deepEqual([state, turns.map(({ end, reason }) => [end, reason])], ['canceled', [['canceled', 'paid']]])
    assert.deepEqual(await scene.claimedIds(), [])
  },
  'what has ended is not canceled, and what was canceled stays so': async (scene) => {
    const completed = await scene.completed()
    const dead = await scene.dead()
    const canceled = await scene.create()
    await scene.store.cancel({ which: { id: canceled }, reason: 'first' })
    for (const [id, outcome] of [
      [completed, 'ended'],
      [dead, 'ended'],
      [canceled, 'canceled'],
    ] as const) {
      const before = await scene.get(id)
      assert.deepEqual(await scene.store.cancel({ which: { id }, reason: 'again' }), [{ id, outcome }])
      assert.deepEqual(await scene.get(id), before)
    }
  },
  'a cancel request does not follow a dead occurrence into a retry by a person': async (scene) => {
    const holding = await scene.running()
    await scene.store.cancel({ which: { id: holding.id }, reason: null })
    await scene.settle(holding, 'dead')
    await scene.store.move({ which: { id: holding.id }, to: { retry: { in: 0 } } })
    const next = await scene.claim()
    assert.deepEqual((await scene.beat({ claims: [next.claim.id] })).cancels, [])
    await scene.settle(next, 'parked')
    assert.equal(await scene.state(holding.id), 'retrying')
  },
})
