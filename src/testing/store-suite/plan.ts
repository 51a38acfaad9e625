import assert from 'node:assert/strict'
import { scheduledId } from '../../model/ids.ts'
import { hour, minute } from './scene.ts'
import { topic } from './topic.ts'

export const planCases = topic('plan', {
  'a planned instant becomes one pending occurrence of the job as it is': async (scene) => {
    const { version } = await scene.putJob({ payload: '{"a":1}' })
    const at = scene.now + minute
    const [id] = await scene.plan([at])
    const { record, state, dueAt, turns } = await scene.get(id as string)
    assert.deepEqual({ state, dueAt, turns }, { state: 'pending', dueAt: at, turns: [] })
    assert.deepEqual(record, {
      id: scheduledId('default', 'report', at),
      tenant: 'default',
      job: 'report',
      definition: 'report',
      kind: 'report',
      version,
      source: 'schedule',
      key: null,
      unique: 'ever',
      entity: null,
      parent: null,
      refs: {},
      payload: '{"a":1}',
      settings: null,
      priority: 5,
      limits: null,
      span: null,
      replay: null,
      startWithinMs: null,
      isHooked: false,
      scheduledAt: at,
      createdAt: scene.now,
    })
  },
  'a plan moves the cursor and says when it wants to be asked again': async (scene) => {
    await scene.putJob()
    await scene.plan([scene.now + minute], { through: scene.now + 2 * minute, nextAt: scene.now + hour })
    const job = await scene.job()
    assert.deepEqual([job.cursor, job.nextAt, job.version], [scene.now + 2 * minute, scene.now + hour, 1])
  },
  'a plan of a job with another version, another cursor or no record is behind and writes nothing': async (scene) => {
    const job = await scene.putJob()
    const at = scene.now + minute
    const plans = [
      scene.planOf(job, [at], { version: 2 }),
      scene.planOf(job, [at], { cursor: job.cursor - 1 }),
      scene.planOf(job, [at], { job: 'unknown' }),
      scene.planOf(job, [at], { tenant: 'acme' }),
    ]
    assert.deepEqual(
      await scene.store.plan(plans),
      plans.map(() => ({ outcome: 'behind' })),
    )
    assert.deepEqual((await scene.store.list({ limit: 10 })).items, [])
    assert.deepEqual(await scene.job(), job)
  },
  'JB-3 of two nodes that plan the same instant, one creates it': async (scene) => {
    const job = await scene.putJob()
    const plan = scene.planOf(job, [scene.now + minute])
    const answers = (await Promise.all([scene.store.plan([plan]), scene.store.plan([plan])])).flat()
    assert.deepEqual(answers.map((answer) => answer.outcome).toSorted(), ['behind', 'planned'])
    assert.equal((await scene.store.counts({})).states.pending, 1)
  },
  'in one call each job is planned on its own': async (scene) => {
    const jobs = [
      await scene.putJob({}, { name: 'a' }),
      await scene.putJob({}, { name: 'b' }),
      await scene.putJob({}, { name: 'c' }),
    ] as const
    const at = scene.now + minute
    const plans = [
      scene.planOf(jobs[0], [at]),
      scene.planOf(jobs[1], [at], { version: 9 }),
      scene.planOf(jobs[2], [at, at + minute]),
    ]
    assert.deepEqual(await scene.store.plan(plans), [
      { outcome: 'planned', created: 1 },
      { outcome: 'behind' },
      { outcome: 'planned', created: 2 },
    ])
  },
  'an instant that is known already is passed over': async (scene) => {
    await scene.putJob()
    const at = scene.now + minute
    await scene.plan([at])
    const again = scene.planOf(await scene.job(), [at, at + minute])
    assert.deepEqual(await scene.store.plan([again]), [{ outcome: 'planned', created: 1 }])
  },
  'an instant canceled before it was due is not planned anew': async (scene) => {
    await scene.putJob()
    const at = scene.now + minute
    const [id] = await scene.plan([at])
    await scene.store.cancel({ which: { id: id as string }, reason: null })
    await scene.putJob({ payload: '2' })
    assert.deepEqual(await scene.store.plan([scene.planOf(await scene.job(), [at])]), [{ outcome: 'planned', created: 0 }])
    assert.equal(await scene.state(id as string), 'canceled')
  },
  'a plan without rows moves the cursor': async (scene) => {
    const job = await scene.putJob()
    const plan = scene.planOf(job, [], { through: scene.now + minute, nextAt: null })
    assert.deepEqual(await scene.store.plan([plan]), [{ outcome: 'planned', created: 0 }])
    assert.deepEqual([(await scene.job()).cursor, (await scene.job()).nextAt], [scene.now + minute, null])
  },
  'rows carry their source and priority': async (scene) => {
    const job = await scene.putJob()
    const at = scene.now - minute
    const rows = [scene.planRow(job, at, { source: 'recovery', priority: 2 })]
    await scene.store.plan([scene.planOf(job, [], { rows })])
    const { record } = await scene.get(rows[0]?.id as string)
    assert.deepEqual([record.source, record.priority, record.scheduledAt], ['recovery', 2, at])
  },
  'jobs to plan are those within the horizon, the most urgent first': async (scene) => {
    for (const [name, inMs] of [
      ['late', 9000],
      ['soon', 1000],
      ['never', null],
      ['beyond', 20_000],
    ] as const) {
      const job = await scene.putJob({}, { name })
      await scene.store.plan([scene.planOf(job, [], { nextAt: inMs === null ? null : scene.now + inMs })])
    }
    const { now, jobs, nextAt } = await scene.store.jobsToPlan({ horizonMs: 10_000, limit: 10 })
    assert.equal(now, scene.now)
    assert.deepEqual(
      jobs.map(({ job }) => job.name),
      ['soon', 'late'],
    )
    assert.deepEqual(jobs[0]?.job, await scene.job('soon'))
    assert.equal(nextAt, scene.now + 10_000, 'beyond wants planning when it comes within the horizon')
  },
  'jobs to plan keep to the limit, and what is left over is wanted at once': async (scene) => {
    for (const [i, name] of ['a', 'b', 'c'].entries()) {
      const job = await scene.putJob({}, { name })
      await scene.store.plan([scene.planOf(job, [], { nextAt: scene.now + i })])
    }
    const { jobs, nextAt } = await scene.store.jobsToPlan({ horizonMs: 1000, limit: 2 })
    assert.deepEqual(
      jobs.map(({ job }) => job.name),
      ['a', 'b'],
    )
    assert.ok((nextAt as number) <= scene.now)
  },
  'with no job to plan later, nothing is wanted': async (scene) => {
    await scene.putJob({ schedule: null })
    assert.deepEqual(await scene.store.jobsToPlan({ horizonMs: 1000, limit: 10 }), {
      now: scene.now,
      aliveSince: 0,
      pauseRevision: 0,
      jobs: [],
      nextAt: null,
    })
  },
})
