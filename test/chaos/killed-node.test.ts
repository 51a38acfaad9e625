// Takeover from a killed node by the clock: the bounds that the guide promises.
import { expect, it } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import { newCluster, occurrence } from '../support/cluster.ts'
import { onEachStore } from '../support/each-store.ts'

/** Times of one's own, as docs/guides/postgres.md gives them. */
const tuned = { node: { heartbeat: '300ms', timeout: '1200ms', checkInterval: '200ms' }, retry: { interval: '500ms' } } as const

onEachStore('F11, F23 a killed node', (newDatabase) => {
  it.each([
    { bound: '20 s by default', options: {}, withinMs: 20_000, afterBeatMs: 1, stepMs: 500 },
    { bound: '20 s by default', options: {}, withinMs: 20_000, afterBeatMs: 4800, stepMs: 500 },
    { bound: '3 s when tuned', options: tuned, withinMs: 3000, afterBeatMs: 1, stepMs: 50 },
    { bound: '3 s when tuned', options: tuned, withinMs: 3000, afterBeatMs: 290, stepMs: 50 },
  ])('its work runs elsewhere within $bound, killed $afterBeatMs ms after a beat', async (scene) => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const starts: number[] = []
    const job = defineJob('work').task('only', ({ attempt }) => {
      starts.push(clock.mono())
      return attempt === 1 ? new Promise(() => {}) : 'done'
    })
    const first = await node({ jobs: [job], ...scene.options })
    await clock.advance(170)
    const second = await node({ ...scene.options, name: 'second' })
    const { id } = await first.punctual.enqueue(job, undefined)
    await first.probe.next('task.started')
    for (const beats = first.store.calls('beat'); first.store.calls('beat') === beats; ) await clock.advance(10)
    await clock.advance(scene.afterBeatMs)
    first.store.freeze()
    const killedAt = clock.mono()
    second.punctual.define(job)
    while (clock.mono() < killedAt + scene.withinMs) await clock.advance(scene.stepMs)
    expect(starts).toHaveLength(2)
    expect((starts[1] as number) - killedAt).toBeLessThanOrEqual(scene.withinMs)
    expect((await occurrence(second.punctual, id)).turns.map(({ end }) => end)).toEqual(['lost', 'completed'])
  })

  it('F26 what it held is told of in one event, however many calls the takeover took', async () => {
    const { node, clock, pass } = newCluster({ connect: newDatabase() })
    const job = defineJob('many').task('only', () => new Promise(() => {}))
    const first = await node({ jobs: [job], concurrency: 1500 })
    const second = await node({ name: 'second' })
    await first.punctual.enqueueMany(Array.from({ length: 1500 }, () => ({ job })))
    await clock.advance('2s')
    expect(first.punctual.depth.running).toBe(1500)
    first.store.freeze()
    await pass(20)
    expect(second.probe.seen('node.gone')).toMatchObject([{ rescued: 1500, dead: 0 }])
  })
})
