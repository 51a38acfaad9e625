import assert from 'node:assert/strict'
import { scheduledId } from '../../model/ids.ts'
import type { PruneAnswer } from '../../store/store.ts'
import { concurrency } from './keys.ts'
import { day, hour, memberOf, minute, type Scene } from './scene.ts'
import { topic } from './topic.ts'

export const pruneCases = topic('prune', {
  'TM-17 what ended before the given instant is deleted': async (scene) => {
    const old = await scene.completed()
    await scene.clock.advance(1000)
    const young = await scene.completed()
    assert.deepEqual(await scene.store.prune({ endedBefore: scene.now, keyRetentionMs: day, limit: 100 }), {
      pruned: 1,
      more: false,
    })
    assert.equal(await scene.store.get({ id: old }), null)
    assert.deepEqual(
      (await scene.store.list({ limit: 10 })).items.map(({ id }) => id),
      [young],
    )
    assert.equal((await scene.store.counts({})).states.completed, 1)
    assert.deepEqual(await scene.store.prune({ endedBefore: scene.now, keyRetentionMs: day, limit: 100 }), {
      pruned: 0,
      more: false,
    })
  },
  'completed, failed and canceled ones are pruned': async (scene) => {
    for (const end of ['completed', 'failed', 'canceled'] as const) await scene.settle(await scene.running(), end)
    assert.deepEqual(await pruneAll(scene), { pruned: 3, more: false })
    assert.deepEqual((await scene.store.list({ limit: 10 })).items, [])
  },
  'TM-10 dead and unended ones are left alone, however old': async (scene) => {
    const dead = await scene.dead()
    const parked = await scene.running()
    await scene.settle(parked, 'parked', { delayMs: 10 * day })
    const running = await scene.running()
    const pending = await scene.create({ due: { in: 10 * day } })
    assert.deepEqual(await pruneAll(scene), { pruned: 0, more: false })
    assert.deepEqual(await Promise.all([dead, parked.id, running.id, pending].map((id) => scene.state(id))), [
      'dead',
      'retrying',
      'running',
      'pending',
    ])
  },
  'a dead one can be pruned once a person has discarded it': async (scene) => {
    const id = await scene.dead()
    await scene.store.move({ which: { id }, to: { discard: null } })
    assert.deepEqual(await pruneAll(scene), { pruned: 1, more: false })
  },
  'a call deletes no more than its limit': async (scene) => {
    for (let i = 0; i < 5; i++) await scene.completed()
    await scene.clock.advance(minute)
    const request = { endedBefore: scene.now, keyRetentionMs: day, limit: 2 }
    const pruned = [
      await scene.store.prune(request),
      await scene.store.prune(request),
      await scene.store.prune(request),
      await scene.store.prune(request),
    ]
    assert.deepEqual(pruned, [
      { pruned: 2, more: true },
      { pruned: 2, more: true },
      { pruned: 1, more: false },
      { pruned: 0, more: false },
    ])
  },
  'a call deletes no more than its limit, and the oldest, also while one waits for a key': async (scene) => {
    const ids = []
    for (const limits of [concurrency(1, 'b'), null, concurrency(1, 'b'), null]) ids.push(await scene.completed({ limits }))
    await scene.running({ limits: concurrency(1) })
    const waiting = await scene.create({ limits: concurrency(1) })
    assert.deepEqual(await scene.claimedIds(), [])
    await scene.clock.advance(minute)
    const request = { endedBefore: scene.now, keyRetentionMs: day, limit: 2 }
    assert.deepEqual(await scene.store.prune(request), { pruned: 2, more: true })
    assert.deepEqual(await Promise.all(ids.map(async (id) => (await scene.store.get({ id })) === null)), [
      true,
      true,
      false,
      false,
    ])
    assert.deepEqual(await scene.store.prune(request), { pruned: 2, more: true })
    assert.deepEqual(await scene.store.prune(request), { pruned: 0, more: false })
    assert.equal(await scene.state(waiting), 'waiting')
  },
  'what was pruned while its neighbours still run is neither counted, released nor rescued': async (scene) => {
    await scene.join()
    await scene.create({ due: scene.now - 2 })
    const left = await scene.create({ due: scene.now - 1 })
    const holding = await scene.claim()
    await scene.settle(holding, 'completed', { done: false })
    await scene.clock.advance(1)
    assert.deepEqual(await scene.store.prune({ endedBefore: scene.now, keyRetentionMs: day, limit: 10 }), {
      pruned: 1,
      more: false,
    })
    await scene.beat({ claims: [holding.claim.id] })
    assert.equal((await scene.store.nodes()).nodes[0]?.running, 1)
    assert.deepEqual(
      (await scene.loseNode()).rescued.map(({ id }) => id),
      [left],
    )
    assert.equal((await scene.store.list({ limit: 10 })).items.length, 1)
  },
  'BL-1 a key stays taken after its record is gone': async (scene) => {
    const id = await scene.completed({ key: 'k' })
    await pruneAll(scene)
    for (const onConflict of ['keep', 'reschedule', 'replace'] as const) {
      assert.deepEqual(await scene.createOne({ key: 'k', onConflict }), {
        id,
        outcome: 'tombstoned',
        state: null,
        differs: false,
      })
    }
    assert.equal(await scene.store.get({ id }), null)
    assert.equal(await scene.store.get({ tenant: 'default', job: 'mail', key: 'k' }), null)
    assert.deepEqual(await scene.store.cancel({ which: { tenant: 'default', job: 'mail', key: 'k' }, reason: null }), [])
  },
  'rule 10: a key is free again after its retention': async (scene) => {
    await scene.completed({ key: 'k' })
    await scene.clock.advance(minute)
    await scene.store.prune({ endedBefore: scene.now, keyRetentionMs: hour, limit: 10 })
    await scene.clock.advance(hour - 1)
    await scene.store.prune({ endedBefore: scene.now, keyRetentionMs: hour, limit: 10 })
    assert.equal((await scene.createOne({ key: 'k' })).outcome, 'tombstoned')
    await scene.clock.advance(2)
    await scene.store.prune({ endedBefore: scene.now, keyRetentionMs: hour, limit: 10 })
    assert.equal((await scene.createOne({ key: 'k' })).outcome, 'created')
  },
  'rule 10: a scheduled instant is not planned anew after its record is gone': async (scene) => {
    await scene.putJob()
    await scene.join()
    const at = scene.now
    await scene.plan([at])
    await scene.settle(await scene.claim(), 'completed')
    await pruneAll(scene)
    assert.deepEqual(await scene.store.plan([scene.planOf(await scene.job(), [at])]), [{ outcome: 'planned', created: 0 }])
    assert.equal(await scene.store.get({ id: scheduledId('default', 'report', at) }), null)
  },
  'a live key leaves nothing behind': async (scene) => {
    await scene.completed({ key: 'k', unique: 'live' })
    await pruneAll(scene)
    assert.equal(await scene.store.get({ tenant: 'default', job: 'mail', key: 'k' }), null)
    await scene.create({ key: 'k', unique: 'live' })
  },
  'pruning an ended holder of a live key does not free the key of its successor': async (scene) => {
    await scene.completed({ key: 'k', unique: 'live' })
    const id = await scene.create({ key: 'k', unique: 'live', due: { in: 10 * day } })
    await pruneAll(scene)
    assert.deepEqual(await scene.createOne({ key: 'k', unique: 'live' }), {
      id,
      outcome: 'existing',
      state: 'pending',
      differs: false,
    })
  },
  'JB-6 the time of the last run outlives the records': async (scene) => {
    const began = scene.now
    await scene.completed()
    await pruneAll(scene)
    assert.equal((await scene.store.counts({ tenant: 'default', job: 'mail' })).lastRunAt, began)
    await scene.beat()
    await scene.create()
    assert.equal(memberOf(await scene.claim()).lastRunAt, began)
  },
  'TM-17 a job with a rule keeps its records by age and by count of each end, and the rest goes by the common age': async (
    scene,
  ) => {
    await scene.putJob()
    const ended = async (end: 'completed' | 'failed', job: string) => {
      const holding = await scene.running({ job })
      await scene.settle(holding, end)
      await scene.clock.advance(10)
      return holding.id
    }
    const own = [await ended('completed', 'report'), await ended('failed', 'report'), await ended('completed', 'report')]
    const newest = await ended('completed', 'report')
    const other = await ended('completed', 'mail')
    const ends = { completed: { endedBefore: null, count: 1 }, failed: { endedBefore: scene.now - 1000, count: null } }
    const rules = [{ tenant: 'default', job: 'report', ends }]
    const request = { endedBefore: scene.now, keyRetentionMs: minute, limit: 10, rules }
    assert.deepEqual(await scene.store.prune(request), { pruned: 3, more: false })
    const left = await Promise.all([...own, newest, other].map(async (id) => (await scene.store.get({ id })) !== null))
    assert.deepEqual(left, [false, true, false, true, false])
    const { states } = await scene.store.counts({})
    assert.deepEqual([states.completed, states.failed], [1, 1])
    assert.deepEqual(await scene.store.prune({ ...request, endedBefore: null }), { pruned: 0, more: false })
  },
  'TM-10 without a common age nothing goes': async (scene) => {
    const id = await scene.completed()
    await scene.clock.advance(1000)
    assert.deepEqual(await scene.store.prune({ endedBefore: null, keyRetentionMs: minute, limit: 10 }), {
      pruned: 0,
      more: false,
    })
    assert.equal(await scene.state(id), 'completed')
  },
  'JS-1 one ended or dead record is deleted by id, which the audit records; live work is not': async (scene) => {
    const [completed, dead] = [await scene.completed({ key: 'k' }), await scene.dead()]
    const running = await scene.running()
    const pending = await scene.create({ due: { in: minute } })
    const remove = (id: string) =>
      scene.store.prune({
        ...{ endedBefore: null, keyRetentionMs: minute, limit: 1, only: { id } },
        audit: { act: `delete ${id}`, actor: 'ada', action: 'delete', reason: null },
      })
    assert.deepEqual(await remove(completed), { pruned: 1, more: false, outcome: 'deleted' })
    assert.deepEqual(await remove(dead), { pruned: 1, more: false, outcome: 'deleted' })
    assert.deepEqual(await remove(completed), { pruned: 0, more: false, outcome: 'unknown' })
    for (const id of [running.id, pending]) assert.deepEqual(await remove(id), { pruned: 0, more: false, outcome: 'live' })
    assert.equal((await scene.createOne({ key: 'k' })).outcome, 'tombstoned')
    const { states } = await scene.store.counts({})
    assert.deepEqual([states.completed, states.dead, states.canceled, states.running, states.pending], [0, 0, 0, 1, 1])
    const rows = await scene.store.listAudit({ of: 'rows', order: 'oldest', limit: 10 })
    assert.deepEqual(
      rows.map(({ target, before, after }) => [target, before, after]),
      [
        [completed, '{"state":"completed"}', null],
        [dead, '{"state":"dead"}', null],
      ],
    )
  },
  'a pass that a person asks for is recorded with its count': async (scene) => {
    await scene.completed()
    await scene.clock.advance(1)
    const audit = { act: 'prune-1', actor: 'ada', action: 'prune', reason: null } as const
    await scene.store.prune({ endedBefore: scene.now, keyRetentionMs: minute, limit: 10, audit })
    const [row] = await scene.store.listAudit({ of: 'rows', order: 'oldest', limit: 10 })
    assert.deepEqual([row?.actor, row?.after], ['ada', '{"pruned":1}'])
  },
  'pauses that were over before go, open ones stay': async (scene) => {
    await scene.pause()
    await scene.clock.advance(1000)
    await scene.pause({ open: null })
    await scene.pause({ job: 'mail' })
    await scene.join()
    await scene.rescue()
    await scene.clock.advance(1000)
    const request = { endedBefore: null, keyRetentionMs: minute, limit: 10 }
    await scene.store.prune({ ...request, pausesBefore: scene.now - 1000 })
    assert.equal((await scene.store.readPauses({})).length, 2)
    await scene.store.prune({ ...request, pausesBefore: scene.now })
    assert.deepEqual(
      (await scene.store.readPauses({})).map(({ job }) => job),
      ['mail'],
    )
  },
})

async function pruneAll(scene: Scene): Promise<PruneAnswer> {
  await scene.clock.advance(day)
  return scene.store.prune({ endedBefore: scene.now, keyRetentionMs: 30 * day, limit: 1000 })
}
