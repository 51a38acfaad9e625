// Ends of hooked work are noted until `onComplete` has run for them, whichever verb writes the end.
import assert from 'node:assert/strict'
import type { TurnEnd } from '../../model/lifecycle.ts'
import type { NewOccurrence } from '../../store/store.ts'
import { type Holding, memberOf, minute, type Scene } from './scene.ts'
import { topic } from './topic.ts'

const hooked: Partial<NewOccurrence> = { isHooked: true }

/** The verbs that end work without a report of its node. */
export const endings: Readonly<Record<string, (scene: Scene, work: Partial<NewOccurrence>) => Promise<string>>> = {
  'a cancel before it was claimed': async (scene, work) => {
    const id = await scene.create(work)
    await scene.store.cancel({ which: { id }, reason: null })
    return id
  },
  'a cancel between two turns': async (scene, work) => {
    const holding = await scene.running(work)
    await scene.settle(holding, 'parked', { delayMs: minute })
    await scene.store.cancel({ which: { id: holding.id }, reason: null })
    return holding.id
  },
  'cancel-previous': async (scene, work) => {
    const limits = [{ kind: 'overlap', key: 'o', limit: 1, policy: 'cancel-previous' }] as const
    const holding = await scene.running({ ...work, limits })
    await scene.settle(holding, 'parked', { delayMs: minute })
    await scene.create({ limits })
    const { answer } = await scene.claim()
    assert.deepEqual(
      answer.passed.map(({ id, state }) => [id, state]),
      [[holding.id, 'canceled']],
    )
    return holding.id
  },
  'a settle of what was asked to cancel meanwhile': async (scene, work) => {
    const holding = await scene.running(work)
    await scene.store.cancel({ which: { id: holding.id }, reason: null })
    await scene.settle(holding, 'parked', { delayMs: minute, hookMs: minute })
    return holding.id
  },
  'a beat that releases what was asked to cancel': async (scene, work) => {
    const { id } = await scene.running(work)
    await scene.store.cancel({ which: { id }, reason: null })
    await scene.beat()
    return id
  },
  'a rescue that buries it': async (scene, work) => {
    const { id } = await scene.running(work)
    await scene.beat({ boot: 'node-2', phase: 'join' })
    await scene.clock.advance(15_000)
    await scene.beat({ boot: 'node-2' })
    await scene.rescue({ mostRecoveries: 0 })
    return id
  },
  'a discard': async (scene, work) => {
    const id = await scene.dead(work)
    if (work.isHooked) {
      assert.deepEqual(await openHooks(scene), [id])
      await hookDone(scene, id)
    }
    await scene.store.move({ which: { id }, to: { discard: null } })
    return id
  },
}

const noted = Object.entries(endings).map(
  ([ending, bring]) =>
    [
      `JB-14 ${ending} leaves a note that a node with the definition works off`,
      async (scene: Scene) => {
        await scene.join()
        const id = await bring(scene, hooked)
        assert.deepEqual(await openHooks(scene, { kinds: ['report'] }), [], 'not for a node without the definition')
        assert.deepEqual(await openHooks(scene), [id])
        assert.deepEqual(await openHooks(scene), [], 'one node at a time')
        await scene.clock.advance(minute)
        assert.deepEqual(await openHooks(scene), [id], 'one that did not report is not relied on')
        await hookDone(scene, id)
        await scene.clock.advance(minute)
        assert.deepEqual(await openHooks(scene), [])
      },
    ] as const,
)

const settled = (['completed', 'failed', 'dead', 'canceled'] satisfies TurnEnd[]).map(
  (end) =>
    [
      `JB-14 work that its node ends as ${end} keeps its hook for that node, and for others when that one is slow or gone`,
      async (scene: Scene) => {
        const slow = await scene.running(hooked)
        await scene.settle(slow, end, { hookMs: minute })
        assert.deepEqual(await openHooks(scene), [])
        await scene.clock.advance(minute)
        assert.deepEqual(await openHooks(scene), [slow.id])
        await hookDone(scene, slow.id)
        await scene.beat()
        const quick = await scene.running(hooked)
        await scene.settle(quick, end, { hookMs: minute })
        await heardOf(scene, quick)
        const gone = await scene.running(hooked)
        await scene.settle(gone, end, { hookMs: minute })
        await scene.loseNode()
        assert.deepEqual(await openHooks(scene, { kinds: ['mail'] }), [gone.id])
      },
    ] as const,
)

export const hookCases = topic('hooks', {
  ...Object.fromEntries(noted),
  ...Object.fromEntries(settled),
  'an end without a hook leaves no note': async (scene) => {
    await scene.completed()
    await scene.clock.advance(minute)
    assert.deepEqual(await openHooks(scene), [])
  },
  'what goes on leaves no note': async (scene) => {
    const holding = await scene.running(hooked)
    await scene.settle(holding, 'parked', { hookMs: minute })
    assert.deepEqual(await openHooks(scene), [])
  },
  'what is passed over leaves no note': async (scene) => {
    await scene.join()
    await scene.create({ ...hooked, startWithinMs: 1000 })
    await scene.clock.advance(1001)
    assert.equal((await scene.rescue({ gone: [] })).expired.length, 1)
    assert.deepEqual(await openHooks(scene), [])
  },
  'planned work is hooked by what its version says': async (scene) => {
    await scene.putJob({ isHooked: true })
    await scene.join()
    const [id] = await scene.plan([scene.now])
    await scene.store.cancel({ which: { id: id as string }, reason: null })
    assert.deepEqual(await openHooks(scene), [id])
  },
  'work of a job that the caller does not know is hooked by what its version says': async (scene) => {
    await scene.putJob({ isHooked: true, definition: 'mail', schedule: null }, { name: 'mail' })
    const id = await scene.create({ limits: 'declared', isHooked: false })
    await scene.store.cancel({ which: { id }, reason: null })
    assert.deepEqual(await openHooks(scene), [id])
  },
  'records stay until their hook has run': async (scene) => {
    const id = await scene.create(hooked)
    await scene.store.cancel({ which: { id }, reason: null })
    await scene.clock.advance(minute)
    const request = { endedBefore: scene.now, keyRetentionMs: minute, limit: 10 }
    assert.equal((await scene.store.prune(request)).pruned, 0)
    await openHooks(scene)
    await hookDone(scene, id)
    assert.equal((await scene.store.prune(request)).pruned, 1)
  },
})

async function openHooks(
  scene: Scene,
  { kinds = ['mail', 'report'] }: { kinds?: readonly string[] } = {},
): Promise<readonly string[]> {
  const answer = await scene.rescue({ gone: [], kinds, hookMs: minute })
  refs.set(scene, [...(refs.get(scene) ?? []), ...answer.openHooks])
  return answer.openHooks.map(({ id }) => id)
}

const refs = new WeakMap<Scene, readonly { readonly ref: number; readonly id: string }[]>()

async function hookDone(scene: Scene, id: string): Promise<void> {
  const found = (refs.get(scene) ?? []).find((one) => one.id === id)
  assert.ok(found, `${id} was handed out`)
  await scene.store.settle([], { hooksDone: [found.ref] })
}

/** The node that ended the work has run its hook. */
async function heardOf(scene: Scene, holding: Holding): Promise<void> {
  await scene.store.settle([], { hooksDone: [memberOf(holding).ref] })
  await scene.clock.advance(minute)
  assert.deepEqual(await openHooks(scene), [])
  await scene.beat()
}
