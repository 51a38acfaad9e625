// The same mechanism as overlap: concurrency and rate by key, and the chance at a freed key that is passed on.
import assert from 'node:assert/strict'
import type { Limit } from '../../model/limit.ts'
import type { NewOccurrence } from '../../store/store.ts'
import { concurrency, createEach, overlap, rate } from './keys.ts'
import { idsOf, minute, type Scene } from './scene.ts'
import { topic } from './topic.ts'

export const limitCases = topic('limits', {
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
  'one that waits for one key holds no concurrency meanwhile': async (scene) => {
    const other = await scene.running({ limits: concurrency(1, 'b') })
    const waiting = await scene.create({ limits: [...concurrency(1, 'a'), ...concurrency(1, 'b')] })
    assert.deepEqual(await scene.claimedIds(), [])
    assert.equal((await scene.get(waiting)).wait?.key, 'concurrency-b')
    const passing = await scene.running({ limits: concurrency(1, 'a') })
    await scene.settle(other, 'completed')
    assert.deepEqual(await scene.claimedIds(), [], 'now it waits for the other key')
    assert.equal((await scene.get(waiting)).wait?.key, 'concurrency-a')
    await scene.settle(passing, 'completed')
    assert.deepEqual(await scene.claimedIds(), [waiting])
  },
  'one that keeps its place in the overlap while it waits is canceled by the next under cancel-previous': async (scene) => {
    await scene.running({ limits: concurrency(1) })
    const first = await scene.create({ limits: [...overlap('cancel-previous'), ...concurrency(1)] })
    await scene.claim()
    const second = await scene.create({ limits: overlap('cancel-previous') })
    assert.deepEqual(await scene.claimedIds(), [second])
    assert.equal(await scene.state(first), 'canceled')
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
  'a chance of one that waits for something else goes to the next that waits': async (scene) => {
    await scene.running({ limits: concurrency(1, 'b') })
    const holder = await scene.running({ limits: concurrency(1, 'a') })
    const both = await scene.create({ limits: [...concurrency(1, 'a'), ...concurrency(1, 'b')], due: scene.now - 2 })
    const one = await scene.create({ limits: concurrency(1, 'a'), due: scene.now - 1 })
    await scene.claim()
    await scene.settle(holder, 'completed')
    assert.deepEqual(await scene.claimedIds(), [one])
    assert.equal((await scene.get(both)).wait?.key, 'concurrency-b')
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
      { kind: 'catch-up', key: 'catch-up', limit: 2 },
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
    assert.deepEqual([idsOf(first), first.answer.nextDue], [ids.slice(0, 2), start + 10_000])
    const { state, wait, dueAt } = await scene.get(ids[2] as string)
    assert.deepEqual([state, wait, dueAt], ['waiting', { reason: 'rate', key: null, wakeAt: start + 10_000 }, start - 8])
    for (let i = 0; i < 2; i++) await scene.settle(first, 'completed', { i })
    await scene.clock.advance(9999)
    assert.deepEqual(await scene.claimedIds(), [], 'ends do not free a rate')
    assert.equal((await scene.store.peek({ kinds: ['mail'] })).nextDue, start + 10_000)
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
    await scene.clock.advance(6000)
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
  'one that waits for a rate holds no concurrency meanwhile': async (scene) => {
    await scene.running({ limits: rate(1, minute) })
    const waiting = await scene.create({ limits: [...concurrency(1), ...rate(1, minute)] })
    assert.deepEqual(await scene.claimedIds(), [])
    assert.equal((await scene.get(waiting)).wait?.reason, 'rate')
    const free = await scene.create({ limits: concurrency(1) })
    assert.deepEqual(await scene.claimedIds(), [free])
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
  assert.deepEqual([await scene.state(first), await scene.state(second)], ['pending', 'waiting'])
  return { first, second }
}
