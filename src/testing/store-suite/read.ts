import assert from 'node:assert/strict'
import { occurrenceStates } from '../../model/lifecycle.ts'
import { encodeCursor, type OccurrenceFilter } from '../../store/query.ts'
import { listAll } from './dump.ts'
import { minute, type Scene } from './scene.ts'
import { topic } from './topic.ts'

export const readCases = topic('read', {
  'JS-4 an occurrence is read by id, by id and tenant, and by key': async (scene) => {
    const id = await scene.create({ key: 'k', tenant: 'acme' })
    for (const which of [{ id }, { id, tenant: 'acme' }, { tenant: 'acme', job: 'mail', key: 'k' }]) {
      assert.equal((await scene.store.get(which))?.record.id, id)
    }
  },
  'TS-10 an occurrence of another tenant is not there': async (scene) => {
    const id = await scene.create({ key: 'k', tenant: 'acme' })
    assert.equal(await scene.store.get({ id, tenant: 'globex' }), null)
    assert.equal(await scene.store.get({ tenant: 'globex', job: 'mail', key: 'k' }), null)
    assert.equal(await scene.store.get({ tenant: 'acme', job: 'report', key: 'k' }), null)
    assert.equal(await scene.store.get({ id: scene.newId() }), null)
  },
  'a live key reads its newest occurrence, ended or not': async (scene) => {
    await scene.completed({ key: 'k', unique: 'live' })
    const second = await scene.completed({ key: 'k', unique: 'live' })
    const byKey = async () => (await scene.store.get({ tenant: 'default', job: 'mail', key: 'k' }))?.record.id
    assert.equal(await byKey(), second)
    const third = await scene.create({ key: 'k', unique: 'live' })
    assert.equal(await byKey(), third)
  },
  'a list shows the newest created first': async (scene) => {
    const ids = [
      await scene.create({ due: { in: 5 } }),
      await scene.create({ due: { in: 1 } }),
      await scene.create({ due: { in: 9 } }),
    ]
    assert.deepEqual(await listed(scene), ids.toReversed())
  },
  'a line of a list tells where the occurrence stands': async (scene) => {
    const holding = await scene.running({ key: 'k', entity: 'e' })
    const line = {
      id: holding.id,
      tenant: 'default',
      job: 'mail',
      key: 'k',
      unique: 'ever',
      entity: 'e',
      parent: null,
      source: 'deferred',
      scheduledAt: scene.now,
      createdAt: scene.now,
      reason: null,
    }
    const only = async () => (await scene.store.list({ limit: 1 })).items[0]
    assert.deepEqual(await only(), {
      ...line,
      state: 'running',
      turn: 1,
      dueAt: scene.now,
      startedAt: null,
      endedAt: null,
      error: null,
      cause: null,
    })
    const error = { message: 'no route' }
    const startedAt = scene.now
    await scene.clock.advance(5)
    await scene.settle(holding, 'parked', { end: scene.end('parked', { startedAt, error }), delayMs: 100 })
    assert.deepEqual(await only(), {
      ...line,
      state: 'retrying',
      turn: 2,
      dueAt: scene.now + 100,
      startedAt,
      endedAt: null,
      error,
      cause: null,
    })
    await scene.clock.advance(100)
    await scene.settle(await scene.claim(), 'completed')
    assert.deepEqual(await only(), {
      ...line,
      state: 'completed',
      turn: 2,
      dueAt: scene.now,
      startedAt: scene.now,
      endedAt: scene.now,
      error: null,
      cause: null,
    })
    const id = await scene.create()
    await scene.store.cancel({ which: { id }, reason: 'paid' })
    assert.equal((await only())?.reason, 'paid')
  },
  'lists filter by tenant, job, key and entity': async (scene) => {
    const a = await scene.create({ tenant: 'acme', key: 'k', entity: 'e' })
    const b = await scene.create({ tenant: 'acme', job: 'report', key: 'k' })
    const c = await scene.create({ tenant: 'globex', key: 'k', entity: 'e' })
    const d = await scene.create({ tenant: 'globex', key: 'l', entity: 'f' })
    assert.deepEqual(await listed(scene, { tenant: 'acme' }), [b, a])
    assert.deepEqual(await listed(scene, { tenant: 'acme', job: 'report' }), [b])
    assert.deepEqual(await listed(scene, { job: 'mail' }), [d, c, a])
    assert.deepEqual(await listed(scene, { key: 'k' }), [c, b, a])
    assert.deepEqual(await listed(scene, { tenant: 'globex', key: 'k' }), [c])
    assert.deepEqual(await listed(scene, { entity: 'e' }), [c, a])
    assert.deepEqual(await listed(scene, { tenant: 'nobody' }), [])
  },
  'lists filter by parent, beside every other filter': async (scene) => {
    const parent = await scene.create()
    const a = await scene.create({ parent, key: 'k', entity: 'e' })
    const b = await scene.create({ parent, tenant: 'acme', job: 'report', due: { in: minute } })
    const c = await scene.create({ parent: a })
    assert.equal((await scene.get(a)).record.parent, parent)
    assert.equal((await scene.get(parent)).record.parent, null)
    assert.deepEqual(await listed(scene, { parent }), [b, a])
    assert.deepEqual(await listed(scene, { parent: a }), [c])
    assert.deepEqual(await listed(scene, { parent: c }), [])
    assert.deepEqual(await listed(scene, { parent: 'not an id' }), [])
    assert.deepEqual(await listed(scene, { parent, tenant: 'acme' }), [b])
    assert.deepEqual(await listed(scene, { parent, job: 'mail', key: 'k', entity: 'e' }), [a])
    assert.deepEqual(await listed(scene, { parent, states: ['pending'], from: scene.now + 1 }), [b])
    assert.deepEqual(await listed(scene, { parent, states: ['completed'] }), [])
    const { items, cursor } = await scene.store.list({ parent, limit: 1 })
    assert.deepEqual(
      items.map(({ id, parent: of }) => [id, of]),
      [[b, parent]],
    )
    const next = await scene.store.list({ parent, limit: 1, cursor: cursor as string })
    assert.deepEqual([next.items.map(({ id }) => id), next.cursor], [[a], null])
  },
  'lists filter by the kind of a key, and tell it': async (scene) => {
    const ever = await scene.create({ key: 'k' })
    const live = await scene.create({ key: 'k', unique: 'live', entity: 'e' })
    assert.deepEqual(await listed(scene, { key: 'k' }), [live, ever])
    assert.deepEqual(await listed(scene, { key: 'k', unique: 'ever' }), [ever])
    assert.deepEqual(await listed(scene, { key: 'k', unique: 'live', entity: 'e' }), [live])
    assert.deepEqual(await listed(scene, { key: 'k', unique: 'live', from: scene.now, states: ['pending'] }), [live])
    assert.deepEqual(await listed(scene, { key: 'k', unique: 'ever', entity: 'e' }), [])
    const { items } = await scene.store.list({ limit: 2 })
    assert.deepEqual(
      items.map(({ unique }) => unique),
      ['live', 'ever'],
    )
  },
  'lists filter by every state, also by several': async (scene) => {
    const byState = await oneOfEach(scene)
    for (const state of occurrenceStates)
      assert.deepEqual(await listed(scene, { states: [state] }), byState[state] ? [byState[state]] : [], state)
    assert.deepEqual(await listed(scene, { states: [] }), [])
    const several = await listed(scene, { states: ['dead', 'completed', 'running'] })
    assert.deepEqual(several.toSorted(), [byState.dead, byState.completed, byState.running].toSorted())
    assert.equal((await listed(scene, { states: occurrenceStates })).length, Object.keys(byState).length)
  },
  'lists filter by the instant that work stands for, from inclusive and to exclusive': async (scene) => {
    const [a, b, c] = [
      await scene.create({ due: scene.now + 1 }),
      await scene.create({ due: scene.now + 2 }),
      await scene.create({ due: scene.now + 3 }),
    ]
    assert.deepEqual(await listed(scene, { from: scene.now + 2 }), [c, b])
    assert.deepEqual(await listed(scene, { to: scene.now + 2 }), [a])
    assert.deepEqual(await listed(scene, { from: scene.now + 2, to: scene.now + 3 }), [b])
    await scene.store.move({ which: { id: b }, to: { due: scene.now + 99 } })
    assert.deepEqual(await listed(scene, { from: scene.now + 2 }), [c, b])
    assert.deepEqual(await listed(scene, { from: scene.now + 2, to: scene.now + 99 }), [c])
  },
  'pages join without gap or overlap, and the last has no cursor': async (scene) => {
    const ids = []
    for (let i = 0; i < 7; i++) ids.push(await scene.create())
    for (const limit of [1, 3, 7, 8]) {
      const pages = await listAll(scene.store, limit)
      assert.deepEqual(
        pages.map(({ id }) => id),
        ids.toReversed(),
      )
    }
    assert.equal((await scene.store.list({ limit: 7 })).cursor, null)
    assert.notEqual((await scene.store.list({ limit: 6 })).cursor, null)
  },
  'a page stays where it is when new occurrences come in front': async (scene) => {
    const ids = []
    for (let i = 0; i < 4; i++) ids.push(await scene.create())
    const first = await scene.store.list({ limit: 2 })
    await scene.create()
    await scene.create()
    const second = await scene.store.list({ limit: 2, cursor: first.cursor as string })
    assert.deepEqual(
      second.items.map(({ id }) => id),
      [ids[1], ids[0]],
    )
    assert.equal(second.cursor, null)
  },
  'filters and pages work together': async (scene) => {
    const ids = []
    for (let i = 0; i < 9; i++) ids.push(await scene.create({ tenant: i % 3 === 0 ? 'acme' : 'globex' }))
    const first = await scene.store.list({ tenant: 'acme', limit: 2 })
    const second = await scene.store.list({ tenant: 'acme', limit: 2, cursor: first.cursor as string })
    assert.deepEqual(
      [...first.items, ...second.items].map(({ id }) => id),
      [ids[6], ids[3], ids[0]],
    )
  },
  'a cursor that no list has returned is refused': async (scene) => {
    await scene.create()
    for (const cursor of [
      '',
      'x',
      'cjE=;drop',
      encodeCursor(1).slice(1),
      Buffer.from("r1' or 1=1").toString('base64url'),
      Buffer.from('r-1').toString('base64url'),
    ]) {
      await assert.rejects(scene.store.list({ limit: 1, cursor }), { code: 'option.invalid' }, JSON.stringify(cursor))
    }
  },
})

export async function listed(scene: Scene, filter: Partial<OccurrenceFilter> = {}): Promise<readonly string[]> {
  return (await scene.store.list({ limit: 100, ...filter })).items.map(({ id }) => id)
}

/** One occurrence in each state that this store can bring about, by state. */
/** Work in each state that an act brings it to; the ids by state. */
export async function oneOfEach(scene: Scene, over: { tenant?: string; job?: string } = {}): Promise<Record<string, string>> {
  const byState: Record<string, string> = {}
  for (const end of ['completed', 'failed', 'canceled', 'dead'] as const) {
    const holding = await scene.running(over)
    await scene.settle(holding, end)
    byState[end] = holding.id
  }
  const parked = await scene.running(over)
  await scene.settle(parked, 'parked', { delayMs: minute })
  byState.retrying = parked.id
  byState.running = (await scene.running(over)).id
  byState.pending = await scene.create({ ...over, due: { in: minute } })
  return byState
}
