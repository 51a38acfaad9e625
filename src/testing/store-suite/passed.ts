// Every instant is accounted for: those that pass without a run are recorded one by one, or many as one range.
import assert from 'node:assert/strict'
import type { JobRecord } from '../../model/job.ts'
import type { Passed } from '../../model/recovery.ts'
import { hour, idsOf, memberOf, minute, type Scene } from './scene.ts'
import { topic } from './topic.ts'

export const passedCases = topic('passed', {
  'JB-15 a row that ends at once is recorded with its reason and never runs': async (scene) => {
    await scene.join()
    const job = await scene.putJob()
    const rows = (['missed', 'skipped'] as const).map((state, i) =>
      scene.planRow(job, scene.now - 10 + i, { source: 'recovery', end: { state, reason: `because ${i}` } }),
    )
    assert.deepEqual(await scene.store.plan([scene.planOf(job, [], { rows })]), [{ outcome: 'planned', created: 2 }])
    for (const [i, { id, end }] of rows.entries()) {
      const { state, turns, record } = await scene.get(id)
      assert.deepEqual([state, record.source, record.scheduledAt], [end?.state, 'recovery', scene.now - 10 + i])
      assert.deepEqual(turns, [scene.bareTurn(1, end?.state as 'missed', { reason: `because ${i}` })])
    }
    assert.deepEqual(await scene.claimedIds(), [])
    const { states } = await scene.store.counts({})
    assert.deepEqual([states.missed, states.skipped, states.pending], [1, 1, 0])
    assert.equal((await scene.store.peek({ kinds: ['report'] })).nextDue, null)
  },
  'a row that ends at once and is known already stays as it is': async (scene) => {
    const job = await scene.putJob()
    await scene.plan([scene.now])
    const rows = [scene.planRow(job, scene.now, { end: { state: 'missed', reason: 'downtime' } })]
    const again = scene.planOf(await scene.job(), [], { rows })
    assert.deepEqual(await scene.store.plan([again]), [{ outcome: 'planned', created: 0 }])
    assert.equal(await scene.state(rows[0]?.id as string), 'pending')
  },
  'rows carry when they are due, their keys, their span and how long they may wait': async (scene) => {
    const job = await scene.putJob()
    const at = scene.now + minute
    const more = {
      dueAt: at + 5000,
      limits: [{ kind: 'catch-up', key: 'c', limit: 3 }],
      span: { from: at - hour, to: at, count: 60 },
      startWithinMs: 9000,
    } as const
    const row = scene.planRow(job, at, more)
    await scene.plan([], { rows: [row], through: at })
    const { record, dueAt } = await scene.get(row.id)
    assert.deepEqual([dueAt, record.scheduledAt], [at + 5000, at])
    assert.deepEqual([record.limits, record.span, record.startWithinMs], [more.limits, more.span, 9000])
    assert.equal((await scene.store.peek({ kinds: ['report'] })).nextDue, at + 5000)
    await scene.join()
    await scene.clock.advance(minute)
    await scene.beat()
    assert.deepEqual(await scene.claimedIds(), [])
    await scene.clock.advance(5000)
    assert.deepEqual(memberOf(await scene.claim()).record.span, more.span)
  },
  'F42 a range stands for many instants in one record, and counts them all': async (scene) => {
    const job = await scene.putJob()
    const before = await scene.store.counts({})
    const missed = range(job, 2_592_000, 'missed')
    const skipped = range(job, 1001, 'skipped')
    await scene.plan([], { ranges: [missed, skipped], through: scene.now })
    const { states } = await scene.store.counts({ tenant: 'default', job: 'report' })
    assert.deepEqual([states.missed, states.skipped], [2_592_000, 1001])
    assert.deepEqual((await scene.store.counts({ tenant: 'acme' })).states, before.states)
    const recorded = { tenant: 'default', job: 'report', version: 1, recordedAt: scene.now }
    assert.deepEqual(await scene.store.listRanges({ limit: 10 }), [
      { ...skipped, ...recorded },
      { ...missed, ...recorded },
    ])
    assert.deepEqual((await scene.store.list({ limit: 10 })).items, [], 'a range has no lines of its own')
  },
  'ranges are listed the newest first, by tenant and job, up to a limit': async (scene) => {
    for (const [tenant, name] of [
      ['acme', 'a'],
      ['acme', 'b'],
      ['globex', 'a'],
    ] as const) {
      const job = await scene.putJob({}, { tenant, name })
      await scene.plan([], { tenant, job: name, ranges: [range(job, 2, 'missed')], through: scene.now })
      await scene.clock.advance(1)
    }
    const listed = async (query: object) =>
      (await scene.store.listRanges({ limit: 10, ...query })).map(({ tenant, job }) => `${tenant}/${job}`)
    assert.deepEqual(await listed({}), ['globex/a', 'acme/b', 'acme/a'])
    assert.deepEqual(await listed({ limit: 1 }), ['globex/a'])
    assert.deepEqual(await listed({ tenant: 'acme' }), ['acme/b', 'acme/a'])
    assert.deepEqual(await listed({ tenant: 'acme', job: 'a' }), ['acme/a'])
    assert.deepEqual(await listed({ job: 'a' }), ['globex/a', 'acme/a'])
    assert.deepEqual(await listed({ tenant: 'nobody' }), [])
  },
  'JB-15 a plan that is behind records no range, no end and no word on stranded rows': async (scene) => {
    const { at, job, ids } = await strand(scene)
    const rows = [scene.planRow(job, at + 1, { end: { state: 'missed', reason: 'downtime' } })]
    const drop = [{ at, state: 'missed', reason: 'downtime' }] as const
    const plan = scene.planOf(job, [], { rows, drop, ranges: [range(job, 9, 'missed')], version: 9 })
    assert.deepEqual(await scene.store.plan([plan]), [{ outcome: 'behind' }])
    assert.deepEqual(await scene.store.listRanges({ limit: 10 }), [])
    assert.equal((await scene.store.counts({})).states.missed, 0)
    assert.equal(await scene.state(ids[0] as string), 'waiting')
  },
  'JB-15 a stranded instant that is revived runs as recovery, with the keys and the span it is given': async (scene) => {
    const { ids, at, job } = await strand(scene)
    const limits = [{ kind: 'catch-up', key: 'c', limit: 1 }] as const
    const span = { from: at - minute, to: at, count: 2 }
    await scene.plan([], { revive: [{ at, limits, span }] })
    const { members } = await scene.claim()
    assert.deepEqual(
      members.map(({ record }) => [record.id, record.source, record.scheduledAt, record.limits, record.span]),
      [[ids[0], 'recovery', at, limits, span]],
    )
    assert.equal((await scene.get(ids[0] as string)).record.version, job.version)
    assert.equal((await scene.store.list({ job: 'report', limit: 1, states: ['running'] })).items[0]?.source, 'recovery')
  },
  'JB-15 the keys of revived instants are granted one after another': async (scene) => {
    const { ids, at } = await strand(scene, [minute, 2 * minute])
    const limits = [{ kind: 'catch-up', key: 'c', limit: 1 }] as const
    const ats = [at, at + minute]
    await scene.plan([], { revive: ats.map((one) => ({ at: one, limits, span: null })) })
    const first = await scene.claim()
    assert.deepEqual([idsOf(first), (await scene.get(ids[1] as string)).wait?.reason], [[ids[0]], 'catch-up'])
    await scene.settle(first, 'completed')
    assert.deepEqual(await scene.claimedIds(), [ids[1]])
  },
  'JB-15 a stranded instant that is dropped ends with the state and the reason it is given': async (scene) => {
    const { ids, at } = await strand(scene, [minute, 2 * minute, 3 * minute])
    const drop = [
      { at, state: 'missed', reason: 'downtime' },
      { at: at + minute, state: 'skipped', reason: 'paused' },
    ] as const
    await scene.plan([], { drop })
    const told = await Promise.all(
      ids.map(async (id) => {
        const { state, turns } = await scene.get(id)
        return [state, turns[0]?.end ?? null, turns[0]?.reason ?? null]
      }),
    )
    assert.deepEqual(told, [
      ['missed', 'missed', 'downtime'],
      ['skipped', 'skipped', 'paused'],
      ['waiting', null, null],
    ])
    assert.deepEqual(await scene.claimedIds(), [])
    assert.deepEqual(
      (await scene.store.jobsToPlan({ horizonMs: hour, limit: 1 })).jobs[0]?.stranded,
      [at + 2 * minute],
      'one that nobody spoke for is still stranded',
    )
  },
  'a word on an instant that is not stranded changes nothing': async (scene) => {
    await scene.join()
    await scene.putJob()
    const at = scene.now + minute
    const [id] = await scene.plan([at])
    const drop = [{ at, state: 'missed', reason: 'downtime' }] as const
    await scene.plan([], { drop, revive: [{ at, limits: null, span: { from: 0, to: 1, count: 2 } }] })
    const { state, record } = await scene.get(id as string)
    assert.deepEqual([state, record.source, record.span], ['pending', 'schedule', null])
  },
  'what waited for a key when all nodes went is late, never stranded': async (scene) => {
    const limits = [{ kind: 'overlap', key: 'o', limit: 1, policy: 'queue' }] as const
    const holder = await scene.running({ limits })
    const job = await scene.putJob()
    const row = scene.planRow(job, scene.now, { limits })
    await scene.plan([], { rows: [row], through: scene.now })
    await scene.claim()
    await scene.clock.advance(hour)
    await scene.beat({ claims: [holder.claim.id] })
    assert.deepEqual((await scene.get(row.id)).wait?.reason, 'overlap')
    await scene.settle(holder, 'completed')
    assert.deepEqual(await scene.claimedIds(), [row.id])
  },
  'a stranded instant tells what it waits for': async (scene) => {
    const { ids } = await strand(scene)
    assert.deepEqual((await scene.get(ids[0] as string)).wait, { reason: 'stranded', key: null, wakeAt: null })
  },
  'an instant due at the very beat that ends a break is stranded': async (scene) => {
    await scene.putJob()
    const [id] = await scene.plan([scene.now + minute])
    await scene.clock.advance(minute)
    await scene.join()
    assert.equal((await scene.get(id as string)).wait?.reason, 'stranded')
  },
})

function range({ cursor }: JobRecord, count: number, state: Passed['state']): Passed {
  return { from: cursor + 1, to: cursor + count, count, state, reason: 'downtime' }
}

/** A job with planned instants, all of which came due before the first node joined. */
async function strand(scene: Scene, delaysMs: readonly number[] = [minute]) {
  await scene.putJob()
  const start = scene.now
  const ids = await scene.plan(delaysMs.map((ms) => start + ms))
  await scene.clock.advance(10 * minute)
  await scene.join()
  return { ids, at: start + (delaysMs[0] as number), job: await scene.job() }
}
