import assert from 'node:assert/strict'
import type { NewOccurrence } from '../../store/store.ts'
import { idsOf, minute, type Scene } from './scene.ts'
import { topic } from './topic.ts'

const debounce = { debounce: { waitMs: 5000, longestMs: 12_000 } }
const throttle = { throttle: { perMs: minute } }

export const paceCases = topic('pace', {
  'debounced calls become one occurrence with the last payload, due after the wait from the last call': async (scene) => {
    await scene.join()
    const first = await call(scene, '1')
    assert.equal(first.outcome, 'created')
    await scene.clock.advance(3000)
    assert.deepEqual(await call(scene, '2'), { id: first.id, outcome: 'replaced', state: 'pending', differs: false })
    const { dueAt, record } = await scene.get(first.id)
    assert.deepEqual([dueAt, record.payload], [scene.now + 5000, '2'])
    await scene.clock.advance(4999)
    assert.deepEqual(await scene.claimedIds(), [])
    await scene.clock.advance(1)
    assert.deepEqual(await scene.claimedIds(), [first.id])
  },
  'debounced work waits no longer than its longest wait, however many calls follow': async (scene) => {
    await scene.join()
    const created = scene.now
    const { id } = await call(scene, '1')
    for (const payload of ['2', '3', '4']) {
      await scene.clock.advance(3000)
      await call(scene, payload)
    }
    assert.equal((await scene.get(id)).dueAt, created + 12_000)
    assert.equal((await scene.store.peek({ kinds: ['mail'] })).nextDue, created + 12_000)
  },
  'a call while the debounced work runs is not lost: it becomes the next one, and takes the key': async (scene) => {
    await scene.join()
    const first = await call(scene, '1')
    await scene.clock.advance(5000)
    const holding = await scene.claim()
    const second = await call(scene, '2')
    assert.equal(second.outcome, 'created')
    assert.notEqual(second.id, first.id)
    assert.equal((await call(scene, '3')).id, second.id)
    assert.equal((await scene.store.get({ tenant: 'default', job: 'mail', key: 'k' }))?.record.id, second.id)
    await scene.settle(holding, 'completed')
    assert.equal((await call(scene, '4')).id, second.id)
    await scene.clock.advance(5000)
    const next = await scene.claim()
    assert.deepEqual([idsOf(next), next.answer.members[0]?.record.payload], [[second.id], '4'])
  },
  'a call while debounced work waits for a retry becomes the next one': async (scene) => {
    await scene.join()
    const first = await call(scene, '1')
    await scene.clock.advance(5000)
    const startedAt = scene.now
    await scene.settle(await scene.claim(), 'parked', { delayMs: minute, end: scene.end('parked', { startedAt }) })
    const second = await call(scene, '2')
    assert.deepEqual([second.outcome, second.id === first.id], ['created', false])
  },
  'throttled calls return the first occurrence until its time is over, also after its end': async (scene) => {
    await scene.join()
    const first = await call(scene, '1', throttled)
    assert.equal(first.outcome, 'created')
    assert.deepEqual(await call(scene, '2', throttled), { id: first.id, outcome: 'existing', state: 'pending', differs: true })
    await scene.settle(await scene.claim(), 'completed')
    await scene.clock.advance(minute - 1)
    assert.deepEqual(await call(scene, '1', throttled), { id: first.id, outcome: 'existing', state: 'completed', differs: false })
    await scene.clock.advance(1)
    const next = await call(scene, '3', throttled)
    assert.deepEqual([next.outcome, next.id === first.id], ['created', false])
    assert.equal((await scene.get(first.id)).record.payload, '1')
  },
  'throttled work that has not begun is returned, however old it is': async (scene) => {
    const { id } = await call(scene, '1', { ...throttled, due: { in: 10 * minute } })
    await scene.clock.advance(5 * minute)
    assert.deepEqual((await call(scene, '2', throttled)).id, id)
  },
  'throttled work that still runs when its time is over does not hold up the next': async (scene) => {
    await scene.join()
    const first = await call(scene, '1', throttled)
    await scene.claim()
    await scene.clock.advance(minute)
    const next = await call(scene, '2', throttled)
    assert.deepEqual([next.outcome, next.id === first.id], ['created', false])
  },
  'canceled before it began, throttled work does not count': async (scene) => {
    const { id } = await call(scene, '1', throttled)
    await scene.store.cancel({ which: { id }, reason: null })
    assert.equal((await call(scene, '2', throttled)).outcome, 'created')
  },
  'keys of other tenants and jobs keep their own pace': async (scene) => {
    const calls = [{}, { tenant: 'acme' }, { job: 'report', definition: 'report' }]
    for (const over of calls) assert.equal((await call(scene, '1', { ...throttled, ...over })).outcome, 'created')
    for (const over of calls) assert.equal((await call(scene, '1', { ...debounced, key: 'other', ...over })).outcome, 'created')
  },
  'rows of one call keep the pace among themselves': async (scene) => {
    const rows = ['1', '2', '3'].map((payload) => scene.row({ ...debounced, payload }))
    const { rows: answers } = await scene.store.create(rows)
    assert.equal(new Set(answers.map(({ id }) => id)).size, 1)
    const { items } = await scene.store.list({ limit: 10 })
    assert.equal(items.length, 1)
    const throttledRows = ['1', '2', '3'].map((payload) => scene.row({ ...throttled, key: 't', payload }))
    const outcomes = (await scene.store.create(throttledRows)).rows.map(({ outcome }) => outcome)
    assert.deepEqual(outcomes.toSorted(), ['created', 'existing', 'existing'])
  },
  'calls at the same time become one occurrence': async (scene) => {
    for (const pace of [debounced, { ...throttled, key: 't' }]) {
      const calls = Array.from({ length: 20 }, (_, n) => call(scene, String(n), pace))
      const answers = await Promise.all(calls)
      assert.equal(new Set(answers.map(({ id }) => id)).size, 1)
      assert.equal(answers.filter(({ outcome }) => outcome === 'created').length, 1)
    }
  },
})

const debounced: Partial<NewOccurrence> = { key: 'k', unique: 'live', due: { in: 5000 }, onConflict: debounce }
const throttled: Partial<NewOccurrence> = { key: 'k', unique: 'live', onConflict: throttle }

const call = (scene: Scene, payload: string, over: Partial<NewOccurrence> = debounced) => scene.createOne({ ...over, payload })
