// Rule 7 and updates: each instant belongs to the version in force at it, and a planned row that an update takes back can be planned again.
import assert from 'node:assert/strict'
import { scheduledId } from '../../model/ids.ts'
import { hour, idsOf, memberOf, minute, type Scene } from './scene.ts'
import { topic } from './topic.ts'

export const versionCases = topic('versions', {
  'JB-20 versions are kept whole, oldest first, with when they took effect and who made them': async (scene) => {
    const created = scene.now
    const one = scene.spec()
    const two = scene.spec({ payload: '2' })
    await scene.store.putJob(scene.jobPut(one, { by: 'ada' }))
    await scene.clock.advance(minute)
    await scene.store.putJob(scene.jobPut(two, { effectiveAt: scene.now + hour }))
    assert.deepEqual(await scene.store.readVersions({ tenant: 'default', name: 'report' }), [
      { version: 1, spec: one, effectiveAt: created, createdAt: created, by: 'ada' },
      { version: 2, spec: two, effectiveAt: scene.now + hour, createdAt: scene.now, by: null },
    ])
    assert.deepEqual(await scene.store.readVersions({ tenant: 'acme', name: 'report' }), [])
  },
  'JB-20 no version takes effect before it was made': async (scene) => {
    await scene.putJob()
    await put(scene, '2', scene.now - hour)
    assert.equal((await versions(scene))[1]?.effectiveAt, scene.now)
  },
  'JB-20 the same spec again notes what is declared and overridden, without another version': async (scene) => {
    const before = await scene.putJob()
    await scene.plan([scene.now + minute])
    const declared = scene.spec({ payload: '7' })
    const override = { payload: null }
    const answer = await scene.store.putJob(scene.jobPut(before.spec, { declared, override, expectedVersion: 1 }))
    const after = await scene.job()
    assert.deepEqual(answer, { outcome: 'unchanged', job: after })
    assert.deepEqual([after.version, after.declared, after.override], [1, declared, override])
    assert.equal((await versions(scene)).length, 1)
    assert.equal((await scene.store.counts({})).states.pending, 1, 'what was planned stays')
  },
  'TM-8 a put notes what code declares beside what a person has changed': async (scene) => {
    const declared = scene.spec()
    const override = { settings: { priority: 2 }, isEnabled: true }
    const spec = scene.spec({ settings: { priority: 2 } })
    await scene.store.putJob(scene.jobPut(spec, { declared, override }))
    const job = await scene.job()
    assert.deepEqual([job.spec, job.declared, job.override], [spec, declared, override])
    await scene.store.putJob(scene.jobPut(declared, { declared: null }))
    const reset = await scene.job()
    assert.deepEqual([reset.version, reset.spec, reset.declared, reset.override], [2, declared, null, null])
  },
  'JB-20 an update that expects an older version is refused with the job as it is, and withdraws nothing': async (scene) => {
    await scene.putJob()
    await put(scene, '2')
    const [id] = await scene.plan([scene.now + minute])
    const job = await scene.job()
    const late = scene.jobPut(scene.spec({ payload: '3' }), { expectedVersion: 1 })
    assert.deepEqual(await scene.store.putJob(late), { outcome: 'conflict', job })
    assert.equal(await scene.state(id as string), 'pending')
    assert.equal((await versions(scene)).length, 2)
  },
  'JB-20 of several updates of one version, one wins': async (scene) => {
    await scene.putJob()
    const puts = ['2', '3', '4'].map((payload) => scene.jobPut(scene.spec({ payload }), { expectedVersion: 1 }))
    const outcomes = (await Promise.all(puts.map((one) => scene.store.putJob(one)))).map(({ outcome }) => outcome)
    assert.deepEqual(outcomes.toSorted(), ['conflict', 'conflict', 'updated'])
  },
  'JB-20 an update that takes effect later takes back only what is planned from then on': async (scene) => {
    await scene.putJob()
    const effectiveAt = scene.now + 2 * minute
    const [before, last, at, after] = await scene.plan([scene.now + minute, effectiveAt - 1, effectiveAt, effectiveAt + minute])
    await put(scene, '2', effectiveAt)
    const known = await Promise.all([before, last, at, after].map(async (id) => (await find(scene, id))?.record.version ?? null))
    assert.deepEqual(known, [1, 1, null, null])
    assert.equal((await scene.job()).cursor, effectiveAt - 1, 'planning goes on with the first instant of the new version')
  },
  'JB-20 an update leaves a cursor alone that has not come so far': async (scene) => {
    const { cursor } = await scene.putJob()
    const job = await put(scene, '2', scene.now + hour)
    assert.equal(job.cursor, cursor)
    assert.ok((job.nextAt as number) <= scene.now, 'and it is planned at once')
  },
  'JB-20 a row is of the version it was planned for': async (scene) => {
    await scene.join()
    await scene.putJob({ payload: '1', settings: { priority: 1 } })
    const effectiveAt = scene.now + minute
    const job = await scene.store
      .putJob(scene.jobPut(scene.spec({ payload: '2', settings: { priority: 2 } }), { effectiveAt }))
      .then(() => scene.job())
    const rows = [scene.planRow(job, scene.now + 1, { version: 1 }), scene.planRow(job, effectiveAt, { version: 2 })]
    await scene.plan([], { rows, through: effectiveAt })
    await scene.clock.advance(10_000)
    await scene.beat()
    await scene.clock.advance(10_000)
    await scene.beat()
    const old = memberOf(await scene.claim())
    assert.deepEqual([old.record.version, old.record.payload, old.jobSettings], [1, '1', { priority: 1 }])
    await scene.clock.advance(minute)
    const young = memberOf(await scene.claim())
    assert.deepEqual([young.record.version, young.record.payload, young.jobSettings], [2, '2', { priority: 2 }])
  },
  'JB-20 enqueued work goes by the version in force when it is claimed, and notes the one at its creation': async (scene) => {
    await scene.join()
    await scene.putJob({ schedule: null, settings: { priority: 1 } }, { name: 'mail' })
    const spec = scene.spec({ schedule: null, settings: { priority: 2 } })
    await scene.store.putJob(scene.jobPut(spec, { name: 'mail', effectiveAt: scene.now + minute }))
    await scene.create()
    await scene.create({ due: { in: minute } })
    const now = memberOf(await scene.claim())
    assert.deepEqual([now.record.version, now.jobSettings], [1, { priority: 1 }])
    await scene.clock.advance(minute)
    const later = memberOf(await scene.claim())
    assert.deepEqual([later.record.version, later.jobSettings], [1, { priority: 2 }])
  },
  'JB-16 work that names a version belongs to it': async (scene) => {
    await scene.join()
    await scene.putJob({ settings: { priority: 1 } })
    await scene.putJob({ settings: { priority: 2 } })
    await scene.create({ job: 'report', source: 'backfill', version: 1 })
    const member = memberOf(await scene.claim())
    assert.deepEqual([member.record.version, member.jobSettings], [1, { priority: 1 }])
  },
  'JB-20 what runs when an update takes effect keeps its version': async (scene) => {
    await scene.join()
    await scene.putJob({ settings: { priority: 1 } })
    const [id] = await scene.plan([scene.now])
    const holding = await scene.claim()
    await scene.putJob({ settings: { priority: 2 } })
    await scene.settle(holding, 'parked')
    const member = memberOf(await scene.claim())
    assert.deepEqual([member.record.id, member.record.version, member.jobSettings], [id, 1, { priority: 1 }])
  },
  'JB-20 a change A → B → A loses no instant and brings none twice': async (scene) => {
    const ats = [1, 2, 3].map((n) => scene.now + n * minute)
    await scene.putJob({ payload: 'A' })
    const first = await scene.plan(ats)
    await scene.putJob({ payload: 'B' })
    const other = await scene.plan([scene.now + 90_000])
    await scene.putJob({ payload: 'A' })
    assert.deepEqual(await scene.plan(ats), first)
    const left = (await scene.store.list({ limit: 10 })).items
    assert.deepEqual(left.map(({ id }) => id).toSorted(), first.toSorted())
    assert.equal(await find(scene, other[0]), null)
    assert.equal((await scene.store.counts({})).states.pending, 3)
  },
  'JB-20 an instant that has begun under A is not planned again after A → B → A': async (scene) => {
    await scene.join()
    const at = scene.now
    await scene.putJob({ payload: 'A' })
    const [id] = await scene.plan([at])
    const holding = await scene.claim()
    await scene.putJob({ payload: 'B' })
    const job = await scene.putJob({ payload: 'A' })
    assert.deepEqual(await scene.store.plan([scene.planOf(job, [at])]), [{ outcome: 'planned', created: 0 }])
    assert.equal(await scene.settle(holding, 'completed'), 'ok')
    assert.equal((await scene.get(id as string)).record.version, 1)
  },
  'JB-20 a later change that takes effect earlier replaces one that had not yet': async (scene) => {
    await scene.putJob({ payload: '1' })
    await put(scene, '2', scene.now + hour)
    await scene.plan([scene.now + 2 * hour])
    const { cursor } = await put(scene, '3')
    assert.equal((await scene.store.counts({})).states.pending, 0)
    assert.ok(cursor <= scene.now)
    const { jobs } = await scene.store.jobsToPlan({ horizonMs: 0, limit: 1 })
    assert.equal(jobs[0]?.versions.at(-1)?.version, 3)
  },
  'JB-20 the planner is told every version that is in force from the cursor on': async (scene) => {
    await scene.putJob()
    await put(scene, '2', scene.now + minute)
    await put(scene, '3', scene.now + hour)
    const told = async () =>
      (await scene.store.jobsToPlan({ horizonMs: 2 * hour, limit: 1 })).jobs[0]?.versions.map(({ version }) => version)
    assert.deepEqual(await told(), [1, 2, 3])
    await scene.plan([], { through: scene.now + minute })
    assert.deepEqual(await told(), [2, 3])
    await scene.plan([], { through: scene.now + 2 * hour })
    assert.deepEqual(await told(), [3])
  },
  'a job that is disabled or retired wants no planning once its past is planned, and wants it again afterwards': async (
    scene,
  ) => {
    for (const off of [{ isEnabled: false }, { isRetired: true }, { schedule: null }]) {
      const on = await scene.putJob()
      await scene.clock.advance(minute)
      const job = await scene.putJob(off)
      assert.equal(job.cursor, on.cursor, 'what was not yet planned before is still to be')
      assert.ok(job.nextAt !== null)
      await scene.plan([], { through: scene.now, nextAt: null })
      assert.deepEqual((await scene.store.jobsToPlan({ horizonMs: hour, limit: 1 })).jobs, [])
      await scene.putJob({ ...off, payload: '2' })
      assert.deepEqual((await scene.store.jobsToPlan({ horizonMs: hour, limit: 1 })).jobs, [])
      await scene.clock.advance(minute)
      assert.ok((await scene.putJob()).nextAt !== null)
    }
  },
  'JB-20 the cursor of a job goes back to an update and never forward': async (scene) => {
    const { cursor } = await scene.putJob()
    await scene.clock.advance(hour)
    await scene.putJob({ isEnabled: false })
    await scene.clock.advance(hour)
    const job = await scene.putJob()
    assert.equal(job.cursor, cursor, 'the instants before it was disabled were not planned yet')
    await scene.plan([], { through: scene.now + hour })
    assert.equal((await put(scene, '2')).cursor, scene.now - 1)
  },
  'an update wakes the planner': async (scene) => {
    await scene.putJob()
    await scene.plan([], { through: scene.now + minute, nextAt: scene.now + hour })
    const job = await put(scene, '2')
    assert.ok((job.nextAt as number) <= scene.now)
  },
  'an update does not take back what waits, what recovers or what a person moved into the past': async (scene) => {
    await scene.join()
    const job = await scene.putJob()
    const at = scene.now + minute
    const rows = [scene.planRow(job, at, { source: 'recovery' }), scene.planRow(job, at + 1)]
    await scene.plan([], { rows, through: at + 1 })
    await scene.putJob({ payload: '2' })
    assert.equal(await scene.state(scheduledId('default', 'report', at)), 'pending')
    assert.equal(await find(scene, rows[1]?.id), null)
  },
  'a withdrawn row gives its place in the overlap back': async (scene) => {
    const limits = [
      { kind: 'overlap', key: 'o', limit: 1, policy: 'skip' },
      { kind: 'concurrency', key: 'c', limit: 1 },
    ] as const
    const holder = await scene.running({ limits: [limits[1]] })
    const job = await scene.putJob()
    const row = scene.planRow(job, scene.now, { limits })
    await scene.plan([], { rows: [row], through: scene.now })
    await scene.claim()
    assert.equal((await scene.get(row.id)).wait?.reason, 'concurrency')
    await scene.putJob({ payload: '2' })
    assert.equal(await find(scene, row.id), null)
    await scene.settle(holder, 'completed')
    const next = await scene.create({ limits })
    assert.deepEqual(idsOf(await scene.claim()), [next])
  },
  'JB-21 work is of the kind of its version: a definition in an edition of its tasks': async (scene) => {
    await scene.join()
    const kindsOf = async (ids: readonly (string | undefined)[]) =>
      Promise.all(ids.map(async (id) => (await find(scene, id))?.record.kind))
    const first = await scene.putJob()
    const [old] = await scene.plan([scene.now])
    const manual = await scene.create({ job: 'report', definition: 'report' })
    const second = await scene.putJob({ edition: 2, tasks: [{ name: 'run' }, { name: 'more' }] })
    const rows = [scene.planRow(second, scene.now + 1, { version: first.version }), scene.planRow(second, scene.now + 2)]
    await scene.plan([], { rows, through: scene.now + 2 })
    const next = await scene.create({ job: 'report', definition: 'report' })
    const known = await kindsOf([old, manual, rows[0]?.id, rows[1]?.id, next])
    assert.deepEqual(known, [undefined, 'report', 'report', 'report\t2', 'report\t2'], 'what was planned was taken back')
    await scene.clock.advance(2)
    assert.deepEqual(await scene.claimedIds({ kinds: ['report'] }), [manual, rows[0]?.id])
    assert.equal((await scene.store.peek({ kinds: ['report'] })).nextDue, null)
    assert.deepEqual(await scene.claimedIds({ kinds: ['report\t2'] }), [next, rows[1]?.id])
  },
  'TS-10 versions of one name in two tenants are apart': async (scene) => {
    await scene.putJob({ payload: '1' }, { tenant: 'acme', name: 'report' })
    await scene.putJob({ payload: '2' }, { tenant: 'acme', name: 'report' })
    await scene.putJob({ payload: '3' }, { tenant: 'globex', name: 'report' })
    assert.equal((await scene.store.readVersions({ tenant: 'acme', name: 'report' })).length, 2)
    assert.equal((await scene.store.readVersions({ tenant: 'globex', name: 'report' })).length, 1)
  },
})

async function put(scene: Scene, payload: string, effectiveAt: number | null = null) {
  const { job } = await scene.store.putJob(scene.jobPut(scene.spec({ payload }), { effectiveAt }))
  assert.ok(job)
  return job
}

function versions(scene: Scene) {
  return scene.store.readVersions({ tenant: 'default', name: 'report' })
}

async function find(scene: Scene, id: string | undefined) {
  return scene.store.get({ id: id as string })
}
