// Rule 4: limits are records. The commit that claims grants keys, the hold outlives parking, and whichever verb ends the holder frees them.
import assert from 'node:assert/strict'
import { concurrency, createEach, overlap } from './keys.ts'
import { type Holding, idsOf, memberOf, memberRef, minute, type Scene } from './scene.ts'
import { topic } from './topic.ts'

/** Where the holder of a key may stand while others come due. */
const holders: Readonly<Record<string, (scene: Scene, holding: Holding) => Promise<unknown>>> = {
  runs: async () => {},
  'is parked between two tries': (scene, holding) => scene.settle(holding, 'parked', { delayMs: minute }),
  'was lost with its node': (scene) => scene.loseNode({ settings: { retry: { intervalMs: minute } }, mostRecoveries: 1 }),
  'was released by its node': (scene, holding) => scene.settle(holding, 'released', { delayMs: minute }),
  'overran its deadline': async (scene, holding) => {
    await recordStart(scene, holding)
    await scene.clock.advance(2)
    await scene.rescue({ gone: [], settings: { retry: { intervalMs: minute } }, mostRecoveries: 1 })
  },
}

/** The verbs that end a holder. */
const endings: Readonly<Record<string, (scene: Scene, holding: Holding & { id: string }) => Promise<unknown>>> = {
  'a settle that completes it': (scene, holding) => scene.settle(holding, 'completed'),
  'a settle that fails it': (scene, holding) => scene.settle(holding, 'failed'),
  'a settle that buries it': (scene, holding) => scene.settle(holding, 'dead'),
  'a settle that parks what was asked to cancel': async (scene, holding) => {
    await scene.store.cancel({ which: { id: holding.id }, reason: null })
    await scene.settle(holding, 'parked', { delayMs: minute })
  },
  'a cancel while it is parked': async (scene, holding) => {
    await scene.settle(holding, 'parked', { delayMs: minute })
    await scene.store.cancel({ which: { id: holding.id }, reason: null })
  },
  'a beat that releases what was asked to cancel': async (scene, { id }) => {
    await scene.store.cancel({ which: { id }, reason: null })
    await scene.beat()
  },
  'a rescue that buries it': (scene) => scene.loseNode({ mostRecoveries: 0 }),
  'a rescue of what was asked to cancel': async (scene, { id }) => {
    await scene.store.cancel({ which: { id }, reason: null })
    await scene.loseNode()
  },
  'a rescue that buries what overran': async (scene, holding) => {
    await recordStart(scene, holding)
    await scene.clock.advance(2)
    await scene.rescue({ gone: [], mostRecoveries: 0 })
  },
}

const kept = Object.entries(holders).map(([standing, bring]) => {
  const title = `JB-8 a due instant under skip gives way to a holder that ${standing}, and is recorded with its id`
  return [
    title,
    async (scene: Scene) => {
      const holder = await scene.running({ limits: overlap('skip') })
      await bring(scene, holder)
      await joinAnother(scene)
      const id = await scene.create({ limits: overlap('skip') })
      const { members, answer } = await scene.claim({ node: 'node-9' })
      const passed = { tenant: 'default', job: 'mail', state: 'skipped', reason: `overlap: ${holder.id}` }
      assert.deepEqual([members, answer.passed], [[], [{ id, ...passed }]])
      const { state, turns } = await scene.get(id)
      assert.deepEqual([state, turns], ['skipped', [scene.bareTurn(1, 'skipped', { reason: passed.reason })]])
    },
  ] as const
})

const freed = Object.entries(endings).map(([ending, bring]) => {
  const title = `JB-8 F16 ${ending} frees its keys, and the oldest that waits can be claimed`
  return [
    title,
    async (scene: Scene) => {
      const limits = [...overlap('queue'), ...concurrency(1)]
      const holder = await scene.running({ limits })
      const younger = await scene.create({ limits, due: scene.now })
      const older = await scene.create({ limits, due: scene.now - 1 })
      assert.deepEqual(await scene.claimedIds(), [])
      assert.deepEqual([await scene.state(older), await scene.state(younger)], ['waiting', 'waiting'])
      await bring(scene, holder)
      await joinAnother(scene)
      assert.deepEqual(await scene.claimedIds({ node: 'node-9' }), [older])
      assert.equal(await scene.state(younger), 'waiting')
    },
  ] as const
})

export const grantCases = topic('grants', {
  ...Object.fromEntries(kept),
  ...Object.fromEntries(freed),

  'JB-8 under allow, which asks for no key, occurrences of a job run side by side': async (scene) => {
    await scene.join()
    const ids = [await scene.create(), await scene.create({ limits: [] })]
    assert.deepEqual(await scene.claimedIds(), ids)
  },
  'JB-8 of instants that come due together under skip, the first runs and the others give way to it in the same claim': async (
    scene,
  ) => {
    await scene.join()
    const [first, second, third] = await createEach(scene, 3, { limits: overlap('skip') })
    const { members, answer } = await scene.claim()
    assert.deepEqual(
      members.map(({ record }) => record.id),
      [first],
    )
    assert.deepEqual(
      answer.passed.map(({ id, reason }) => [id, reason]),
      [
        [second, `overlap: ${first}`],
        [third, `overlap: ${first}`],
      ],
    )
  },
  'JB-8 what is passed over takes no place of a claim': async (scene) => {
    const holder = await scene.running({ limits: overlap('skip') })
    await createEach(scene, 2, { limits: overlap('skip') })
    const free = await scene.create()
    assert.deepEqual(await scene.claimedIds({ limit: 1 }), [free])
    assert.equal(await scene.state(holder.id), 'running')
  },
  'JB-8 of nodes that claim at the same time under skip, one runs': async (scene) => {
    await scene.join()
    await createEach(scene, 6, { limits: overlap('skip') })
    const claims = await Promise.all(Array.from({ length: 4 }, () => scene.claim({ limit: 2 })))
    assert.equal(claims.flatMap(({ members }) => members).length, 1)
    assert.equal(claims.flatMap(({ answer }) => answer.passed).length, 5)
  },
  'JB-8 under queue instants run one after another, the oldest first': async (scene) => {
    await scene.join()
    const ids = await createEach(scene, 4, { limits: overlap('queue') })
    for (const id of ids) {
      const holding = await scene.claim()
      assert.deepEqual(idsOf(holding), [id])
      await scene.settle(holding, 'completed')
    }
  },
  'JB-8 what waits tells which key it waits for and who has it': async (scene) => {
    const holder = await scene.running({ limits: overlap('queue') })
    const id = await scene.create({ limits: overlap('queue') })
    const { answer } = await scene.claim()
    assert.deepEqual([answer.members, answer.passed, answer.nextDue], [[], [], null])
    const { state, wait, blockers, turns } = await scene.get(id)
    assert.deepEqual([state, turns, blockers], ['waiting', [], [holder.id]])
    assert.deepEqual(wait, { reason: 'overlap', key: 'overlap-a', wakeAt: null })
    await scene.settle(holder, 'completed')
    assert.deepEqual((await scene.get(id)).blockers, [])
    assert.equal((await scene.store.peek({ kinds: ['mail'] })).nextDue, scene.now)
    assert.deepEqual(await scene.claimedIds(), [id])
    assert.equal((await scene.get(id)).wait, null)
  },
  'JB-8 queue-one lets one wait, and the next gives way to that': async (scene) => {
    const holder = await scene.running({ limits: overlap('queue-one') })
    const [second, third] = await createEach(scene, 2, { limits: overlap('queue-one') })
    const { answer } = await scene.claim()
    assert.deepEqual(
      answer.passed.map(({ id, reason }) => [id, reason]),
      [[third, `overlap: ${second}`]],
    )
    await scene.settle(holder, 'completed')
    assert.deepEqual(await scene.claimedIds(), [second])
  },
  'JB-8 cancel-previous asks the running one to stop, and waits until it has': async (scene) => {
    const holder = await scene.running({ limits: overlap('cancel-previous') })
    const next = await scene.create({ limits: overlap('cancel-previous') })
    assert.deepEqual(await scene.claimedIds(), [])
    assert.equal(await scene.state(next), 'waiting')
    const { ref, turn } = memberOf(holder)
    const reason = `gave way to ${next}`
    assert.deepEqual((await scene.beat({ claims: [holder.claim.id] })).cancels, [{ ref, turn, reason }])
    await scene.settle(holder, 'parked', { delayMs: minute })
    assert.deepEqual([await scene.state(holder.id), (await scene.get(holder.id)).turns[0]?.reason], ['canceled', reason])
    assert.deepEqual(await scene.claimedIds(), [next])
  },
  'JB-8 cancel-previous ends one that is between two tries and runs at once': async (scene) => {
    const holder = await scene.running({ limits: overlap('cancel-previous') })
    await scene.settle(holder, 'parked', { delayMs: minute })
    const next = await scene.create({ limits: overlap('cancel-previous') })
    assert.deepEqual(await scene.claimedIds(), [next])
    const { state, turns } = await scene.get(holder.id)
    assert.deepEqual([state, turns.at(-1)?.turn, turns.at(-1)?.reason], ['canceled', 2, `gave way to ${next}`])
  },
  'JB-8 under cancel-previous a third gives way to the one that waits': async (scene) => {
    await scene.running({ limits: overlap('cancel-previous') })
    const [second, third] = await createEach(scene, 2, { limits: overlap('cancel-previous') })
    const { answer } = await scene.claim()
    assert.deepEqual(
      answer.passed.map(({ id, reason }) => [id, reason]),
      [[third, `overlap: ${second}`]],
    )
  },
  'a holder that runs its next turn needs nothing new': async (scene) => {
    const limits = [...overlap('skip'), ...concurrency(1)]
    const holder = await scene.running({ limits })
    await scene.settle(holder, 'parked')
    const next = await scene.claim()
    assert.deepEqual(idsOf(next), [holder.id])
    await scene.settle(next, 'released')
    assert.deepEqual(await scene.claimedIds(), [holder.id])
  },
  'a dead occurrence holds nothing, and waits for its turn when a person tries it again': async (scene) => {
    const dead = await scene.dead({ limits: overlap('skip') })
    const next = await scene.running({ limits: overlap('skip') })
    await scene.store.move({ which: { id: dead }, to: { retry: { in: 0 } } })
    const { answer } = await scene.claim()
    assert.deepEqual([answer.members, answer.passed], [[], []])
    assert.equal(await scene.state(dead), 'waiting')
    await scene.settle(next, 'completed')
    assert.deepEqual(await scene.claimedIds(), [dead])
  },
  'a dead occurrence that is discarded leaves those that wait alone': async (scene) => {
    const dead = await scene.dead({ limits: overlap('queue') })
    const holder = await scene.running({ limits: overlap('queue') })
    const waiting = await scene.create({ limits: overlap('queue') })
    await scene.claim()
    await scene.store.move({ which: { id: dead }, to: { discard: null } })
    assert.deepEqual([await scene.state(waiting), await scene.claimedIds()], ['waiting', []])
    await scene.settle(holder, 'completed')
    assert.deepEqual(await scene.claimedIds(), [waiting])
  },
})

async function recordStart(scene: Scene, holding: Holding): Promise<void> {
  const start = { startedAt: scene.now, deadlineAt: scene.now + 1 }
  await scene.store.checkpoint([{ ...memberRef(holding), attempts: [], start }])
}

/** A node that lives, whatever has become of the others. */
async function joinAnother(scene: Scene): Promise<void> {
  await scene.join('node-9')
}
