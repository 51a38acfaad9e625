// The same mechanism as overlap: concurrency and rate by key, and the chance at a freed key that is passed on.
import assert from 'node:assert/strict'
import type { Limit } from '../../model/limit.ts'
import type { NewOccurrence } from '../../store/store.ts'
import { concurrency, createEach, overlap, rate } from './keys.ts'
import { type Holding, hour, idsOf, memberOf, minute, type Scene } from './scene.ts'
import { topic } from './topic.ts'

export const limitCases = topic('limits', {
  'JB-8 work that gives way on its way to its next key stays ended': async (scene) => {
    await scene.join()
    const limits: readonly Limit[] = [...overlap('cancel-previous'), ...concurrency(1)]
    const [first, second] = await createEach(scene, 2, { limits })
    assert.deepEqual(await scene.claimedIds(), [second])
    assert.equal(await scene.state(first as string), 'canceled')
  },
  'JB-8 a concurrency of n lets n run, across kinds, nodes and claims': async (scene) => {
    await scene.join()
    await scene.join('node-2')
    const ids = await createEach(scene, 5, { limits: concurrency(3) })
    const first = await scene.claim({ limit: 2 })
    const second = await scene.claim({ node: 'node-2' })
    assert.deepEqual([...idsOf(first), ...idsOf(second)], ids.slice(0, 3))
    await scene.settle(second, 'completed')
    assert.deepEqual(await scene.claimedIds({ node: 'node-2' }), [ids[3]])
    await scene.settle(first, 'failed')
    assert.deepEqual(await scene.claimedIds(), [ids[4]])
  },
  'JB-8 claims at the same time never exceed a concurrency': async (scene) => {
    await scene.join()
    await createEach(scene, 12, { limits: concurrency(4) })
    const claims = await Promise.all(Array.from({ length: 6 }, () => scene.claim({ limit: 3 })))
    // A store may let one that finds the key taken come back for it.
    const taken = claims.flatMap(({ members }) => members).length
    assert.ok(taken <= 4, `${taken} are claimed where 4 may be`)
    assert.equal((await scene.claim({ limit: 12 })).members.length, 4 - taken)
    assert.equal((await scene.store.counts({})).states.running, 4)
  },
  'one that waits for a concurrency keeps its place in the overlap': async (scene) => {
    const other = await scene.running({ limits: concurrency(1) })
    const first = await scene.create({ limits: [...overlap('skip'), ...concurrency(1)] })
    assert.deepEqual(await scene.claimedIds(), [])
    assert.equal((await scene.get(first)).wait?.reason, 'concurrency')
    const second = await scene.create({ limits: overlap('skip') })
    const { answer } = await scene.claim()
    assert.deepEqual(
      answer.passed.map(({ id, reason }) => [id, reason]),
      [[second, `overlap: ${first}`]],
    )
    await scene.settle(other, 'completed')
    assert.deepEqual(await scene.claimedIds(), [first])
  },
  'one that waits for one key keeps those before it, so work with one key never overtakes it': async (scene) => {
    const other = await scene.running({ limits: concurrency(1, 'b') })
    const waiting = await scene.create({ limits: [...concurrency(1, 'b'), ...concurrency(1, 'a')] })
    assert.deepEqual(await scene.claimedIds(), [])
    assert.equal((await scene.get(waiting)).wait?.key, 'concurrency-b')
    const later = await scene.create({ limits: concurrency(1, 'a') })
    assert.deepEqual(await scene.claimedIds(), [])
    await scene.settle(other, 'completed')
    const holding = await scene.claim()
    assert.deepEqual(idsOf(holding), [waiting])
    await scene.settle(holding, 'completed')
    assert.deepEqual(await scene.claimedIds(), [later])
  },
  'each that waits is judged by its own limit: the head by one of 1, the next by one of 3': async (scene) => {
    const holder = await scene.running({ limits: concurrency(1) })
    const [second, third, fourth, fifth] = await createEach(scene, 4, { limits: concurrency(1) })
    await scene.store.cancel({ which: { id: third as string }, reason: null })
    const wider = []
    for (let i = 0; i < 3; i++) wider.push(await scene.create({ limits: concurrency(3), due: scene.now - 3 + i }))
    assert.deepEqual(await scene.claimedIds(), [])
    await scene.settle(holder, 'completed')
    const next = await scene.claim()
    assert.deepEqual(idsOf(next), [second])
    for (const id of [fourth, fifth]) await scene.store.cancel({ which: { id: id as string }, reason: null })
    assert.deepEqual(await scene.claimedIds(), wider.slice(0, 2), 'one that leaves a line lets those behind it come first')
  },
  'the line of a key goes by priority, then due': async (scene) => {
    const holder = await scene.running({ limits: concurrency(1) })
    const low = await scene.create({ limits: concurrency(1), priority: 9, due: scene.now - 5 })
    const high = await scene.create({ limits: concurrency(1), priority: 0, due: scene.now - 1 })
    const older = await scene.create({ limits: concurrency(1), priority: 0, due: scene.now - 2 })
    assert.deepEqual(await scene.claimedIds(), [])
    let holding = holder as Holding
    for (const id of [older, high, low]) {
      await scene.settle(holding, 'completed')
      holding = await scene.claim()
      assert.deepEqual(idsOf(holding), [id])
    }
  },
  'F16 work of a kind that no node serves is passed over in the line, and has no grant': async (scene) => {
    await scene.join('node-2', { kinds: ['rare'] })
    const holder = await scene.running({ limits: concurrency(1) })
    const rare = await scene.create({ job: 'rare', limits: concurrency(1), due: scene.now - 1 })
    const mail = await scene.create({ limits: concurrency(1) })
    assert.deepEqual(await scene.claimedIds(), [])
    await scene.beat({ boot: 'node-2', node: { kinds: ['rare'] }, phase: 'leave' })
    await scene.settle(holder, 'completed')
    assert.deepEqual(await scene.claimedIds(), [mail])
    assert.equal(await scene.state(rare), 'waiting')
  },
  'F16 a grant of work whose last node leaves is taken back': async (scene) => {
    await scene.join('node-2', { kinds: ['rare'] })
    await scene.join()
    const rare = await scene.create({ job: 'rare', limits: concurrency(1), due: scene.now - 1 })
    const mail = await scene.create({ limits: concurrency(1) })
    assert.deepEqual(await scene.claimedIds(), [], 'the key is granted to work of another node')
    assert.deepEqual((await scene.get(mail)).blockers, [rare])
    await scene.beat({ boot: 'node-2', node: { kinds: ['rare'] }, phase: 'leave' })
    assert.deepEqual(await scene.claimedIds(), [mail])
  },
  'work given back without a start gives up its keys and its rate, and keeps its due time and its first turn': async (scene) => {
    const limits = [...overlap('skip'), ...concurrency(1), ...rate(1, minute)]
    const holding = await scene.running({ limits, startWithinMs: hour, key: 'k' })
    const { dueAt } = memberOf(holding)
    await scene.clock.advance(1000)
    await scene.beat({ claims: [holding.claim.id] })
    await scene.settle(holding, 'released', { end: scene.end('released', { startedAt: null }) })
    assert.equal((await scene.get(holding.id)).dueAt, dueAt)
    assert.equal((await scene.createOne({ key: 'k', payload: '2', due: scene.now, onConflict: 'replace' })).outcome, 'replaced')
    const again = await scene.claim()
    assert.deepEqual(idsOf(again), [holding.id], 'its rate has a free slot')
  },
  'work given back without a start is missed like work that was never claimed': async (scene) => {
    const holding = await scene.running({ startWithinMs: 1000 })
    await scene.settle(holding, 'released', { end: scene.end('released', { startedAt: null }) })
    await scene.clock.advance(1001)
    await scene.beat()
    const { answer } = await scene.claim()
    assert.deepEqual([answer.members, answer.passed.map(({ state }) => state)], [[], ['missed']])
  },
  'a parked retry of a paused job holds no key of other jobs': async (scene) => {
    const holder = await scene.running({ job: 'report', limits: concurrency(1) })
    await scene.settle(holder, 'parked', { delayMs: minute })
    const other = await scene.create({ limits: concurrency(1) })
    assert.deepEqual(await scene.claimedIds(), [])
    await scene.pause()
    assert.deepEqual(await scene.claimedIds(), [other])
  },
  'a live instant under skip waits for a recovery run, one at a time, and gives way to live work': async (scene) => {
    const job = await scene.putJob()
    await scene.join()
    const recovery = scene.planRow(job, scene.now, { source: 'recovery', limits: overlap('queue') })
    await scene.plan([], { rows: [recovery], through: scene.now })
    assert.deepEqual(await scene.claimedIds(), [recovery.id])
    const [first, second] = await createEach(scene, 2, { limits: overlap('skip') })
    const { answer } = await scene.claim()
    assert.deepEqual(
      answer.passed.map(({ id, reason }) => [id, reason]),
      [[second, `overlap: ${first}`]],
    )
    assert.equal(await scene.state(first as string), 'waiting')
  },
  'in a line live work comes before recovery runs of the same priority': async (scene) => {
    const job = await scene.putJob()
    const holder = await scene.running({ limits: overlap('queue') })
    const recovery = scene.planRow(job, scene.now, { source: 'recovery', limits: overlap('queue') })
    await scene.plan([], { rows: [recovery], through: scene.now })
    const live = await scene.create({ limits: overlap('queue'), due: scene.now })
    assert.deepEqual(await scene.claimedIds(), [])
    await scene.settle(holder, 'completed')
    assert.deepEqual(await scene.claimedIds(), [live])
  },
  'an end and the next start under a key are one commit': async (scene) => {
    const holder = await scene.running({ limits: concurrency(1) })
    const next = await scene.create({ limits: concurrency(1) })
    const claim = scene.claimRequest()
    const { items, claimed } = await scene.store.settle([scene.settleItem(holder, 'completed')], { done: [holder.claim], claim })
    assert.deepEqual([items, claimed?.members.map(({ record }) => record.id)], [['ok'], [next]])
  },
  'one that keeps its place in the overlap while it waits is canceled by the next under cancel-previous': async (scene) => {
    await scene.running({ limits: concurrency(1) })
    const first = await scene.create({ limits: [...overlap('cancel-previous'), ...concurrency(1)] })
    await scene.claim()
    const second = await scene.create({ limits: overlap('cancel-previous') })
    assert.deepEqual(await scene.claimedIds(), [second])
    assert.equal(await scene.state(first), 'canceled')
  },
  'of instants that come due together under cancel-previous, those that are canceled take no further key': async (scene) => {
    await scene.join()
    const [first, second] = await createEach(scene, 2, { limits: [...overlap('cancel-previous'), ...concurrency(1)] })
    assert.deepEqual(await scene.claimedIds(), [second])
    assert.equal(await scene.state(first as string), 'canceled')
    assert.equal((await scene.store.counts({})).states.running, 1)
  },
  'work that gave up its key before the clock was set back is not canceled by itself': async (scene) => {
    const holding = await scene.running({ limits: overlap('cancel-previous'), due: scene.now - minute })
    await scene.settleAll([{ ...scene.settleItem(holding, 'released'), end: scene.end('released', { startedAt: null }) }])
    scene.clock.jump(-1000)
    assert.deepEqual(await scene.claimedIds(), [])
    assert.equal(await scene.state(holding.id), 'waiting')
    await scene.clock.advance(1000)
    assert.deepEqual(await scene.claimedIds(), [holding.id])
  },
  'TS-10 keys are what they say: other keys of other tenants are not in the way': async (scene) => {
    await scene.running({ limits: overlap('skip', 'a') })
    const other = await scene.create({ tenant: 'acme', limits: overlap('skip', 'b') })
    assert.deepEqual(await scene.claimedIds(), [other])
  },

  'a chance that is canceled before it was taken goes to the next that waits': async (scene) => {
    const { first, second } = await awakened(scene)
    await scene.store.cancel({ which: { id: first }, reason: null })
    assert.deepEqual(await scene.claimedIds(), [second])
  },
  'a chance that is put off by a person goes to the next that waits': async (scene) => {
    const { first, second } = await awakened(scene)
    await scene.store.move({ which: { id: first }, to: { due: { in: minute } } })
    assert.deepEqual(await scene.claimedIds(), [second])
  },
  'a chance of one that has waited too long goes to the next that waits, at a claim': async (scene) => {
    const { second } = await awakened(scene, { startWithinMs: 1000 })
    await scene.clock.advance(2000)
    assert.deepEqual(await scene.claimedIds(), [second])
  },
  'a chance of one that has waited too long goes to the next that waits, at a rescue': async (scene) => {
    const { first, second } = await awakened(scene, { startWithinMs: 1000 })
    await scene.clock.advance(2000)
    assert.deepEqual(
      (await scene.rescue({ gone: [] })).expired.map(({ id }) => id),
      [first],
    )
    assert.deepEqual(await scene.claimedIds(), [second])
  },
  'a chance of one whose job is paused goes to the next that waits': async (scene) => {
    const { first, second } = await awakened(scene, { job: 'report' })
    await scene.pause()
    assert.deepEqual(await scene.claimedIds(), [second])
    await scene.pause({ open: null })
    assert.deepEqual([await scene.claimedIds(), (await scene.get(first)).wait?.reason], [[], 'concurrency'])
  },
  'one that is put off gives up its place in the overlap': async (scene) => {
    await scene.running({ limits: concurrency(1) })
    const first = await scene.create({ limits: [...overlap('skip'), ...concurrency(1)] })
    await scene.claim()
    await scene.store.move({ which: { id: first }, to: { due: { in: minute } } })
    const second = await scene.create({ limits: overlap('skip') })
    assert.deepEqual(await scene.claimedIds(), [second])
  },
  'one that is put off between two tries keeps its place': async (scene) => {
    const holder = await scene.running({ limits: overlap('skip') })
    await scene.settle(holder, 'parked')
    await scene.store.move({ which: { id: holder.id }, to: { due: { in: minute } } })
    await scene.create({ limits: overlap('skip') })
    assert.equal((await scene.claim()).answer.passed.length, 1)
  },
  'one that waits can be canceled, moved and replaced, and takes no key with it': async (scene) => {
    const holder = await scene.running({ limits: concurrency(1) })
    const canceled = await scene.create({ limits: concurrency(1) })
    const replaced = await scene.create({ limits: concurrency(1), key: 'k' })
    await scene.claim()
    await scene.store.cancel({ which: { id: canceled }, reason: null })
    const answer = await scene.createOne({ key: 'k', payload: '2', due: { in: minute }, onConflict: 'replace' })
    assert.equal(answer.outcome, 'replaced')
    assert.deepEqual([await scene.state(canceled), await scene.state(replaced)], ['canceled', 'pending'])
    await scene.settle(holder, 'completed')
    assert.deepEqual(await scene.claimedIds(), [])
    await scene.clock.advance(minute)
    await scene.beat()
    assert.deepEqual(await scene.claimedIds(), [replaced])
  },
  'who waits for a freed key is told of': async (scene) => {
    const holder = await scene.running({ limits: concurrency(1) })
    await scene.create({ limits: concurrency(1) })
    await scene.claim()
    const hints: string[] = []
    const end = scene.store.hints.subscribe(({ kind }) => void hints.push(kind))
    await scene.settle(holder, 'completed')
    end()
    assert.ok(hints.includes('due'))
  },

  'JB-15 catch-up keys of a job and of the whole cluster are taken together': async (scene) => {
    await scene.join()
    const limits = (job: string): readonly Limit[] => [
      { kind: 'catch-up', key: `catch-up-${job}`, limit: 1 },
      { kind: 'catch-up-total', key: 'catch-up', limit: 2 },
    ]
    const ids = []
    for (const job of ['a', 'a', 'b', 'c'])
      ids.push(await scene.create({ limits: limits(job), due: scene.now - 10 + ids.length }))
    const first = await scene.claim()
    assert.deepEqual(idsOf(first), [ids[0], ids[2]])
    assert.deepEqual(
      [(await scene.get(ids[1] as string)).wait?.key, (await scene.get(ids[3] as string)).wait?.key],
      ['catch-up-a', 'catch-up'],
    )
    await scene.settle(first, 'completed')
    const second = await scene.claim()
    assert.equal(second.members.length, 1)
    await scene.settle(first, 'completed', { i: 1 })
    await scene.settle(second, 'completed')
    const third = await scene.claim()
    assert.deepEqual([...idsOf(second), ...idsOf(third)].toSorted(), [ids[1], ids[3]].toSorted())
  },

  'JB-8 a rate lets so many start within its window, and the next when the window has passed': async (scene) => {
    await scene.join()
    const start = scene.now
    const ids = await createEach(scene, 3, { limits: rate(2, 10_000) })
    const first = await scene.claim()
    assert.deepEqual([idsOf(first), first.answer.nextDue], [ids.slice(0, 2), start + 10_020])
    const { state, wait, dueAt } = await scene.get(ids[2] as string)
    assert.deepEqual([state, wait, dueAt], ['waiting', { reason: 'rate', key: 'rate-a', wakeAt: start + 10_020 }, start - 8])
    for (let i = 0; i < 2; i++) await scene.settle(first, 'completed', { i })
    await scene.clock.advance(10_019)
    await scene.beat()
    assert.deepEqual(await scene.claimedIds(), [], 'ends do not free a rate')
    assert.equal((await scene.store.peek({ kinds: ['mail'] })).nextDue, start + 10_020)
    await scene.clock.advance(1)
    assert.deepEqual(await scene.claimedIds(), [ids[2]])
  },
  'JB-8 a rate slides: each start frees its own part of the window': async (scene) => {
    await scene.join()
    await scene.running({ limits: rate(2, 10_000) })
    await scene.clock.advance(4000)
    await scene.running({ limits: rate(2, 10_000) })
    const [third, fourth] = await createEach(scene, 2, { limits: rate(2, 10_000) })
    assert.deepEqual(await scene.claimedIds(), [])
    await scene.clock.advance(6020)
    const holding = await scene.claim()
    assert.deepEqual([idsOf(holding), holding.answer.nextDue], [[third], scene.now + 4000])
    await scene.clock.advance(4000)
    assert.deepEqual(await scene.claimedIds(), [fourth])
  },
  'a start is counted only for what starts': async (scene) => {
    const holder = await scene.running({ limits: concurrency(1) })
    await scene.create({ limits: [...rate(1, minute), ...concurrency(1)] })
    assert.deepEqual(await scene.claimedIds(), [])
    const free = await scene.create({ limits: rate(1, minute) })
    assert.deepEqual(await scene.claimedIds(), [free])
    await scene.settle(holder, 'completed')
  },
  'work given back without a start returns its own slot of a rate, not those of its earlier starts': async (scene) => {
    const first = await scene.running({ limits: rate(2, 10_000) })
    await scene.settle(first, 'parked')
    await scene.clock.advance(1000)
    const again = await scene.claim()
    assert.deepEqual(idsOf(again), [first.id])
    await scene.settle(again, 'released', { end: scene.end('released', { startedAt: null }), delayMs: minute })
    const ids = await createEach(scene, 2, { limits: rate(2, 10_000) })
    assert.deepEqual(await scene.claimedIds(), [ids[0]], 'its first start still counts')
  },
  'a window is longer by the time that the claimer may take to start': async (scene) => {
    await scene.join()
    await createEach(scene, 1, { limits: rate(1, 10_000) })
    await scene.claim({ promptMs: 500 })
    await scene.create({ limits: rate(1, 10_000) })
    const { answer } = await scene.claim()
    assert.equal(answer.nextDue, scene.now + 10_500)
  },
  'each start of a retried one takes part in its rate': async (scene) => {
    const first = await scene.running({ limits: [...concurrency(1), ...rate(1, 5000)] })
    await scene.settle(first, 'parked')
    assert.deepEqual(await scene.claimedIds(), [])
    assert.equal((await scene.get(first.id)).wait?.reason, 'rate')
    const other = await scene.create({ limits: concurrency(1) })
    assert.deepEqual(await scene.claimedIds(), [], 'it keeps its concurrency between two turns')
    await scene.clock.advance(5020)
    await scene.beat()
    assert.deepEqual(await scene.claimedIds(), [first.id])
    assert.equal(await scene.state(other), 'waiting')
  },
  'a retry given back without a start returns its own slot of a rate, not that of an earlier start': async (scene) => {
    const first = await scene.running({ limits: rate(2, minute) })
    await scene.settle(first, 'parked')
    const again = await scene.claim()
    assert.deepEqual(idsOf(again), [first.id])
    await scene.settle(again, 'released', { end: scene.end('released', { startedAt: null }), delayMs: 1000 })
    const [next] = await createEach(scene, 2, { limits: rate(2, minute) })
    assert.deepEqual(await scene.claimedIds(), [next])
  },
  'work of a kind that the node cannot run is not looked at when its window has passed': async (scene) => {
    await scene.running({ limits: rate(1, minute) })
    await scene.create({ limits: rate(1, minute) })
    await scene.claim()
    assert.equal((await scene.store.peek({ kinds: ['report'] })).nextDue, null)
    assert.equal((await scene.claim({ kinds: ['report'] })).answer.nextDue, null)
  },
  'the limits of a job that the caller does not know are those of its version in force': async (scene) => {
    const concurrency = { key: 'api', limit: 1 }
    await scene.putJob({ schedule: null, settings: { concurrency, startWithinMs: 7000 } }, { name: 'mail' })
    const { record } = await scene.get(await scene.create({ limits: 'declared', startWithinMs: 1 }))
    assert.equal(record.definition, 'report')
    assert.deepEqual(
      [record.limits, record.startWithinMs],
      [[{ kind: 'concurrency', key: JSON.stringify(['concurrency', 'default', 'api']), limit: 1 }], 7000],
    )
    const unknown = await scene.get(await scene.create({ job: 'unheard-of', limits: 'declared' }))
    assert.deepEqual([unknown.record.limits, unknown.record.startWithinMs], [null, null])
  },
})

/** Of two that wait for a key, the first was let try when the holder ended. */
async function awakened(scene: Scene, over: Partial<NewOccurrence> = {}): Promise<{ first: string; second: string }> {
  const holder = await scene.running({ limits: concurrency(1) })
  const first = await scene.create({ limits: concurrency(1), due: scene.now - 2, ...over })
  const second = await scene.create({ limits: concurrency(1), due: scene.now - 1 })
  await scene.claim()
  assert.deepEqual([await scene.state(first), await scene.state(second)], ['waiting', 'waiting'])
  await scene.settle(holder, 'completed')
  return { first, second }
}
