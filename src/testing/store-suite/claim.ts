import assert from 'node:assert/strict'
import { kindOf } from '../../model/job.ts'
import { concurrency } from './keys.ts'
import { day, idsOf, memberOf, minute } from './scene.ts'
import { topic } from './topic.ts'

export const claimCases = topic('claim', {
  'a member carries its record, its turn and what the job says': async (scene) => {
    await scene.putJob({ schedule: null, settings: { timeoutMs: 7 } }, { name: 'mail' })
    const holding = await scene.running({ key: 'k', payload: '1', settings: { priority: 5 } })
    const member = memberOf(holding)
    const { record } = await scene.get(holding.id)
    assert.deepEqual(
      { ...member, ref: 0 },
      {
        ref: 0,
        turn: 1,
        record,
        dueAt: scene.now,
        recoveries: 0,
        jobSettings: { timeoutMs: 7 },
        lastRunAt: null,
        turns: [],
        attempts: [],
      },
    )
    assert.ok(Number.isSafeInteger(member.ref))
    assert.equal(holding.answer.now, scene.now)
  },
  'the settings of a job that the store does not know are null': async (scene) => {
    assert.equal(memberOf(await scene.running()).jobSettings, null)
  },
  'what is claimed runs on the node that claimed it': async (scene) => {
    const { id } = await scene.running()
    const { state, node } = await scene.get(id)
    assert.deepEqual([state, node], ['running', 'node-1'])
  },
  'TM-5 nothing is claimed twice': async (scene) => {
    await scene.running()
    await scene.join('node-2')
    assert.deepEqual(await scene.claimedIds({ node: 'node-2' }), [])
  },
  'TM-5 claims at the same time share the work without overlap': async (scene) => {
    await scene.join()
    const rows = Array.from({ length: 60 }, () => scene.row())
    await scene.createAll(rows)
    const taken = (await Promise.all(Array.from({ length: 10 }, () => scene.claimedIds({ limit: 7 })))).flat()
    assert.equal(taken.length, 60)
    assert.equal(new Set(taken).size, 60)
  },
  'nothing is claimed before it is due by the clock of the store': async (scene) => {
    await scene.join()
    const id = await scene.create({ due: { in: 1000 } })
    await scene.clock.advance(999)
    const early = await scene.claim()
    assert.deepEqual([idsOf(early), early.answer.nextDue], [[], scene.now + 1])
    await scene.clock.advance(1)
    assert.deepEqual(await scene.claimedIds(), [id])
  },
  'a wall set back puts off what was due, and set forth brings it on': async (scene) => {
    await scene.join()
    const id = await scene.create({ due: { in: minute } })
    scene.clock.jump(-60 * minute)
    await scene.clock.advance(minute)
    assert.deepEqual(await scene.claimedIds(), [])
    scene.clock.jump(61 * minute)
    assert.deepEqual(await scene.claimedIds(), [id])
  },
  'timers of 400 days are claimed on their day': async (scene) => {
    const id = await scene.create({ due: { in: 400 * day } })
    await scene.clock.advance(400 * day - 1)
    await scene.join()
    assert.deepEqual(await scene.claimedIds(), [])
    await scene.clock.advance(1)
    assert.deepEqual(await scene.claimedIds(), [id])
  },
  'a claim takes the lower priority first, then the earlier due, then the older': async (scene) => {
    await scene.join()
    const late = await scene.create({ priority: 9, due: scene.now - 9000 })
    const older = await scene.create({ due: scene.now - 1000 })
    const younger = await scene.create({ due: scene.now - 1000 })
    const earlier = await scene.create({ due: scene.now - 2000 })
    const urgent = await scene.create({ priority: 0, due: scene.now })
    await scene.create({ priority: 0, due: scene.now + 1 })
    assert.deepEqual(await scene.claimedIds(), [urgent, earlier, older, younger, late])
  },
  'a claim takes no more than its limit, and says when the next is due': async (scene) => {
    await scene.join()
    const ids = [
      await scene.create({ due: scene.now - 3 }),
      await scene.create({ due: scene.now - 2 }),
      await scene.create({ due: scene.now + 50 }),
    ]
    const first = await scene.claim({ limit: 1 })
    assert.deepEqual([idsOf(first), first.answer.nextDue], [[ids[0]], scene.now - 2])
    const second = await scene.claim({ limit: 1 })
    assert.deepEqual([idsOf(second), second.answer.nextDue], [[ids[1]], scene.now + 50])
  },
  'TM-6 a claim takes only kinds that the node has the handlers for': async (scene) => {
    await scene.join()
    const mail = await scene.create()
    const report = await scene.create({ job: 'report' })
    const named = await scene.create({ job: 'a-named-use', definition: 'mail' })
    const holding = await scene.claim({ kinds: ['mail'] })
    assert.deepEqual(idsOf(holding), [mail, named])
    assert.equal(holding.answer.nextDue, null)
    assert.equal(await scene.state(report), 'pending')
    assert.deepEqual(await scene.claimedIds({ kinds: [] }), [])
    assert.deepEqual(await scene.claimedIds({ kinds: ['unknown', 'report'] }), [report])
  },
  'JB-21 work is claimed by the edition of tasks it needs: that of its version, or of the definition where the tenant has no such job':
    async (scene) => {
      await scene.join()
      const first = await scene.create({ job: 'report' })
      await scene.putJob()
      const second = await scene.create({ job: 'report', tenant: 'acme' })
      await scene.putJob({ tasks: [{ name: 'run' }, { name: 'send' }], edition: 2 })
      const [planned] = await scene.plan([scene.now])
      const others = [
        await scene.create({ job: 'report' }),
        await scene.create({ job: 'report', tenant: 'acme' }),
        await scene.create({ job: 'a-named-use', definition: 'report' }),
      ]
      const old = await scene.create({ job: 'report', version: 1 })
      assert.deepEqual(await scene.claimedIds({ kinds: ['report'] }), [first, second, old])
      const kind = kindOf({ definition: 'report', edition: 2 })
      const { answer } = await scene.claim({ kinds: [kind] })
      assert.deepEqual(
        answer.members.map(({ record }) => [record.id, record.definition, record.kind]),
        [planned as string, ...others].map((id) => [id, 'report', kind]),
      )
    },
  'several kinds share one order': async (scene) => {
    await scene.join()
    const ids = []
    for (let i = 0; i < 6; i++) ids.push(await scene.create({ job: i % 2 === 0 ? 'mail' : 'report', due: scene.now - 10 + i }))
    assert.deepEqual(await scene.claimedIds({ limit: 4 }), ids.slice(0, 4))
    assert.deepEqual(await scene.claimedIds(), ids.slice(4))
  },
  'work of all tenants is claimed by whoever is free': async (scene) => {
    await scene.join()
    const ids = [await scene.create({ tenant: 'acme' }), await scene.create({ tenant: 'globex' })]
    assert.deepEqual(await scene.claimedIds(), ids)
  },
  'BL-2 dueBy lowers the clock of the store and never raises it': async (scene) => {
    await scene.join()
    const early = await scene.create({ due: scene.now - 100 })
    const late = await scene.create({ due: scene.now })
    const future = await scene.create({ due: scene.now + 100 })
    assert.deepEqual(await scene.claimedIds({ dueBy: scene.now - 101 }), [])
    assert.deepEqual(await scene.claimedIds({ dueBy: scene.now - 100 }), [early])
    assert.deepEqual(await scene.claimedIds({ dueBy: scene.now + 1000 }), [late])
    assert.equal(await scene.state(future), 'pending')
  },
  'BL-2 dueBy bounds work that a freed key lets in, too': async (scene) => {
    const holder = await scene.running({ limits: concurrency(1) })
    const next = await scene.create({ limits: concurrency(1) })
    await scene.claim()
    await scene.settle(holder, 'completed')
    assert.deepEqual(await scene.claimedIds({ dueBy: scene.now - 1 }), [])
    assert.deepEqual(await scene.claimedIds(), [next])
  },
  'claiming again under the same id returns the same members': async (scene) => {
    await scene.join()
    await scene.create({ due: scene.now - 2 })
    await scene.create({ due: scene.now - 1 })
    const request = scene.claimRequest({ limit: 2 })
    const first = await scene.store.claim(request)
    await scene.create({ priority: 0 })
    assert.deepEqual((await scene.store.claim(request)).members, first.members)
  },
  'claiming again leaves out members that have ended': async (scene) => {
    await scene.join()
    const ids = [await scene.create({ due: scene.now - 2 }), await scene.create({ due: scene.now - 1 })]
    const request = scene.claimRequest()
    const answer = await scene.store.claim(request)
    const holding = { claim: request, node: 'node-1', answer, members: answer.members }
    await scene.settle(holding, 'completed', { done: false })
    assert.deepEqual(
      (await scene.store.claim(request)).members.map(({ record }) => record.id),
      [ids[1]],
    )
    await scene.settle(holding, 'parked', { i: 1, done: false, delayMs: minute })
    assert.deepEqual((await scene.store.claim(request)).members, [])
  },
  'a claim of somebody else is not handed out under its id': async (scene) => {
    const { claim, id } = await scene.running()
    await scene.join('node-2')
    await assert.rejects(scene.claim({ id: claim.id, token: 'guessed' }), { code: 'claim.lost' })
    await assert.rejects(scene.claim({ ...claim, node: 'node-2' }), { code: 'claim.lost' })
    assert.equal((await scene.get(id)).node, 'node-1')
  },
  'a node that the store does not know cannot claim': async (scene) => {
    const id = await scene.create()
    await assert.rejects(scene.claim({ node: 'stranger' }), { code: 'claim.lost' })
    assert.equal(await scene.state(id), 'pending')
  },
  'a claim that finds nothing can be repeated and takes what has come due': async (scene) => {
    await scene.join()
    const request = scene.claimRequest()
    assert.deepEqual((await scene.store.claim(request)).members, [])
    const id = await scene.create()
    assert.deepEqual(
      (await scene.store.claim(request)).members.map(({ record }) => record.id),
      [id],
    )
  },
  'JB-6 a member is told when the run of its job before it began, and not its own': async (scene) => {
    const began = scene.now
    await scene.completed()
    await scene.clock.advance(minute)
    const second = await scene.running()
    assert.equal(memberOf(second).lastRunAt, began)
    await scene.settle(second, 'parked')
    assert.equal(memberOf(await scene.claim()).lastRunAt, began, 'its own first turn is not a run before it')
  },
  'the last run is that of the same job and tenant': async (scene) => {
    await scene.completed()
    await scene.clock.advance(minute)
    assert.equal(memberOf(await scene.running({ tenant: 'acme' })).lastRunAt, null)
    assert.equal(memberOf(await scene.running({ job: 'report' })).lastRunAt, null)
  },
  'a peek tells the next due instant of the kinds, and writes nothing': async (scene) => {
    await scene.create({ due: { in: 5000 } })
    await scene.create({ due: { in: 3000 }, priority: 9 })
    await scene.create({ due: { in: 1000 }, job: 'report' })
    assert.deepEqual(await scene.store.peek({ kinds: ['mail'] }), { now: scene.now, nextDue: scene.now + 3000 })
    assert.deepEqual(await scene.store.peek({ kinds: ['mail', 'report'] }), { now: scene.now, nextDue: scene.now + 1000 })
    assert.deepEqual(await scene.store.peek({ kinds: [] }), { now: scene.now, nextDue: null })
    assert.equal((await scene.store.counts({})).states.pending, 3)
  },
})
