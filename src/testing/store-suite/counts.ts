import assert from 'node:assert/strict'
import { occurrenceStates } from '../../model/lifecycle.ts'
import { listed, oneOfEach } from './read.ts'
import { minute } from './scene.ts'
import { topic } from './topic.ts'

export const countCases = topic('counts', {
  'JS-7 counts are those of a recount, whole, by tenant and by job': async (scene) => {
    await oneOfEach(scene)
    await oneOfEach(scene, { tenant: 'acme' })
    await oneOfEach(scene, { tenant: 'acme', job: 'report' })
    await scene.clock.advance(minute)
    await scene.store.prune({ endedBefore: scene.now - minute, keyRetentionMs: 0, limit: 2 })
    for (const filter of [{}, { tenant: 'acme' }, { tenant: 'acme', job: 'mail' }, { job: 'report' }, { tenant: 'nobody' }]) {
      const { states } = await scene.store.counts(filter)
      for (const state of occurrenceStates) {
        assert.equal(
          states[state],
          (await listed(scene, { ...filter, states: [state] })).length,
          `${state} of ${JSON.stringify(filter)}`,
        )
      }
    }
  },
  'tenants with work on record have their counts, by name': async (scene) => {
    await oneOfEach(scene, { tenant: 'globex' })
    await oneOfEach(scene, { tenant: 'acme', job: 'report' })
    await scene.completed()
    await scene.settle(await scene.running({ tenant: 'initech' }), 'completed')
    await scene.clock.advance(minute)
    await scene.store.prune({ endedBefore: scene.now, keyRetentionMs: 0, limit: 1000 })
    const names = async (query: object) => (await scene.store.counts(query)).tenants.map(({ name }) => name)
    assert.deepEqual(await names({ tenants: 10 }), ['acme', 'globex'], 'what was pruned is no work on record')
    assert.deepEqual(await names({ tenants: 1 }), ['acme'])
    assert.deepEqual(await names({}), [])
    assert.deepEqual(await names({ tenants: 10, tenant: 'globex' }), ['globex'])
    assert.deepEqual(await names({ tenants: 10, job: 'report' }), ['acme'])
    for (const { name, states } of (await scene.store.counts({ tenants: 10 })).tenants)
      assert.deepEqual(states, (await scene.store.counts({ tenant: name })).states, name)
  },
  'the last run of a job is the latest start of what has ended': async (scene) => {
    const lastRunAt = async (query: object = { job: 'mail' }) => (await scene.store.counts(query)).lastRunAt
    assert.equal(await lastRunAt(), null)
    const canceled = await scene.create({ due: { in: minute } })
    await scene.store.cancel({ which: { id: canceled }, reason: null })
    assert.equal(await lastRunAt(), null, 'what never began was no run')
    const holding = await scene.running()
    const startedAt = scene.now - 10
    await scene.settle(holding, 'failed', { end: scene.end('failed', { startedAt }) })
    assert.equal(await lastRunAt(), startedAt)
    assert.equal(await lastRunAt({ tenant: 'default', job: 'mail' }), startedAt)
    assert.equal(await lastRunAt({ tenant: 'acme', job: 'mail' }), null)
    assert.equal(await lastRunAt({}), null, 'it is of a job')
    const earlier = await scene.running()
    await scene.settle(earlier, 'completed', { end: scene.end('completed', { startedAt: startedAt - 99 }) })
    assert.equal(await lastRunAt(), startedAt)
  },
  'failures in a row are counted since the last success, by job': async (scene) => {
    const failures = async (query: object = {}) => (await scene.store.counts(query)).failuresInRow
    const failing = async (query: object = {}) => (await scene.store.counts({ failing: 10, ...query })).failing
    assert.equal(await failures({ job: 'mail' }), 0)
    assert.deepEqual(await failing(), [])
    for (const end of ['failed', 'dead'] as const) await scene.settle(await scene.running(), end)
    assert.equal(await failures({ tenant: 'default', job: 'mail' }), 2)
    const canceled = await scene.running()
    await scene.settle(canceled, 'canceled')
    const parked = await scene.running()
    await scene.settle(parked, 'parked', { delayMs: minute })
    assert.equal(await failures({ tenant: 'default', job: 'mail' }), 2, 'neither cancels nor retries are failures for good')
    await scene.settle(await scene.running({ job: 'report' }), 'failed')
    await scene.settle(await scene.running({ tenant: 'acme' }), 'failed')
    assert.deepEqual([await failures({ job: 'report' }), await failures({ job: 'mail' }), await failures()], [1, 3, 0])
    const [own, acme, report] = [
      { tenant: 'default', job: 'mail' },
      { tenant: 'acme', job: 'mail' },
      { tenant: 'default', job: 'report' },
    ]
    assert.deepEqual(await failing(), [acme, own, report], 'by name and tenant')
    assert.deepEqual(await failing({ failing: 1 }), [acme])
    assert.deepEqual(await failing({ tenant: 'default' }), [own, report])
    assert.deepEqual(await failing({ job: 'mail' }), [acme, own])
    assert.deepEqual((await scene.store.counts({})).failing, [])
    await scene.completed()
    assert.deepEqual([await failures(own), await failures(report)], [0, 1])
    assert.deepEqual(await failing(), [acme, report])
  },
  'a failure in a row may come by rescue, and stays counted when the record is pruned': async (scene) => {
    await scene.running()
    await scene.loseNode({ mostRecoveries: 0 })
    assert.equal((await scene.store.counts({ job: 'mail' })).failuresInRow, 1)
    await scene.join()
    await scene.settle(await scene.running(), 'failed')
    await scene.clock.advance(1)
    await scene.store.prune({ endedBefore: scene.now, keyRetentionMs: 0, limit: 10 })
    assert.equal((await scene.store.counts({ job: 'mail' })).failuresInRow, 2)
  },
})
