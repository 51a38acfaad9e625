import assert from 'node:assert/strict'
import { PunctualError } from '../../errors.ts'
import { keyedId } from '../../model/ids.ts'
import type { NewOccurrence } from '../../store/store.ts'
import { day, hour, idsOf, minute } from './scene.ts'
import { topic } from './topic.ts'

export const createCases = topic('create', {
  'a version of a key that is not higher moves nothing, and a higher one does': async (scene) => {
    const versioned = (keyVersion: number, due: number) =>
      scene.createOne({ ...once('k'), keyVersion, due, onConflict: 'reschedule' })
    await versioned(2, scene.now + minute)
    assert.equal((await versioned(2, scene.now + 10)).outcome, 'existing')
    assert.equal((await versioned(1, scene.now + 10)).outcome, 'existing')
    const { outcome, id } = await versioned(3, scene.now + 20)
    assert.equal(outcome, 'moved')
    const found = await scene.get(id)
    assert.deepEqual([found.dueAt, found.record.keyVersion], [scene.now + 20, 3])
    assert.equal((await versioned(2, scene.now + 10)).outcome, 'existing')
  },
  'TS-2 of calls for a key at the same time the highest version decides': async (scene) => {
    for (const key of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']) {
      const { id } = await scene.createOne({ ...once(key), due: scene.now + minute })
      const call = (keyVersion: number) =>
        scene.createOne({ ...once(key), keyVersion, due: scene.now + minute + keyVersion, onConflict: 'reschedule' })
      await Promise.all([1, 2, 3].map(call))
      const found = await scene.get(id)
      assert.deepEqual([found.dueAt, found.record.keyVersion], [scene.now + minute + 3, 3])
    }
  },
  'a request without a version moves, and the version of the key stays': async (scene) => {
    const { id } = await scene.createOne({ ...once('k'), keyVersion: 5, due: scene.now + minute })
    assert.equal((await scene.createOne({ ...once('k'), due: scene.now + 20, onConflict: 'reschedule' })).outcome, 'moved')
    assert.equal((await scene.get(id)).record.keyVersion, 5)
  },
  'a version of a key that is not higher does not revive canceled work': async (scene) => {
    const versioned = (keyVersion: number) =>
      scene.createOne({ ...once('k'), keyVersion, due: scene.now + minute, onConflict: 'reschedule' })
    const { id } = await versioned(4)
    await scene.store.cancel({ which: { id }, reason: null })
    assert.deepEqual(
      [await versioned(3), await versioned(4)].map(({ id, outcome, state }) => [id, outcome, state]),
      [
        [id, 'existing', 'canceled'],
        [id, 'existing', 'canceled'],
      ],
    )
    assert.equal((await versioned(5)).outcome, 'created')
    assert.equal((await versioned(4)).outcome, 'existing')
  },
  'a version of a key that is not higher does not revive canceled work that was pruned': async (scene) => {
    const versioned = (keyVersion?: number) =>
      scene.createOne({
        ...once('k'),
        ...(keyVersion !== undefined && { keyVersion }),
        due: scene.now + minute,
        onConflict: 'reschedule',
      })
    const { id } = await versioned(4)
    await scene.store.cancel({ which: { id }, reason: null })
    assert.equal((await scene.store.prune({ endedBefore: scene.now + 1, keyRetentionMs: day, limit: 10 })).pruned, 1)
    assert.deepEqual([(await versioned(3)).outcome, (await versioned(4)).outcome], ['tombstoned', 'tombstoned'])
    assert.equal((await versioned(5)).outcome, 'created')
    assert.equal((await versioned()).outcome, 'moved')
    assert.equal((await versioned(5)).outcome, 'existing')
  },
  'a key whose canceled work was pruned still has one live occurrence': async (scene) => {
    const { id } = await scene.createOne({ ...once('k'), due: scene.now + minute })
    await scene.store.cancel({ which: { id }, reason: null })
    const again = await scene.createOne({ ...once('k'), due: scene.now + minute })
    assert.equal((await scene.store.prune({ endedBefore: scene.now + 1, keyRetentionMs: day, limit: 10 })).pruned, 1)
    const { id: found, outcome } = await scene.createOne({ ...once('k'), due: scene.now + 10, onConflict: 'reschedule' })
    assert.deepEqual([found, outcome], [again.id, 'moved'])
  },
  'a new occurrence is pending with all that was given': async (scene) => {
    await scene.putJob({ schedule: null }, { name: 'mail' })
    const row = scene.row({
      key: 'k',
      entity: 'order-42',
      refs: { order: '42' },
      settings: { timeoutMs: 9, retry: { max: 1 } },
      priority: 3,
      limits: [{ kind: 'rate', key: 'r', limit: 2, perMs: 1000 }],
      replay: { origin: scene.newId(), reason: 'again', tasks: ['run'] },
      startWithinMs: 5000,
      due: scene.now + minute,
      source: 'timer',
    })
    assert.deepEqual(await scene.createAll([row]), [{ id: row.id, outcome: 'created', state: 'pending', differs: false }])
    const { due, onConflict: _, ...given } = row
    assert.deepEqual(await scene.get(row.id), {
      record: { ...given, kind: 'mail', span: null, version: 1, scheduledAt: due, createdAt: scene.now },
      state: 'pending',
      dueAt: due,
      node: null,
      runningSince: null,
      turns: [],
      attempts: [],
      progress: null,
      logs: [],
      wait: null,
      blockers: [],
    })
  },
  'BL-1 what is created together keeps what each has of its own, in the order it was given': async (scene) => {
    const common = scene.row({
      entity: 'order-42',
      refs: { order: '42' },
      settings: { timeoutMs: 9 },
      priority: 3,
      limits: [{ kind: 'concurrency', key: 'c', limit: 2 }],
      startWithinMs: minute,
    })
    const oddities = { text: '"\\\n\u001e{},\u2028', many: ['ä', '€', '😀'] }
    const own: Partial<NewOccurrence>[] = [
      { payload: JSON.stringify(oddities) },
      { payload: null, due: { in: hour } },
      { payload: '""', due: scene.now + day },
      { payload: null },
    ]
    const alike = own.map((one) => ({ ...common, id: scene.newId(), ...one }))
    const apart = own.map((one, at) => ({
      ...scene.row({ job: `job-${at}`, priority: at, entity: at < 2 ? null : 'e' }),
      ...one,
    }))
    // Each differs from the one before in one respect alone.
    const steps: Partial<NewOccurrence>[] = [
      { job: 'other' },
      { tenant: 'acme' },
      { source: 'timer' },
      { entity: null },
      { refs: {} },
      { settings: null },
      { priority: 4 },
      { limits: null },
      { replay: { origin: scene.newId(), reason: 'again', tasks: null } },
      { startWithinMs: null },
    ]
    const stepwise: NewOccurrence[] = [{ ...common, id: scene.newId() }]
    for (const step of steps) stepwise.push({ ...(stepwise.at(-1) as NewOccurrence), id: scene.newId(), ...step })
    const keyed = own.map((one, at) => ({ ...common, ...scene.row({ key: `"${at}\\,` }), ...one }))
    for (const rows of [alike, apart, stepwise, keyed, [...alike, ...apart].map((row) => ({ ...row, id: scene.newId() }))]) {
      assert.deepEqual(
        await scene.createAll(rows),
        rows.map(({ id }) => ({ id, outcome: 'created', state: 'pending', differs: false })),
      )
      for (const { due, onConflict: _, version: _1, scheduledAt: _6, ...given } of rows) {
        const { record, dueAt } = await scene.get(given.id)
        const { kind: _2, span: _3, version: _4, scheduledAt, createdAt: _5, ...kept } = record
        const instant = typeof due === 'number' ? due : scene.now + due.in
        assert.deepEqual([kept, scheduledAt, dueAt], [given, instant, instant])
      }
    }
  },
  'an unkeyed occurrence that is said again is made once': async (scene) => {
    const rows = Array.from({ length: 3 }, () => scene.row())
    const outcomes = async (said: readonly NewOccurrence[]) => (await scene.createAll(said)).map(({ outcome }) => outcome)
    assert.deepEqual(await outcomes(rows.slice(1)), ['created', 'created'])
    const again = rows.slice(0, 1).map((row) => ({ ...row }))
    assert.deepEqual(await outcomes([...rows, ...again]), ['created', 'existing', 'existing', 'existing'])
    assert.equal((await scene.store.counts({})).states.pending, 3)
  },
  'TM-2 a job that no code has declared to the store can be enqueued': async (scene) => {
    const id = await scene.create({ job: 'unheard-of' })
    assert.equal((await scene.get(id)).record.version, 0)
  },
  'a relative due counts from the clock of the store': async (scene) => {
    await scene.clock.advance(1234)
    const id = await scene.create({ due: { in: 500 } })
    const { record, dueAt } = await scene.get(id)
    assert.deepEqual([record.scheduledAt, dueAt, record.createdAt], [scene.now + 500, scene.now + 500, scene.now])
  },
  'a due in the past is kept as given': async (scene) => {
    const id = await scene.create({ due: scene.now - day })
    assert.equal((await scene.get(id)).dueAt, scene.now - day)
  },
  'BL-1 the same key twice returns the existing occurrence': async (scene) => {
    const id = await scene.create({ key: 'k' })
    assert.deepEqual(await scene.createOne({ key: 'k' }), { id, outcome: 'existing', state: 'pending', differs: false })
    assert.equal((await scene.store.counts({})).states.pending, 1)
  },
  'keep tells that the payload differs, and changes nothing': async (scene) => {
    const id = await scene.create({ key: 'k', payload: '1', due: { in: minute } })
    const before = await scene.get(id)
    assert.deepEqual(await scene.createOne({ key: 'k', payload: '2', due: { in: hour } }), {
      id,
      outcome: 'existing',
      state: 'pending',
      differs: true,
    })
    assert.deepEqual(await scene.createOne({ key: 'k', payload: null }), {
      id,
      outcome: 'existing',
      state: 'pending',
      differs: true,
    })
    assert.deepEqual(await scene.get(id), before)
  },
  'TS-2 reschedule moves the due instant and keeps the payload': async (scene) => {
    const id = await scene.create({ key: 'k', payload: '1', priority: 4, due: { in: minute } })
    assert.deepEqual(
      await scene.createOne({ key: 'k', payload: '2', priority: 1, due: { in: hour }, onConflict: 'reschedule' }),
      { id, outcome: 'moved', state: 'pending', differs: true },
    )
    const { record, dueAt, state } = await scene.get(id)
    assert.deepEqual(
      [record.payload, record.priority, record.scheduledAt, dueAt, state],
      ['1', 4, scene.now + hour, scene.now + hour, 'pending'],
    )
    assert.equal((await scene.createOne({ key: 'k', payload: '1', onConflict: 'reschedule' })).differs, false)
  },
  'a moved occurrence is claimed at its new instant only': async (scene) => {
    await scene.join()
    const id = await scene.create({ key: 'k', due: { in: 1000 } })
    await scene.createOne({ key: 'k', due: { in: 5000 }, onConflict: 'reschedule' })
    await scene.clock.advance(4999)
    assert.deepEqual(await scene.claimedIds(), [])
    await scene.clock.advance(1)
    assert.deepEqual(await scene.claimedIds(), [id])
    assert.deepEqual(await scene.claimedIds(), [])
  },
  'replace changes payload, priority and due instant': async (scene) => {
    const id = await scene.create({ key: 'k', payload: '1', due: { in: minute } })
    assert.deepEqual(await scene.createOne({ key: 'k', payload: '2', priority: 1, due: { in: hour }, onConflict: 'replace' }), {
      id,
      outcome: 'replaced',
      state: 'pending',
      differs: false,
    })
    const { record, dueAt } = await scene.get(id)
    assert.deepEqual([record.payload, record.priority, record.scheduledAt, dueAt], ['2', 1, scene.now + hour, scene.now + hour])
  },
  'a replaced priority counts in the next claim': async (scene) => {
    await scene.join()
    const late = await scene.create({ key: 'k', priority: 9 })
    const other = await scene.create()
    await scene.createOne({ key: 'k', priority: 0, onConflict: 'replace' })
    assert.deepEqual(await scene.claimedIds(), [late, other])
  },
  'what runs, waits for a retry, is dead or has ended is neither moved nor replaced': async (scene) => {
    const completed = await scene.completed({ key: 'completed' })
    const dead = await scene.dead({ key: 'dead' })
    const parked = await scene.running({ key: 'parked' })
    await scene.settle(parked, 'parked', { delayMs: minute })
    const running = await scene.running({ key: 'running' })
    for (const [key, id] of [
      ['completed', completed],
      ['dead', dead],
      ['parked', parked.id],
      ['running', running.id],
    ] as const) {
      const before = await scene.get(id)
      for (const onConflict of ['keep', 'reschedule', 'replace'] as const) {
        assert.deepEqual(await scene.createOne({ key, payload: '9', due: { in: hour }, onConflict }), {
          id,
          outcome: 'existing',
          state: before.state,
          differs: true,
        })
      }
      assert.deepEqual(await scene.get(id), before)
    }
  },
  'TS-10 one key in two tenants, or of two jobs, is two occurrences': async (scene) => {
    const ids = [
      await scene.create({ key: 'k' }),
      await scene.create({ key: 'k', tenant: 'acme' }),
      await scene.create({ key: 'k', job: 'report' }),
    ]
    assert.equal(new Set(ids).size, 3)
  },
  'rows of one call are answered each on its own, in order': async (scene) => {
    const known = await scene.create({ key: 'known' })
    const rows = [scene.row({ key: 'known' }), scene.row({ key: 'new' }), scene.row({ key: 'new', payload: '3' }), scene.row()]
    const answers = await scene.createAll(rows)
    assert.deepEqual(
      answers.map(({ outcome, differs }) => [outcome, differs]),
      [
        ['existing', false],
        ['created', false],
        ['existing', true],
        ['created', false],
      ],
    )
    assert.equal(answers[0]?.id, known)
  },
  'five hundred rows are created in one call': async (scene) => {
    const rows = Array.from({ length: 500 }, (_, i) => scene.row({ key: `k${i}` }))
    const answers = await scene.createAll(rows)
    assert.ok(answers.every(({ outcome }, i) => outcome === 'created' && answers[i]?.id === rows[i]?.id))
    assert.equal((await scene.store.counts({})).states.pending, 500)
  },
  'a row that is given twice in one call is created once': async (scene) => {
    for (const row of [scene.row({ key: 'k' }), scene.row({ key: 'l', unique: 'live' }), scene.row({})]) {
      const answers = await scene.createAll([row, row])
      assert.deepEqual(
        answers.map(({ id, outcome }) => [id, outcome]),
        [
          [row.id, 'created'],
          [row.id, 'existing'],
        ],
      )
    }
    assert.equal((await scene.store.counts({})).states.pending, 3)
  },
  'an empty call creates nothing': async ({ store }) => {
    assert.deepEqual(await store.create([]), { rows: [], claimed: null })
  },
  'calls at the same time under one key create one occurrence': async (scene) => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => scene.createOne({ key: 'k' })))
    assert.equal(answers.filter(({ outcome }) => outcome === 'created').length, 1)
    assert.deepEqual(new Set(answers.map(({ id }) => id)), new Set([keyedId('default', 'mail', 'k')]))
  },
  'texts come back as they were given': async (scene) => {
    const odd = 'key "quoted" \\ \' % _ ; -- 日本 🎉 \u2028'
    const payload = JSON.stringify({ text: odd, deep: [null, true, 1e21, ''] })
    const id = await scene.create({ key: odd, job: 'job/ä', tenant: 'ten:ant', entity: odd, refs: { [odd]: odd }, payload })
    const { record } = await scene.get(id)
    assert.deepEqual([record.key, record.entity, record.refs, record.payload], [odd, odd, { [odd]: odd }, payload])
    assert.equal((await scene.store.get({ tenant: 'ten:ant', job: 'job/ä', key: odd }))?.record.id, id)
  },
  'a live key returns the occurrence that has it while that has not ended': async (scene) => {
    const holding = await scene.running({ key: 'k', unique: 'live', payload: '1' })
    assert.deepEqual(await scene.createOne({ key: 'k', unique: 'live', payload: '2' }), {
      id: holding.id,
      outcome: 'existing',
      state: 'running',
      differs: true,
    })
    await scene.settle(holding, 'parked', { delayMs: minute })
    assert.equal((await scene.createOne({ key: 'k', unique: 'live' })).outcome, 'existing')
  },
  'a live key is free again once its occurrence has ended, however it ended': async (scene) => {
    for (const end of ['completed', 'failed', 'canceled'] as const) {
      const holding = await scene.running({ key: 'k', unique: 'live' })
      await scene.settle(holding, end)
    }
    const pending = await scene.create({ key: 'k', unique: 'live', due: { in: minute } })
    await scene.store.cancel({ which: { id: pending }, reason: null })
    await scene.create({ key: 'k', unique: 'live' })
  },
  'a dead occurrence leaves its live key to the next, and by the key that one is meant': async (scene) => {
    const dead = await scene.dead({ key: 'k', unique: 'live' })
    const which = { tenant: 'default', job: 'mail', key: 'k' }
    assert.equal((await scene.store.get(which))?.record.id, dead)
    const next = await scene.create({ key: 'k', unique: 'live' })
    assert.equal((await scene.store.get(which))?.record.id, next)
    await scene.store.move({ which: { id: dead }, to: { retry: { in: minute } } })
    assert.equal((await scene.createOne({ key: 'k', unique: 'live' })).id, next)
    assert.equal((await scene.store.cancel({ which, reason: null }))[0]?.outcome, 'canceled')
  },
  'a dead occurrence that is retried has its live key again, if that is free': async (scene) => {
    const id = await scene.dead({ key: 'k', unique: 'live' })
    await scene.store.move({ which: { id }, to: { retry: { in: minute } } })
    assert.deepEqual(await scene.createOne({ key: 'k', unique: 'live' }), {
      id,
      outcome: 'existing',
      state: 'retrying',
      differs: false,
    })
  },
  'BL-1 work that was canceled before it began leaves its key to the next': async (scene) => {
    const which = { tenant: 'default', job: 'mail', key: 'k' }
    const ids = [await scene.create({ key: 'k', due: { in: minute } })]
    for (const n of [1, 2]) {
      await scene.store.cancel({ which, reason: null })
      const { id, outcome } = await scene.createOne({ key: 'k', due: { in: minute } })
      assert.deepEqual([id, outcome], [keyedId('default', 'mail', 'k', n), 'created'])
      assert.equal((await scene.createOne({ key: 'k' })).id, id, 'two creators still make one')
      assert.equal((await scene.store.get(which))?.record.id, id)
      ids.push(id)
    }
    assert.equal((await scene.store.cancel({ which, reason: 'paid' }))[0]?.id, ids[2])
    assert.deepEqual(await Promise.all(ids.map((id) => scene.state(id))), ['canceled', 'canceled', 'canceled'])
  },
  'BL-1 work that was canceled after it began keeps its key': async (scene) => {
    const holding = await scene.running({ key: 'k' })
    await scene.settle(holding, 'parked', { delayMs: minute })
    await scene.store.cancel({ which: { id: holding.id }, reason: null })
    assert.deepEqual(await scene.createOne({ key: 'k' }), {
      id: holding.id,
      outcome: 'existing',
      state: 'canceled',
      differs: false,
    })
  },
  'a remembered key and a live key of the same text are two keys': async (scene) => {
    const ever = await scene.create({ key: 'k', due: { in: minute } })
    const live = await scene.create({ key: 'k', unique: 'live', due: { in: minute } })
    const which = { tenant: 'default', job: 'mail', key: 'k' } as const
    assert.equal((await scene.store.get({ ...which, unique: 'ever' }))?.record.id, ever)
    assert.equal((await scene.store.get({ ...which, unique: 'live' }))?.record.id, live)
    await scene.store.cancel({ which: { ...which, unique: 'live' }, reason: null })
    assert.deepEqual([await scene.state(ever), await scene.state(live)], ['pending', 'canceled'])
  },
  'a replay keeps the instant it stands for, whenever it is due': async (scene) => {
    const { record, dueAt } = await scene.get(await scene.create({ scheduledAt: scene.now - day, due: { in: minute } }))
    assert.deepEqual([record.scheduledAt, dueAt], [scene.now - day, scene.now + minute])
  },
  'a create may claim what it has made in the same commit, or leave it to a claim': async (scene) => {
    await scene.join()
    const request = scene.claimRequest()
    const { rows, claimed } = await scene.store.create([scene.row(), scene.row()], { claim: request })
    const again = await scene.store.claim(request)
    assert.deepEqual(
      again.members.map(({ record }) => record.id),
      rows.map(({ id }) => id),
    )
    if (claimed)
      assert.deepEqual(
        claimed.members.map(({ record, turn }) => [record.id, turn]),
        rows.map(({ id }) => [id, 1]),
      )
  },
  'a create that claims for a node that is not known is refused as a whole': async (scene) => {
    const row = scene.row()
    const said = scene.store.create([row], { claim: scene.claimRequest() })
    const isLost = await said.then(
      ({ claimed }) => claimed === null,
      (error: unknown) => error instanceof PunctualError && error.code === 'claim.lost',
    )
    assert.ok(isLost)
  },
  'a live key is rescheduled and replaced like any other': async (scene) => {
    const id = await scene.create({ key: 'k', unique: 'live', due: { in: minute } })
    assert.deepEqual(await scene.createOne({ key: 'k', unique: 'live', due: { in: hour }, onConflict: 'reschedule' }), {
      id,
      outcome: 'moved',
      state: 'pending',
      differs: false,
    })
    assert.deepEqual(
      await scene.createOne({ key: 'k', unique: 'live', payload: '2', due: { in: hour }, onConflict: 'replace' }),
      { id, outcome: 'replaced', state: 'pending', differs: false },
    )
    assert.equal((await scene.get(id)).record.payload, '2')
  },
  'a create repeated after its live occurrence has ended finds it by its id': async (scene) => {
    const row = scene.row({ key: 'k', unique: 'live' })
    await scene.join()
    await scene.createAll([row])
    const holding = await scene.claim()
    assert.deepEqual(idsOf(holding), [row.id])
    await scene.settle(holding, 'completed')
    assert.deepEqual(await scene.createAll([row]), [{ id: row.id, outcome: 'existing', state: 'completed', differs: false }])
    const next = await scene.create({ key: 'k', unique: 'live' })
    assert.deepEqual(await scene.createAll([row]), [{ id: row.id, outcome: 'existing', state: 'completed', differs: false }])
    assert.deepEqual(await scene.claimedIds(), [next])
  },
  'live keys of tenants and jobs are apart': async (scene) => {
    await scene.create({ key: 'k', unique: 'live' })
    await scene.create({ key: 'k', unique: 'live', tenant: 'acme' })
    await scene.create({ key: 'k', unique: 'live', job: 'report' })
  },
})

/** A row under a key that may be used only once. */
function once(key: string): Partial<NewOccurrence> {
  return { id: keyedId('default', 'mail', key), key, unique: 'ever' }
}
