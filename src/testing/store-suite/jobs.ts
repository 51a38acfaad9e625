import assert from 'node:assert/strict'
import { jobId, scheduledId } from '../../model/ids.ts'
import { idsOf, minute } from './scene.ts'
import { topic } from './topic.ts'

export const jobCases = topic('jobs', {
  'a put creates version 1 with its cursor at the creation': async (scene) => {
    const { store, now } = scene
    const spec = scene.spec({
      payload: '{"a":1}',
      settings: { retry: { max: 7 } },
      tasks: [{ name: 'one' }, { name: 'two', after: ['one'] }],
    })
    const answer = await store.putJob(scene.jobPut(spec))
    const job = {
      id: jobId('default', 'report'),
      tenant: 'default',
      name: 'report',
      version: 1,
      spec,
      declared: spec,
      override: null,
      createdAt: now,
      updatedAt: now,
      tz: '',
      cursor: now,
      nextAt: now,
    }
    assert.deepEqual(answer, { outcome: 'created', job })
    assert.deepEqual(await store.readJobs({ limit: 10 }), [job])
  },
  'the same spec again is unchanged, whatever the order of its fields': async (scene) => {
    const job = await scene.putJob({ settings: { timeoutMs: 5, priority: 2 } })
    await scene.clock.advance(1000)
    const given = scene.spec({ settings: { priority: 2, timeoutMs: 5 } })
    const { definition, schedule, payload, settings, defaults, tasks, isEnabled, isRetired } = given
    const spec = { isRetired, tasks, settings, isEnabled, defaults, payload, schedule, definition }
    const answer = await scene.store.putJob(scene.jobPut(spec))
    assert.deepEqual(answer, { outcome: 'unchanged', job })
  },
  'another spec makes the next version and keeps the creation': async (scene) => {
    const before = await scene.putJob()
    await scene.clock.advance(1000)
    const spec = scene.spec({ payload: '1' })
    const { outcome, job } = await scene.store.putJob(scene.jobPut(spec))
    assert.equal(outcome, 'updated')
    assert.deepEqual(job, { ...before, version: 2, spec, declared: spec, updatedAt: scene.now })
  },
  'a put that expects another version is refused and changes nothing': async (scene) => {
    const job = await scene.putJob()
    const put = scene.jobPut(scene.spec({ payload: '2' }))
    assert.deepEqual(await scene.store.putJob({ ...put, expectedVersion: 2 }), { outcome: 'conflict', job })
    assert.deepEqual(await scene.store.putJob({ ...put, expectedVersion: 0 }), { outcome: 'conflict', job })
    assert.deepEqual(await scene.store.putJob({ ...put, name: 'other', expectedVersion: 1 }), { outcome: 'conflict', job: null })
    assert.deepEqual(await scene.store.readJobs({ limit: 10 }), [job])
    assert.equal((await scene.store.putJob({ ...put, expectedVersion: 1 })).outcome, 'updated')
  },
  'of several puts that expect no job, one creates it': async (scene) => {
    const puts = [1, 2, 3].map((n) =>
      scene.store.putJob(scene.jobPut(scene.spec({ payload: String(n) }), { expectedVersion: 0 })),
    )
    const outcomes = (await Promise.all(puts)).map((answer) => answer.outcome)
    assert.deepEqual(outcomes.toSorted(), ['conflict', 'conflict', 'created'])
  },
  'jobs are read by tenant and name, in order, page by page': async (scene) => {
    for (const [tenant, name] of [
      ['acme', 'b'],
      ['acme', 'a'],
      ['acme', 'c'],
      ['globex', 'b'],
    ] as const)
      await scene.putJob({}, { tenant, name })
    const names = async (query: object) =>
      (await scene.store.readJobs({ limit: 10, ...query })).map((job) => `${job.tenant}/${job.name}`)
    assert.deepEqual(await names({ tenant: 'acme' }), ['acme/a', 'acme/b', 'acme/c'])
    assert.deepEqual(await names({ tenant: 'acme', limit: 2 }), ['acme/a', 'acme/b'])
    assert.deepEqual(await names({ tenant: 'acme', after: { name: 'b', tenant: 'acme' } }), ['acme/c'])
    assert.deepEqual(await names({ after: { name: 'b', tenant: 'acme' } }), ['globex/b', 'acme/c'])
    assert.deepEqual(await names({ after: { name: 'a', tenant: 'globex' }, limit: 2 }), ['acme/b', 'globex/b'])
    assert.deepEqual(await names({ tenant: 'globex' }), ['globex/b'])
    assert.deepEqual(await names({ name: 'b' }), ['acme/b', 'globex/b'])
    assert.deepEqual(await names({ tenant: 'globex', name: 'a' }), [])
  },
  'jobs are found by a part of their name, page by page': async (scene) => {
    for (const name of ['Nightly-Report', 'report', 'mail', '100%', 'Überblick']) await scene.putJob({}, { name })
    const names = async (query: object) => (await scene.store.readJobs({ limit: 10, ...query })).map(({ name }) => name)
    assert.deepEqual(await names({ search: 'REPORT' }), ['Nightly-Report', 'report'])
    assert.deepEqual(await names({ search: 'report', after: { name: 'Nightly-Report', tenant: 'default' } }), ['report'])
    assert.deepEqual(await names({ search: 'report', limit: 1 }), ['Nightly-Report'])
    assert.deepEqual(await names({ search: '%' }), ['100%'], 'it is no pattern')
    assert.deepEqual(await names({ search: 'überblick' }), [], 'only A to Z are folded')
    assert.deepEqual(await names({ search: 'blick', tenant: 'default' }), ['Überblick'])
    assert.deepEqual(await names({ search: 'report', tenant: 'acme' }), [])
  },
  'TS-10 jobs of one name in two tenants are two jobs': async (scene) => {
    await scene.putJob({ payload: '1' }, { tenant: 'acme', name: 'report' })
    await scene.putJob({ payload: '2' }, { tenant: 'globex', name: 'report' })
    assert.equal((await scene.job('report', 'acme')).spec.payload, '1')
    assert.equal((await scene.job('report', 'globex')).version, 1)
  },
  'an update takes back planned instants that are not yet due': async (scene) => {
    await scene.putJob()
    const [id] = await scene.plan([scene.now + minute])
    await scene.putJob({ payload: '2' })
    assert.equal(await scene.store.get({ id: id as string }), null)
    assert.equal((await scene.store.peek({ kinds: ['report'] })).nextDue, null)
    assert.equal((await scene.store.counts({})).states.pending, 0)
  },
  'a plan taken back by an update and brought again by the next keeps its id (A → B → A)': async (scene) => {
    const at = scene.now + minute
    await scene.putJob({ payload: '1' })
    const [first] = await scene.plan([at])
    const b = await scene.putJob({ payload: '2' })
    assert.equal(b.cursor, scene.now, 'the cursor is back at the instant of the update')
    await scene.putJob({ payload: '1' })
    const [second] = await scene.plan([at])
    assert.equal(second, first)
    assert.equal((await scene.get(second as string)).record.version, 3)
  },
  'an update leaves alone what is due, runs, waits for a retry or was asked for by name': async (scene) => {
    await scene.join()
    const first = await scene.putJob()
    const at = scene.now + 1000
    const [parked, running, due, later] = [scene.now, scene.now, at, at + minute].map((ms, i) =>
      scheduledId('default', 'report', ms + i),
    ) as [string, string, string, string]
    await scene.plan([scene.now, scene.now + 1, at + 2, at + minute + 3])
    await scene.clock.advance(10)
    const one = await scene.claim({ limit: 1 })
    await scene.settle(one, 'parked', { delayMs: minute })
    assert.deepEqual(idsOf(one), [parked])
    assert.deepEqual(await scene.claimedIds(), [running])
    await scene.clock.advance(1000)
    const manual = await scene.create({ job: 'report', source: 'manual', due: { in: minute } })
    const { version } = await scene.putJob({ payload: '2' })
    assert.equal(version, first.version + 1)
    const states = await Promise.all([parked, running, due, manual].map((id) => scene.state(id)))
    assert.deepEqual(states, ['retrying', 'running', 'pending', 'pending'])
    assert.equal(await scene.store.get({ id: later }), null)
  },
  'an update leaves the planned instants of other jobs and tenants alone': async (scene) => {
    const at = scene.now + minute
    for (const [tenant, name] of [
      ['acme', 'report'],
      ['globex', 'report'],
      ['acme', 'other'],
    ] as const) {
      await scene.putJob({}, { tenant, name })
      await scene.plan([at], { tenant, job: name })
    }
    await scene.putJob({ payload: '2' }, { tenant: 'acme', name: 'report' })
    const left = (await scene.store.list({ limit: 10 })).items.map((item) => `${item.tenant}/${item.job}`)
    assert.deepEqual(left.toSorted(), ['acme/other', 'globex/report'])
  },
  'a job without a schedule is never planned, and one that gets a schedule is from then on': async (scene) => {
    const job = await scene.putJob({ schedule: null })
    assert.equal(job.nextAt, null)
    await scene.clock.advance(minute)
    assert.deepEqual((await scene.store.jobsToPlan({ horizonMs: 1000, limit: 10 })).jobs, [])
    await scene.putJob()
    const { jobs } = await scene.store.jobsToPlan({ horizonMs: 0, limit: 10 })
    assert.deepEqual(
      jobs.map(({ versions }) => versions.map(({ spec, effectiveAt }) => [spec.schedule === null, effectiveAt])),
      [
        [
          [true, scene.now - minute],
          [false, scene.now],
        ],
      ],
    )
  },
})
