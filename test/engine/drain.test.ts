import { expect, it } from 'vitest'
import { interval } from '../../src/index.ts'
import { defineJob } from '../../src/model/definition.ts'
import { newCluster, occurrence } from '../support/cluster.ts'
import { onEachStore } from '../support/each-store.ts'

onEachStore('draining a node', (newDatabase) => {
  it('finishes what runs without a signal, and takes nothing new', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const work = Promise.withResolvers<string>()
    const signals: boolean[] = []
    const long = defineJob('long').task('only', async (ctx) => {
      const done = await work.promise
      signals.push(ctx.signal.aborted)
      return done
    })
    const quick = defineJob('quick').task('only', () => 'quick')
    const first = await node({ jobs: [long, quick], name: 'first', concurrency: 1 })
    const { id } = await first.punctual.enqueue(long, undefined)
    await first.probe.next('task.started')

    const drained = await first.punctual.drainNode('first', { by: 'ada' })
    expect(drained).toMatchObject([{ name: 'first', isDraining: true }])
    await clock.advance('5s')
    await first.probe.next('node.draining')
    const later = await first.punctual.enqueue(quick, undefined)
    await clock.advance('1m')
    expect(await occurrence(first.punctual, id)).toMatchObject({ state: 'running' })
    expect(await occurrence(first.punctual, later.id)).toMatchObject({ state: 'pending' })

    work.resolve('whole')
    await first.punctual.idle()
    expect(await occurrence(first.punctual, id)).toMatchObject({ state: 'completed', result: 'whole' })
    expect(signals).toEqual([false])
    expect(await first.punctual.runDue()).toMatchObject({ claimed: 0 })
    expect(await first.punctual.nodes()).toMatchObject([{ name: 'first', isDraining: true, running: 0 }])
    expect((await first.punctual.explain(later.id)).reasons).toMatchObject([{ code: 'no-node' }])

    const second = await node({ jobs: [long, quick], name: 'second' })
    await second.probe.next('occurrence.completed')
    expect(await occurrence(second.punctual, later.id)).toMatchObject({ turns: [{ end: 'completed' }] })
    await expect(second.punctual.drainNode('third')).rejects.toMatchObject({ code: 'node.unknown' })
  })

  it('plans nothing, and works again after stop and start', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const tick = defineJob('tick').task('only', () => 1)
    const { punctual, probe } = await node({ jobs: [tick], name: 'only' })
    await punctual.drainNode('only')
    await clock.advance('5s')
    await probe.next('node.draining')
    await punctual.schedule(tick, interval('PT1M'))
    await clock.advance('10m')
    expect((await punctual.list({ job: 'tick' })).items).toEqual([])
    await punctual.stop()
    await punctual.start()
    expect(await punctual.nodes()).toMatchObject([{ isDraining: false }])
    await clock.advance('2m')
    await probe.next('occurrence.completed')
  })
})
