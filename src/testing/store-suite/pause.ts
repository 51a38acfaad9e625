// Rule 6: a pause is a stored interval. Scheduled instants in it end as skipped, whenever they were planned; other work waits for the resume.
import assert from 'node:assert/strict'
import type { PauseScope } from '../../model/pause.ts'
import { hour, idsOf, minute, type Scene } from './scene.ts'
import { topic } from './topic.ts'

const scopes: Readonly<Record<string, PauseScope>> = {
  'a job': { tenant: 'default', job: 'report' },
  'a tenant': { tenant: 'default', job: null },
  everything: { tenant: null, job: null },
  'a job of every tenant': { tenant: null, job: 'report' },
}

const covered = Object.entries(scopes).map(([what, scope]) => {
  const title = `JB-7 a pause of ${what} skips its scheduled instants and holds its other work back until the resume`
  return [
    title,
    async (scene: Scene) => {
      await scene.join()
      await scene.putJob()
      await scene.pause(scope)
      const [scheduled] = await scene.plan([scene.now])
      const manual = await scene.create({ job: 'report', source: 'manual' })
      const { members, answer } = await scene.claim()
      const passed = { id: scheduled, tenant: 'default', job: 'report', state: 'skipped', reason: 'paused' }
      assert.deepEqual([members, answer.passed], [[], [passed]])
      const { state, turns } = await scene.get(scheduled as string)
      assert.deepEqual([state, turns], ['skipped', [scene.bareTurn(1, 'skipped', { reason: 'paused' })]])
      const { wait, ...waiting } = await scene.get(manual)
      assert.deepEqual([waiting.state, wait], ['waiting', { reason: 'pause', key: null, wakeAt: null }])
      await scene.pause({ ...scope, open: null })
      assert.deepEqual(await scene.claimedIds(), [manual])
      assert.equal(await scene.state(scheduled as string), 'skipped')
    },
  ] as const
})

export const pauseCases = topic('pause', {
  ...Object.fromEntries(covered),

  'a pause is recorded with its scope, its instants, its reason and who asked for it': async (scene) => {
    const from = scene.now
    const open = { until: from + hour, reason: 'migration', by: 'ada' }
    const { outcome, pause } = await scene.pause({ open })
    assert.equal(outcome, 'paused')
    assert.ok(pause)
    const { id, ...rest } = pause
    assert.deepEqual(rest, { tenant: 'default', job: 'report', from, to: from + hour, reason: 'migration', by: 'ada' })
    assert.deepEqual(await scene.store.readPauses({}), [pause])
    await scene.clock.advance(minute)
    assert.deepEqual(await scene.pause({ open: null }), { outcome: 'resumed', pause: { ...pause, to: scene.now } })
    assert.deepEqual(await scene.store.readPauses({}), [{ id, ...rest, to: scene.now }])
  },
  'an end may be told as a delay from the store’s now': async (scene) => {
    const { pause } = await scene.pause({ open: { until: { in: minute }, reason: null, by: null } })
    assert.equal(pause?.to, scene.now + minute)
  },
  'the same pause again changes nothing, and another end or reason changes the one there is': async (scene) => {
    const open = { until: scene.now + hour, reason: 'migration', by: null }
    const { pause } = await scene.pause({ open })
    await scene.clock.advance(minute)
    assert.deepEqual(await scene.pause({ open }), { outcome: 'unchanged', pause })
    const later = { until: scene.now + 2 * hour, reason: 'still', by: 'bob' }
    const changed = { ...pause, to: later.until, reason: 'still', by: 'bob' }
    assert.deepEqual(await scene.pause({ open: later }), { outcome: 'paused', pause: changed })
    assert.deepEqual(await scene.store.readPauses({}), [changed])
  },
  'a resume of what is not paused changes nothing': async (scene) => {
    const { pauseRevision } = await scene.store.jobsToPlan({ horizonMs: 0, limit: 1 })
    assert.deepEqual(await scene.pause({ open: null }), { outcome: 'unchanged', pause: null })
    await scene.pause({ open: { until: { in: 1000 }, reason: null, by: null } })
    await scene.clock.advance(1000)
    assert.deepEqual(await scene.pause({ open: null }), { outcome: 'unchanged', pause: null })
    assert.equal((await scene.store.jobsToPlan({ horizonMs: 0, limit: 1 })).pauseRevision, pauseRevision + 1)
  },
  'a pause that is over and a new one are two': async (scene) => {
    await scene.pause({ open: { until: { in: 1000 }, reason: null, by: null } })
    await scene.clock.advance(1000)
    const { outcome, pause } = await scene.pause()
    assert.deepEqual([outcome, pause?.from], ['paused', scene.now])
    assert.equal((await scene.store.readPauses({})).length, 2)
  },
  'a resume closes exactly the scope it names': async (scene) => {
    await scene.join()
    await scene.pause()
    await scene.pause({ job: null })
    const id = await scene.create({ job: 'report' })
    await scene.pause({ open: null })
    assert.deepEqual(await scene.claimedIds(), [], 'its tenant is still paused')
    await scene.pause({ tenant: null, job: null, open: null })
    assert.deepEqual(await scene.claimedIds(), [], 'everything was never paused')
    await scene.pause({ job: null, open: null })
    assert.deepEqual(await scene.claimedIds(), [id])
  },
  'pauses are read from an instant on': async (scene) => {
    const { pause: first } = await scene.pause({ open: { until: { in: 1000 }, reason: null, by: null } })
    const { pause: second } = await scene.pause({ tenant: 'acme', job: null })
    const { now } = scene
    assert.deepEqual(await scene.store.readPauses({ since: now + 999 }), [first, second])
    assert.deepEqual(await scene.store.readPauses({ since: now + 1000 }), [second])
  },
  'JB-7 a pause with an end lets go by itself, and nodes know when to look': async (scene) => {
    await scene.join()
    const until = scene.now + minute
    await scene.pause({ open: { until, reason: null, by: null } })
    const id = await scene.create({ job: 'report' })
    const { members, answer } = await scene.claim()
    assert.deepEqual([members, answer.nextDue], [[], until])
    assert.deepEqual((await scene.get(id)).wait, { reason: 'pause', key: null, wakeAt: until })
    assert.equal((await scene.store.peek({ kinds: ['report'] })).nextDue, until)
    await scene.clock.advance(minute - 1)
    assert.deepEqual(await scene.claimedIds(), [])
    await scene.clock.advance(1)
    assert.deepEqual(await scene.claimedIds(), [id])
  },
  'JB-7 a pause that ends inside another leaves the work to the other': async (scene) => {
    await scene.join()
    await scene.pause({ open: { until: { in: minute }, reason: null, by: null } })
    await scene.pause({ tenant: null, job: null, open: { until: { in: hour }, reason: null, by: null } })
    const id = await scene.create({ job: 'report' })
    await scene.claim()
    await scene.clock.advance(minute)
    await scene.beat()
    assert.deepEqual([await scene.claimedIds(), await scene.state(id)], [[], 'waiting'])
    await scene.clock.advance(hour)
    await scene.beat()
    assert.deepEqual(await scene.claimedIds(), [id])
  },
  'a shorter end of a pause brings its work back sooner': async (scene) => {
    await scene.join()
    await scene.pause()
    const id = await scene.create({ job: 'report' })
    await scene.claim()
    await scene.pause({ open: { until: { in: minute }, reason: null, by: null } })
    await scene.clock.advance(minute)
    assert.deepEqual(await scene.claimedIds(), [id])
  },
  'JB-7 an instant that was planned before the pause began is skipped all the same': async (scene) => {
    await scene.join()
    await scene.putJob()
    const [before, at, inside] = await scene.plan([scene.now - 1, scene.now, scene.now + 1000])
    await scene.pause()
    await scene.clock.advance(2000)
    const { answer } = await scene.claim()
    assert.deepEqual(
      answer.passed.map(({ id, state, reason }) => [id, state, reason]),
      [
        [at, 'skipped', 'paused'],
        [inside, 'skipped', 'paused'],
      ],
    )
    assert.equal((await scene.get(before as string)).wait?.reason, 'pause', 'it was due before the pause')
    await scene.pause({ open: null })
    assert.deepEqual(await scene.claimedIds(), [before])
  },
  'JB-7 an instant inside a pause is skipped also when it is claimed after the resume': async (scene) => {
    await scene.join()
    await scene.putJob()
    const [inside, after] = await scene.plan([scene.now + 1000, scene.now + 2000])
    await scene.pause({ open: { until: scene.now + 2000, reason: null, by: null } })
    await scene.clock.advance(3000)
    const { members, answer } = await scene.claim()
    assert.deepEqual(
      [members.map(({ record }) => record.id), answer.passed.map(({ id }) => id)],
      [[after], [inside]],
      'the end of a pause is no longer inside it',
    )
  },
  'JB-7 an instant that makes up for a gap is skipped when it lies inside a pause': async (scene) => {
    const job = await scene.putJob()
    await scene.pause({ open: { until: { in: minute }, reason: null, by: null } })
    await scene.clock.advance(hour)
    await scene.join()
    const [inside, outside] = [job.cursor + 1000, job.cursor + 2 * minute]
    const rows = [inside, outside].map((at) => scene.planRow(job, at, { source: 'recovery' }))
    await scene.plan([], { rows, through: scene.now })
    const holding = await scene.claim()
    assert.deepEqual([idsOf(holding), holding.answer.passed.map(({ id }) => id)], [[rows[1]?.id], [rows[0]?.id]])
  },
  'JB-7 what a person asked for by hand, and what is late, is not skipped by an old pause': async (scene) => {
    await scene.join()
    await scene.pause({ open: { until: { in: 1000 }, reason: null, by: null } })
    const rows = (['manual', 'backfill', 'replay', 'deferred', 'timer'] as const).map((source) =>
      scene.row({ job: 'report', source, due: scene.now }),
    )
    await scene.createAll(rows)
    await scene.clock.advance(minute)
    await scene.beat()
    const ids = await scene.claimedIds()
    assert.deepEqual(
      ids,
      rows.map(({ id }) => id),
    )
  },
  'JB-7 what runs when a pause begins goes on, and its next try waits for the resume': async (scene) => {
    const holding = await scene.running({ job: 'report' })
    await scene.pause()
    assert.deepEqual((await scene.beat({ claims: [holding.claim.id] })).cancels, [])
    assert.equal(await scene.settle(holding, 'parked'), 'ok')
    assert.deepEqual([await scene.claimedIds(), await scene.state(holding.id)], [[], 'waiting'])
    await scene.pause({ open: null })
    assert.equal(await scene.state(holding.id), 'retrying')
    assert.deepEqual(await scene.claimedIds(), [holding.id])
  },
  'JB-7 a scheduled instant that has been tried before is not skipped by a pause': async (scene) => {
    await scene.join()
    await scene.putJob()
    const [id] = await scene.plan([scene.now])
    await scene.settle(await scene.claim(), 'parked')
    await scene.pause()
    const { answer } = await scene.claim()
    assert.deepEqual([answer.passed, await scene.state(id as string)], [[], 'waiting'])
  },
  'TS-10 a pause does not touch other jobs and tenants': async (scene) => {
    await scene.join()
    await scene.pause({ tenant: 'acme', job: 'report' })
    await scene.pause({ tenant: 'globex', job: null })
    const free = [
      await scene.create({ tenant: 'acme', job: 'mail' }),
      await scene.create({ tenant: 'default', job: 'report' }),
      await scene.create({ tenant: 'default', job: 'mail' }),
    ]
    await scene.create({ tenant: 'acme', job: 'report' })
    await scene.create({ tenant: 'globex', job: 'mail' })
    assert.deepEqual(await scene.claimedIds(), free)
  },
  'JB-7 a job can be paused before it exists, and while no node is there': async (scene) => {
    await scene.pause({ job: 'mail' })
    const id = await scene.create()
    await scene.clock.advance(hour)
    await scene.join()
    assert.deepEqual(await scene.claimedIds(), [])
    await scene.pause({ job: 'mail', open: null })
    assert.deepEqual(await scene.claimedIds(), [id])
  },
  'what waits in a pause can be canceled, and stays so after the resume': async (scene) => {
    await scene.join()
    await scene.pause({ job: 'mail' })
    const id = await scene.create()
    await scene.claim()
    assert.deepEqual(await scene.store.cancel({ which: { id }, reason: null }), [{ id, outcome: 'canceled' }])
    await scene.pause({ job: 'mail', open: null })
    assert.deepEqual([await scene.claimedIds(), await scene.state(id)], [[], 'canceled'])
  },
  'a paused one takes no key while it waits': async (scene) => {
    await scene.join()
    const limits = [{ kind: 'overlap', key: 'k', limit: 1, policy: 'skip' }] as const
    await scene.pause({ job: 'mail' })
    await scene.create({ limits })
    const other = await scene.create({ job: 'report', limits })
    assert.deepEqual(await scene.claimedIds(), [other])
  },

  'rule 7: a plan made before a pause or a resume is behind and writes nothing': async (scene) => {
    const job = await scene.putJob()
    const before = scene.planOf(job, [scene.now + minute])
    await scene.pause({ tenant: 'acme', job: 'other' })
    assert.deepEqual(await scene.store.plan([before]), [{ outcome: 'behind' }])
    const meanwhile = scene.planOf(job, [scene.now + minute])
    await scene.pause({ tenant: 'acme', job: 'other', open: null })
    assert.deepEqual(await scene.store.plan([meanwhile]), [{ outcome: 'behind' }])
    assert.deepEqual([await scene.job(), (await scene.store.list({ limit: 1 })).items], [job, []])
    assert.deepEqual(await scene.store.plan([scene.planOf(job, [scene.now + minute])]), [{ outcome: 'planned', created: 1 }])
  },
  'the planner is told of the pauses of a job that reach beyond its cursor': async (scene) => {
    await scene.putJob()
    const { pause: over } = await scene.pause({ open: { until: { in: 1000 }, reason: null, by: null } })
    const { pause: tenant } = await scene.pause({ job: null })
    const { pause: all } = await scene.pause({ tenant: null, job: null })
    await scene.pause({ tenant: 'acme' })
    await scene.pause({ job: 'other' })
    const told = async () => (await scene.store.jobsToPlan({ horizonMs: hour, limit: 1 })).jobs[0]?.pauses.toSorted(byId)
    assert.deepEqual(await told(), [over, tenant, all])
    await scene.plan([], { through: scene.now + 1000 })
    assert.deepEqual(await told(), [tenant, all], 'the first has ended by the cursor')
  },
  'the planner is told of pauses that stranded instants lie in, though they are over': async (scene) => {
    await scene.putJob()
    const at = scene.now + 1000
    const { pause: over } = await scene.pause({ open: { until: at + 1, reason: null, by: null } })
    await scene.plan([at, at + 1], { through: at + minute })
    await scene.clock.advance(hour)
    await scene.join()
    const told = async () => (await scene.store.jobsToPlan({ horizonMs: hour, limit: 1 })).jobs[0]?.pauses
    assert.deepEqual(await told(), [over])
    await scene.plan([], { drop: [{ at, state: 'skipped', reason: 'paused' }] })
    assert.deepEqual(await told(), [], 'the instant that is left is after the pause')
  },
  'a pause and a resume are told, so that planners and nodes look again': async (scene) => {
    for (const open of [{ until: null, reason: null, by: null }, null]) {
      const hints: string[] = []
      const end = scene.store.hints.subscribe(({ kind }) => void hints.push(kind))
      await scene.pause({ open })
      end()
      assert.ok(hints.includes('job'))
      assert.ok(open !== null || hints.includes('due'))
    }
  },
})

function byId(a: { id: number }, b: { id: number }): number {
  return a.id - b.id
}
