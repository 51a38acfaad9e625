import { expect, it } from 'vitest'
import type { Hint, Store } from '../../../src/store/store.ts'
import type { Scene } from '../../../src/testing/store-suite/scene.ts'
import { sqliteScene } from '../../support/sqlite-scene.ts'

it('hears that another process made work that is due earlier', async () => {
  const { scene, hear } = await listening()
  const at = scene.now + 5000
  expect(await hear((other) => other.create([scene.row({ due: at })]))).toContainEqual({ kind: 'due', at })
})

it('hears of a due instant behind the backlog of a kind that nobody runs', async () => {
  const { scene, hear } = await listening()
  await scene.create({ job: 'orphan' })
  const at = scene.now + 5000
  expect(await hear((other) => other.create([scene.row({ due: at })]))).toContainEqual({ kind: 'due', at })
})

it('hears that another process cancels what runs here', async () => {
  const { scene, hear } = await listening()
  const { id } = await scene.running()
  expect(await hear((other) => other.cancel({ which: { id }, reason: null }))).toContainEqual({ kind: 'cancel', node: 'node-1' })
})

it('hears that another process changed a job', async () => {
  const { scene, hear } = await listening()
  const put = {
    tenant: 'default',
    name: 'report',
    spec: scene.spec(),
    declared: null,
    override: null,
    effectiveAt: null,
    by: null,
  }
  expect(await hear((other) => other.putJob(put))).toContainEqual({ kind: 'job' })
})

it('hears that another process paused or resumed something', async () => {
  const { hear } = await listening()
  const all = { tenant: null, job: null }
  const open = { until: null, reason: null, by: null }
  expect(await hear((other) => other.pause({ ...all, open }))).toContainEqual({ kind: 'job' })
  expect(await hear((other) => other.pause({ ...all, open: null }))).toContainEqual({ kind: 'job' })
})

it('hears nothing where another process only reads', async () => {
  const { hear } = await listening()
  expect(await hear((other) => other.list({ limit: 10 }))).toEqual([])
})

it('sets no timer while nobody listens', async () => {
  const scene = await sqliteScene()
  const stop = scene.store.hints.subscribe(() => {})
  expect(scene.clock.pending).toBe(1)
  stop()
  expect(scene.clock.pending).toBe(0)
})

async function listening(): Promise<{ scene: Scene; hear: (act: (other: Store) => Promise<unknown>) => Promise<Hint[]> }> {
  const scene = await sqliteScene()
  const other = await scene.another()
  const hear = async (act: (store: Store) => Promise<unknown>) => {
    const hints: Hint[] = []
    const stop = scene.store.hints.subscribe((hint) => hints.push(hint))
    await act(other)
    await scene.clock.advance(200)
    stop()
    return hints
  }
  return { scene, hear }
}
