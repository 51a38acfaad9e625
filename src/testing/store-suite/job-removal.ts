import assert from 'node:assert/strict'
import { hour, minute, type Scene } from './scene.ts'
import { topic } from './topic.ts'

const request = { endedBefore: null, keyRetentionMs: minute, limit: 10 }

export const jobRemovalCases = topic('job removal', {
  'ranges that were recorded before go, and with them their counts': async (scene) => {
    await scene.putJob()
    for (const from of [scene.now, scene.now + 5000]) {
      const range = { from, to: from + 1000, count: 2, state: 'missed' as const, reason: 'recovery' }
      await scene.plan([], { ranges: [range], through: scene.now })
      await scene.clock.advance(1000)
    }
    const left = async (rangesBefore: number) => {
      await scene.store.prune({ ...request, rangesBefore })
      return [(await scene.store.listRanges({ limit: 10 })).length, (await scene.store.counts({})).states.missed]
    }
    assert.deepEqual(await left(scene.now - 2000), [2, 4])
    assert.deepEqual(await left(scene.now - 1000), [1, 2])
  },
  'versions that a later one has replaced before go, and those that still plan stay': async (scene) => {
    const first = scene.now
    await scene.putJob({ payload: '1' })
    await scene.clock.advance(1000)
    await scene.putJob({ payload: '2' })
    const later = scene.now + minute
    await scene.store.putJob(scene.jobPut(scene.spec({ payload: '3' }), { effectiveAt: later }))
    const left = async (versionsBefore: number) => {
      await scene.store.prune({ ...request, versionsBefore })
      return (await scene.store.readVersions({ tenant: 'default', name: 'report' })).map(({ version }) => version)
    }
    assert.deepEqual(await left(first + 1000), [1, 2, 3])
    assert.deepEqual(await left(later + hour), [1, 2, 3], 'nothing is planned yet')
    await scene.plan([], { through: first + 1000 })
    assert.deepEqual(await left(first + 1001), [2, 3])
    await scene.plan([], { through: later })
    assert.deepEqual(await left(later), [2, 3])
    assert.deepEqual(await left(later + 1), [3])
    assert.equal((await scene.job()).version, 3)
  },
  'JS-1 a job goes with all of its records, step by step': async (scene) => {
    await jobWithHistory(scene)
    const other = await scene.completed({ job: 'report', definition: 'report' })
    const live = await scene.running()
    assert.deepEqual(await removed(scene), { pruned: 0, more: false, outcome: 'live' })
    await scene.settle(live, 'completed')
    assert.deepEqual(await removed(scene), { pruned: 2, more: true })
    assert.equal((await scene.job('mail')).name, 'mail')
    assert.deepEqual(await removed(scene), { pruned: 2, more: true })
    assert.deepEqual(await removed(scene), { pruned: 1, more: false, outcome: 'deleted' })
    assert.deepEqual(await removed(scene), { pruned: 0, more: false, outcome: 'unknown' })
    const { states, lastRunAt, failuresInRow } = await scene.store.counts({ tenant: 'default', job: 'mail' })
    assert.deepEqual([Object.values(states).filter((count) => count !== 0), lastRunAt, failuresInRow], [[], null, 0])
    const versions = await scene.store.readVersions({ tenant: 'default', name: 'mail' })
    const items = (await scene.store.list({ job: 'mail', limit: 10 })).items
    assert.deepEqual([versions, items, await scene.store.readPauses({}), await scene.state(other)], [[], [], [], 'completed'])
    assert.equal((await scene.createOne({ key: 'k1' })).outcome, 'tombstoned', 'a key that may be used once stays taken')
  },
  'BL-7 the deletion of a job is one row of the audit': async (scene) => {
    await jobWithHistory(scene)
    while ((await removed(scene)).more);
    const rows = await scene.store.listAudit({ of: 'rows', order: 'oldest', limit: 10 })
    assert.deepEqual(
      rows.map(({ actor, action, target, job, after }) => [actor, action, target, job, after]),
      [['ada', 'delete', 'mail', 'mail', null]],
    )
  },
  'a job of the same name continues the numbers of the versions': async (scene) => {
    const before = await jobWithHistory(scene)
    const other = scene.store.abilities.has('many-processes') ? await scene.another() : scene.store
    const [pending] = (await other.create([scene.row()])).rows
    await scene.store.cancel({ which: { id: pending?.id as string }, reason: null })
    while ((await removed(scene)).more);
    const put = scene.jobPut(scene.spec({ definition: 'mail', payload: '"new"' }), { name: 'mail' })
    assert.equal((await scene.store.putJob(put)).job?.version, before + 1)
    const [row] = (await other.create([scene.row({ limits: 'declared' })])).rows
    assert.equal((await scene.get(row?.id as string)).record.version, before + 1)
  },
})

/** A job of some versions with four ended occurrences, a dead one among them, and a pause that is over. */
async function jobWithHistory(scene: Scene): Promise<number> {
  await scene.putJob({ definition: 'mail' }, { name: 'mail' })
  const { version } = await scene.putJob({ definition: 'mail', payload: '"two"' }, { name: 'mail' })
  for (let i = 0; i < 3; i++) await scene.completed({ key: `k${i}` })
  await scene.dead()
  await scene.pause({ job: 'mail' })
  await scene.pause({ job: 'mail', open: null })
  return version
}

async function removed(scene: Scene) {
  const audit = { act: 'gone', actor: 'ada', action: 'delete', reason: null } as const
  return scene.store.prune({ ...request, limit: 2, job: { tenant: 'default', job: 'mail' }, audit })
}
