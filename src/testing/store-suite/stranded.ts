// Rule 5: a planned row is not yet a decision. Work that came due while no node ran waits for the planner's decision.
import assert from 'node:assert/strict'
import type { JobRecord } from '../../model/job.ts'
import type { JobPlan } from '../../store/store.ts'
import { idsOf, minute, type Scene } from './scene.ts'
import { topic } from './topic.ts'

export const strandedCases = topic('stranded', {
  'some node is alive since its first beat, and joins of others do not move that': async (scene) => {
    const start = scene.now
    assert.equal((await scene.join()).aliveSince, start)
    await scene.clock.advance(10_000)
    assert.equal((await scene.join('node-2')).aliveSince, start)
    await scene.clock.advance(10_000)
    assert.equal((await scene.beat({ boot: 'node-2' })).aliveSince, start)
    assert.equal((await scene.store.jobsToPlan({ horizonMs: 0, limit: 1 })).aliveSince, start)
  },
  'after a break longer than every ttl, nodes are alive since the beat that ended it': async (scene) => {
    await scene.join('node-1', { ttlMs: 15_000 })
    await scene.join('node-2', { ttlMs: 30_000 })
    await scene.clock.advance(30_000)
    const kept = await scene.beat({ boot: 'node-2', node: { ttlMs: 30_000 } })
    assert.equal(kept.aliveSince, kept.now - 30_000)
    await scene.clock.advance(30_001)
    assert.equal((await scene.beat({ boot: 'node-2', node: { ttlMs: 30_000 } })).aliveSince, scene.now)
  },
  'a planned row that came due while no node was there is held back as waiting': async (scene) => {
    const { id } = await strand(scene)
    assert.equal(await scene.state(id), 'waiting')
    assert.deepEqual(await scene.claimedIds(), [])
    assert.equal((await scene.store.peek({ kinds: ['report'] })).nextDue, null)
    assert.equal((await scene.store.counts({})).states.waiting, 1)
  },
  'the planner is told of stranded instants at once': async (scene) => {
    const { at } = await strand(scene)
    const { jobs } = await scene.store.jobsToPlan({ horizonMs: 0, limit: 10 })
    assert.deepEqual(
      jobs.map(({ job, stranded }) => [job.name, stranded]),
      [['report', [at]]],
    )
  },
  'a stranded instant that the planner revives can be claimed': async (scene) => {
    const { id, at, job } = await strand(scene)
    assert.deepEqual(await scene.store.plan([scene.planOf(job, [], { revive: [revival(at)] })]), [
      { outcome: 'planned', created: 0 },
    ])
    assert.equal(await scene.state(id), 'pending')
    assert.deepEqual(await scene.claimedIds(), [id])
    assert.deepEqual(
      (await scene.store.jobsToPlan({ horizonMs: 1e9, limit: 10 })).jobs.map(({ stranded }) => stranded),
      [[]],
    )
  },
  'a plan that is behind revives nothing': async (scene) => {
    const { id, at, job } = await strand(scene)
    await scene.store.plan([scene.planOf(job, [], { revive: [revival(at)], version: 9 })])
    assert.equal(await scene.state(id), 'waiting')
  },
  'a plan that knows nothing of a stranded instant does not put the job off': async (scene) => {
    const { at, job } = await strand(scene)
    for (const nextAt of [scene.now + 1e9, null]) {
      await scene.store.plan([scene.planOf(job, [], { nextAt })])
      const { jobs } = await scene.store.jobsToPlan({ horizonMs: 0, limit: 10 })
      assert.deepEqual(
        jobs.map(({ stranded }) => stranded),
        [[at]],
      )
    }
  },
  'a revival reaches only the named instants of the named job': async (scene) => {
    await scene.putJob({}, { name: 'other' })
    await scene.plan([scene.now + minute], { job: 'other' })
    const { at, job } = await strand(scene, [minute, 2 * minute])
    await scene.store.plan([scene.planOf(job, [], { revive: [revival(at)] })])
    const held = (await scene.claim()).members.map(({ record }) => [record.job, record.scheduledAt])
    assert.deepEqual(held, [['report', at]])
  },
  'rows planned after the break for instants before it are claimable': async (scene) => {
    const job = await scene.putJob()
    await scene.clock.advance(minute)
    await scene.join()
    const [id] = await scene.plan([job.cursor + 1000])
    assert.deepEqual(await scene.claimedIds(), [id])
  },
  'enqueued work is late after a break, never held back': async (scene) => {
    const id = await scene.create({ due: { in: 1000 } })
    await scene.clock.advance(minute)
    await scene.join()
    assert.deepEqual(await scene.claimedIds(), [id])
  },
  'a scheduled occurrence that has been tried before is late after a break, never held back': async (scene) => {
    await scene.putJob()
    await scene.join()
    const [id] = await scene.plan([scene.now])
    await scene.settle(await scene.claim(), 'parked', { delayMs: 1000 })
    await scene.clock.advance(minute)
    await scene.beat()
    assert.deepEqual(await scene.claimedIds(), [id])
  },
  'a planned row due while a node was there is late, never held back': async (scene) => {
    await scene.putJob()
    await scene.join()
    const [id] = await scene.plan([scene.now + 1000])
    for (let beats = 0; beats < 6; beats++) {
      await scene.clock.advance(10_000)
      await scene.beat()
    }
    assert.deepEqual(await scene.claimedIds(), [id])
  },
  'a planned row not yet due when the break ends is untouched': async (scene) => {
    await scene.putJob()
    const [id] = await scene.plan([scene.now + 2 * minute])
    await scene.clock.advance(minute)
    await scene.join()
    assert.equal(await scene.state(id as string), 'pending')
    await scene.clock.advance(10_000)
    await scene.beat()
    assert.deepEqual(await scene.claimedIds(), [])
  },
  'what was planned to make up for a break is late after another, not missed: a node was alive when it was due': async (
    scene,
  ) => {
    const { id, at, job } = await strand(scene)
    const missed = at + 1
    const rows = [scene.planRow(job, missed, { source: 'recovery' })]
    await scene.store.plan([scene.planOf(job, [], { rows, revive: [revival(at)] })])
    await scene.clock.advance(minute)
    await scene.beat()
    assert.deepEqual([await scene.state(id), await scene.state(rows[0]?.id as string)], ['pending', 'pending'])
    const { jobs } = await scene.store.jobsToPlan({ horizonMs: 0, limit: 1 })
    assert.deepEqual(jobs[0]?.stranded ?? [], [])
  },
  'a stranded occurrence that nobody speaks for stays held back through the next break': async (scene) => {
    const { id, at } = await strand(scene)
    await scene.clock.advance(minute)
    await scene.beat()
    assert.equal(await scene.state(id), 'waiting')
    assert.deepEqual((await scene.store.jobsToPlan({ horizonMs: 0, limit: 1 })).jobs[0]?.stranded, [at])
  },
  'a stranded occurrence can be canceled and stays canceled when revived': async (scene) => {
    const { id, at, job } = await strand(scene)
    assert.deepEqual(await scene.store.cancel({ which: { id }, reason: 'not needed' }), [{ id, outcome: 'canceled' }])
    await scene.store.plan([scene.planOf(job, [], { revive: [revival(at)] })])
    assert.equal(await scene.state(id), 'canceled')
    assert.deepEqual(await scene.claimedIds(), [])
  },
  'a stranded occurrence that a person moves runs at its new time': async (scene) => {
    const { id } = await strand(scene)
    assert.equal(await scene.store.move({ which: { id }, to: { due: { in: 0 } } }), 'moved')
    const holding = await scene.claim()
    assert.deepEqual(idsOf(holding), [id])
  },
  'an update does not take stranded instants back': async (scene) => {
    const { id, at } = await strand(scene)
    const job = await scene.putJob({ payload: '2' })
    assert.equal(await scene.state(id), 'waiting')
    await scene.store.plan([scene.planOf(job, [], { revive: [revival(at)] })])
    assert.deepEqual(await scene.claimedIds(), [id])
  },
  'a break counts by the nodes there were: one that left in order leaves nobody behind': async (scene) => {
    await scene.join()
    await scene.clock.advance(1000)
    await scene.beat({ phase: 'leave' })
    await scene.clock.advance(1000)
    assert.equal((await scene.join('node-2')).aliveSince, scene.now)
  },
})

function revival(at: number): JobPlan['revive'][number] {
  return { at, limits: null, span: null }
}

/** A job with planned instants, all of which came due before the first node joined. */
async function strand(scene: Scene, delaysMs: readonly number[] = [minute]): Promise<{ id: string; at: number; job: JobRecord }> {
  await scene.putJob()
  const start = scene.now
  const ids = await scene.plan(delaysMs.map((ms) => start + ms))
  await scene.clock.advance(10 * minute)
  await scene.join()
  return { id: ids[0] as string, at: start + (delaysMs[0] as number), job: await scene.job() }
}
