import assert from 'node:assert/strict'
import type { Hint } from '../../store/store.ts'
import { minute, type Scene } from './scene.ts'
import { topic } from './topic.ts'

export const hintCases = topic('hints', {
  'a create tells when the earliest of its rows is due': async (scene) => {
    const hints = await hintsOf(scene, () =>
      scene.createAll([scene.row({ due: scene.now + 50 }), scene.row({ due: scene.now + 20 })]),
    )
    assert.ok(hints.some((hint) => hint.kind === 'due' && hint.at <= scene.now + 20))
  },
  'a reschedule to earlier is told': async (scene) => {
    await scene.create({ key: 'k', due: { in: minute } })
    const hints = await hintsOf(scene, () => scene.createOne({ key: 'k', due: { in: 10 }, onConflict: 'reschedule' }))
    assert.ok(hints.some((hint) => hint.kind === 'due' && hint.at <= scene.now + 10))
  },
  'a plan tells that work is coming': async (scene) => {
    await scene.putJob()
    const hints = await hintsOf(scene, () => scene.plan([scene.now + 1000]))
    assert.ok(hints.some((hint) => hint.kind === 'due' && hint.at <= scene.now + 1000))
  },
  'a parked turn tells when it is due again': async (scene) => {
    const holding = await scene.running()
    const hints = await hintsOf(scene, () => scene.settle(holding, 'parked', { delayMs: 10 }))
    assert.ok(hints.some((hint) => hint.kind === 'due' && hint.at <= scene.now + 10))
  },
  'a cancel of running work is told, so that its node need not wait for its beat': async (scene) => {
    const holding = await scene.running()
    const hints = await hintsOf(scene, () => scene.store.cancel({ which: { id: holding.id }, reason: null }))
    assert.ok(hints.some((hint) => hint.kind === 'cancel'))
  },
  'a job that is created or changed is told': async (scene) => {
    assert.ok((await hintsOf(scene, () => scene.putJob())).some((hint) => hint.kind === 'job'))
    assert.ok((await hintsOf(scene, () => scene.putJob({ payload: '1' }))).some((hint) => hint.kind === 'job'))
  },
  'a move is told': async (scene) => {
    const id = await scene.create({ due: { in: minute } })
    const hints = await hintsOf(scene, () => scene.store.move({ which: { id }, to: { due: { in: 0 } } }))
    assert.ok(hints.some((hint) => hint.kind === 'due' && hint.at <= scene.now))
  },
  'a wake tells that something may be due': async (scene) => {
    const hints = await hintsOf(scene, () => scene.store.hints.wake())
    assert.ok(hints.some((hint) => hint.kind === 'due' && hint.at <= scene.now))
  },
  'who has unsubscribed is told no more': async (scene) => {
    const hints: Hint[] = []
    const stop = scene.store.hints.subscribe((hint) => hints.push(hint))
    stop()
    stop()
    await scene.create()
    await scene.clock.settle()
    assert.deepEqual(hints, [])
  },
})

async function hintsOf(scene: Scene, act: () => Promise<unknown>): Promise<readonly Hint[]> {
  const hints: Hint[] = []
  const stop = scene.store.hints.subscribe((hint) => hints.push(hint))
  await act()
  await scene.clock.settle()
  stop()
  return hints
}
