// An occurrence that has not started in time is missed. The first verb that finds it ends it.
import assert from 'node:assert/strict'
import { hour, minute } from './scene.ts'
import { topic } from './topic.ts'

export const expiryCases = topic('expiry', {
  'an occurrence that was not started in time is missed at the claim that finds it': async (scene) => {
    await scene.join()
    const id = await scene.create({ startWithinMs: 1000 })
    const free = await scene.create()
    await scene.clock.advance(1001)
    const { members, answer } = await scene.claim()
    assert.deepEqual(
      members.map(({ record }) => record.id),
      [free],
    )
    const passed = { id, tenant: 'default', job: 'mail', state: 'missed', reason: 'not started in time' }
    assert.deepEqual(answer.passed, [passed])
    const { state, turns } = await scene.get(id)
    assert.deepEqual([state, turns], ['missed', [scene.bareTurn(1, 'missed', { reason: 'not started in time' })]])
  },
  'an occurrence may start up to the last instant of its time': async (scene) => {
    await scene.join()
    const id = await scene.create({ startWithinMs: 1000, due: { in: 500 } })
    await scene.clock.advance(1500)
    assert.deepEqual((await scene.rescue({ gone: [] })).expired, [])
    assert.deepEqual(await scene.claimedIds(), [id])
  },
  'a rescue ends what was not started in time, also what no node can run': async (scene) => {
    const ids = [await scene.create({ startWithinMs: 1000 }), await scene.create({ job: 'unheard-of', startWithinMs: 1000 })]
    const kept = await scene.create()
    await scene.clock.advance(1001)
    const { expired, rescued } = await scene.rescue({ gone: [] })
    assert.deepEqual(
      expired.map(({ id, state, reason }) => [id, state, reason]).toSorted(),
      ids.map((id) => [id, 'missed', 'not started in time']).toSorted(),
    )
    assert.deepEqual([rescued, await scene.state(kept)], [[], 'pending'])
    assert.deepEqual((await scene.rescue({ gone: [] })).expired, [])
  },
  'what waits for a key, a rate or a resume is missed when its time is over': async (scene) => {
    const limits = [{ kind: 'concurrency', key: 'c', limit: 1 }] as const
    const holder = await scene.running({ limits })
    await scene.pause({ job: 'report' })
    const ids = [await scene.create({ limits, startWithinMs: 1000 }), await scene.create({ job: 'report', startWithinMs: 1000 })]
    await scene.claim()
    await scene.clock.advance(1001)
    const { expired } = await scene.rescue({ gone: [] })
    assert.deepEqual(expired.map(({ id }) => id).toSorted(), ids.toSorted())
    await scene.settle(holder, 'completed')
    assert.deepEqual(await scene.claimedIds(), [])
  },
  'what has begun, and what is between two tries, has started in time': async (scene) => {
    const holding = await scene.running({ startWithinMs: 1000 })
    await scene.clock.advance(2000)
    assert.deepEqual((await scene.rescue({ gone: [] })).expired, [])
    await scene.settle(holding, 'parked', { delayMs: 1000 })
    await scene.clock.advance(3000)
    assert.deepEqual((await scene.rescue({ gone: [] })).expired, [])
    assert.deepEqual(await scene.claimedIds(), [holding.id])
  },
  'the time to start counts from the due instant, also after it was moved': async (scene) => {
    await scene.join()
    const id = await scene.create({ startWithinMs: 1000 })
    await scene.store.move({ which: { id }, to: { due: { in: minute } } })
    await scene.clock.advance(minute)
    assert.deepEqual((await scene.rescue({ gone: [] })).expired, [])
    assert.deepEqual(await scene.claimedIds({ node: 'node-1' }), [id])
  },
  'a stranded instant is the planner’s to judge, however late': async (scene) => {
    const job = await scene.putJob()
    const row = scene.planRow(job, scene.now + minute, { startWithinMs: 1000 })
    await scene.plan([], { rows: [row], through: row.at })
    await scene.clock.advance(hour)
    await scene.join()
    assert.deepEqual((await scene.rescue({ gone: [] })).expired, [])
    assert.equal(await scene.state(row.id), 'waiting')
  },
  'a missed live key is free again': async (scene) => {
    await scene.create({ key: 'k', unique: 'live', startWithinMs: 1000 })
    await scene.clock.advance(1001)
    await scene.rescue({ gone: [] })
    await scene.create({ key: 'k', unique: 'live' })
  },
})
