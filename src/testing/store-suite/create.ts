import assert from 'node:assert/strict'
import { keyedId } from '../../model/ids.ts'
import type { NewOccurrence } from '../../store/store.ts'
import { day, hour, idsOf, minute } from './scene.ts'
import { topic } from './topic.ts'

export const createCases = topic('create', {
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
    assert.deepEqual(await scene.createAll([row]), [{ id: row.id, outcome: 'created', differs: false }])
    const { due, onConflict: _, ...given } = row
    assert.deepEqual(await scene.get(row.id), {
      record: { ...given, kind: 'mail', span: null, version: 1, scheduledAt: due, createdAt: scene.now },
      state: 'pending',
      dueAt: due,
      node: null,
      turns: [],
      attempts: [],
      progress: null,
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
        rows.map(({ id }) => ({ id, outcome: 'created', differs: false })),
      )
      for (const { due, onConflict: _, version: _1, ...given } of rows) {
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
    assert.deepEqual(await scene.createOne({ key: 'k' }), { id, outcome: 'existing', differs: false })
    assert.equal((await scene.store.counts({})).states.pending, 1)
  },
  'keep tells that the payload differs, and changes nothing': async (scene) => {
    const id = await scene.create({ key: 'k', payload: '1', due: { in: minute } })
    const before = await scene.get(id)
    assert.deepEqual(await scene.createOne({ key: 'k', payload: '2', due: { in: hour } }), {
      id,
      outcome: 'existing',
      differs: true,
    })
    assert.deepEqual(await scene.createOne({ key: 'k', payload: null }), { id, outcome: 'existing', differs: true })
    assert.deepEqual(await scene.get(id), before)
  },
  'TS-2 reschedule moves the due instant and keeps the payload': async (scene) => {
    const id = await scene.create({ key: 'k', payload: '1', priority: 4, due: { in: minute } })
    assert.deepEqual(
      await scene.createOne({ key: 'k', payload: '2', priority: 1, due: { in: hour }, onConflict: 'reschedule' }),
      { id, outcome: 'moved', differs: true },
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
    assert.deepEqual(await store.create([]), [])
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
  'a dead occurrence keeps its live key until it is discarded': async (scene) => {
    const id = await scene.dead({ key: 'k', unique: 'live' })
    assert.deepEqual(await scene.createOne({ key: 'k', unique: 'live' }), { id, outcome: 'existing', differs: false })
    await scene.store.move({ which: { id }, to: { discard: null } })
    await scene.create({ key: 'k', unique: 'live' })
  },
  'a live key is rescheduled and replaced like any other': async (scene) => {
    const id = await scene.create({ key: 'k', unique: 'live', due: { in: minute } })
    assert.deepEqual(await scene.createOne({ key: 'k', unique: 'live', due: { in: hour }, onConflict: 'reschedule' }), {
      id,
      outcome: 'moved',
      differs: false,
    })
    assert.deepEqual(
      await scene.createOne({ key: 'k', unique: 'live', payload: '2', due: { in: hour }, onConflict: 'replace' }),
      { id, outcome: 'replaced', differs: false },
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
    assert.deepEqual(await scene.createAll([row]), [{ id: row.id, outcome: 'existing', differs: false }])
    const next = await scene.create({ key: 'k', unique: 'live' })
    assert.deepEqual(await scene.createAll([row]), [{ id: row.id, outcome: 'existing', differs: false }])
    assert.deepEqual(await scene.claimedIds(), [next])
  },
  'live keys of tenants and jobs are apart': async (scene) => {
    await scene.create({ key: 'k', unique: 'live' })
    await scene.create({ key: 'k', unique: 'live', tenant: 'acme' })
    await scene.create({ key: 'k', unique: 'live', job: 'report' })
  },
})
