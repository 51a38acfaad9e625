import { expect, it } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import { newCluster, occurrence } from '../support/cluster.ts'
import { onEachStore } from '../support/each-store.ts'

onEachStore('F14, F15 the store commits and its answer is lost', (newDatabase) => {
  it('of a claim: it is asked for again under the same id, and its members run once', async () => {
    const { node, client, clock } = newCluster({ connect: newDatabase() })
    let runs = 0
    const job = defineJob('work').task('only', () => ++runs)
    const { punctual, probe, store } = await node({ jobs: [job] })
    store.loseAnswer('claim')
    const { id } = await client().punctual.enqueue(job, undefined)
    // A hint wakes the node, which may take a moment on a real server.
    await expect.poll(async () => (await occurrence(punctual, id)).state, { timeout: 60_000 }).toBe('running')
    await clock.settle()
    expect(runs).toBe(0)
    await clock.advance('1s')
    await probe.next('occurrence.completed')
    expect(runs).toBe(1)
    expect((await occurrence(punctual, id)).turns).toHaveLength(1)
  })

  it('of a claim, and the node stops before it can ask again: its last beat gives the members back', async () => {
    const { node, client, clock } = newCluster({ connect: newDatabase() })
    const job = defineJob('work').task('only', () => 1)
    const { punctual, store } = await node({ jobs: [job] })
    store.loseAnswer('claim')
    const { id } = await client().punctual.enqueue(job, undefined)
    await expect.poll(async () => (await occurrence(punctual, id)).state, { timeout: 60_000 }).toBe('running')
    await clock.settle()
    await punctual.stop()
    expect((await occurrence(punctual, id)).state).toBe('pending')
    expect(await punctual.nodes()).toEqual([])
  })

  it('of a claim, and the node fences itself: the members are given back by rescue', async () => {
    const { node, client, clock, pass } = newCluster({ connect: newDatabase() })
    const job = defineJob('work').task('only', () => 1)
    const { punctual, store } = await node({ jobs: [job] })
    store.loseAnswer('claim')
    const { id } = await client().punctual.enqueue(job, undefined)
    await clock.settle()
    store.cut()
    await pass(30)
    store.heal()
    await pass(5)
    expect((await occurrence(punctual, id)).state).toBe('completed')
  })

  it('of a creation that carries a claim: its members run once, though the caller hears of a failure', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    let runs = 0
    const job = defineJob('work').task('only', () => ++runs)
    const { punctual, store } = await node({ jobs: [job] })
    store.loseAnswer('create')
    await expect(punctual.enqueue(job, undefined)).rejects.toMatchObject({ code: 'store.unreachable' })
    await clock.advance('10s')
    expect([runs, await punctual.counts({ job })]).toMatchObject([1, { completed: 1, running: 0 }])
  })

  it('of a settlement that carries a claim: the members run once', async () => {
    const { node, client, clock } = newCluster({ connect: newDatabase() })
    let runs = 0
    const job = defineJob('work').task('only', () => ++runs)
    await client().punctual.enqueueMany(Array.from({ length: 20 }, () => ({ job })))
    const { punctual, store } = await node({ jobs: [job], concurrency: 1 })
    store.loseAnswer('settle', 3)
    await clock.advance('10s')
    await punctual.idle()
    expect([runs, await punctual.counts({ job })]).toMatchObject([20, { completed: 20, running: 0 }])
  })

  it('of a settlement, again and again until the node fences itself: the claim that it carried is given back', async () => {
    const { client, clock, pass } = newCluster({ connect: newDatabase() })
    const runs: unknown[] = []
    const job = defineJob('work').task('only', ({ payload }) => void runs.push(payload))
    await client().punctual.enqueueMany([1, 2, 3].map((payload) => ({ job, payload })))
    const { punctual, probe, store } = client({ jobs: [job], concurrency: 1 })
    store.loseAnswer('settle', 1000)
    await punctual.start()
    await probe.next('task.succeeded')
    await clock.settle()
    store.cut()
    await pass(30)
    store.loseAnswer('settle', 0)
    store.heal()
    await pass(10)
    expect(await punctual.counts({ job })).toMatchObject({ completed: 3, running: 0 })
    expect(runs.toSorted()).toEqual([1, 2, 3])
  })

  it('of a settlement that carries a claim comes late: beats meanwhile do not give the members back', async () => {
    const { client, clock } = newCluster({ connect: newDatabase() })
    const runs: unknown[] = []
    const job = defineJob('work').task('only', ({ payload }) => void runs.push(payload))
    await client().punctual.enqueueMany([1, 2].map((payload) => ({ job, payload })))
    const { punctual, store } = client({ jobs: [job], concurrency: 1 })
    const answer = store.holdAnswer('settle')
    await punctual.start()
    await clock.advance('12s')
    expect(runs).toEqual([1])
    answer()
    await punctual.idle()
    expect(runs).toEqual([1, 2])
  })

  it('of a settlement: it is said again, and the occurrence ends once', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    let runs = 0
    const job = defineJob('work').task('only', () => ++runs)
    const { punctual, probe, store } = await node({ jobs: [job] })
    store.loseAnswer('settle', 3)
    const answers = await punctual.enqueueMany([{ job }, { job }])
    await probe.next('task.succeeded')
    await clock.advance('5s')
    await probe.next('occurrence.completed')
    await probe.next('occurrence.completed')
    expect(runs).toBe(2)
    for (const { id } of answers) expect((await occurrence(punctual, id)).turns).toHaveLength(1)
    expect(probe.seen('occurrence.lost')).toEqual([])
  })

  it('of a parking: the retry comes once', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    let runs = 0
    const job = defineJob('work', { retry: { max: 5, interval: '1s' } }).task('only', ({ fail }) =>
      ++runs === 1 ? fail('again') : 'done',
    )
    const { punctual, probe, store } = await node({ jobs: [job] })
    store.loseAnswer('settle')
    const { id } = await punctual.enqueue(job, undefined)
    await probe.next('task.failed')
    await clock.advance('10s')
    await probe.next('occurrence.completed')
    expect(runs).toBe(2)
    expect((await occurrence(punctual, id)).turns.map((turn) => turn.end)).toEqual(['parked', 'completed'])
  })

  it('of a checkpoint: the task is not repeated', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const runs: string[] = []
    const job = defineJob('steps')
      .task('one', () => void runs.push('one'))
      .task('two', () => void runs.push('two'))
    const { punctual, probe, store } = await node({ jobs: [job] })
    store.loseAnswer('checkpoint')
    await punctual.enqueue(job, undefined)
    await probe.next('task.succeeded')
    await clock.advance('1s')
    await probe.next('occurrence.completed')
    expect(runs).toEqual(['one', 'two'])
  })

  it('F31 of a creation under a key: saying it again finds what is there, and it runs once', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    let runs = 0
    const job = defineJob('work').task('only', () => ++runs)
    const { punctual, store } = await node({ jobs: [job] })
    store.loseAnswer('create')
    await expect(punctual.enqueue(job, 1, { idempotencyKey: 'k' })).rejects.toMatchObject({ code: 'store.unreachable' })
    expect(await punctual.enqueue(job, 1, { idempotencyKey: 'k' })).toMatchObject({ outcome: 'existing', payloadDiffers: false })
    expect(await punctual.enqueue(job, 2, { idempotencyKey: 'k' })).toMatchObject({ outcome: 'existing', payloadDiffers: true })
    await punctual.idle()
    expect(runs).toBe(1)
  })

  it('of a cancel: saying it again says canceled', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const job = defineJob('work').task('only', () => 1)
    const { punctual, store } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, 1, { delay: '1h' })
    store.loseAnswer('cancel')
    await expect(punctual.cancel(id)).rejects.toMatchObject({ code: 'store.unreachable' })
    expect(await punctual.cancel(id)).toBe('canceled')
  })

  it('of a beat, again and again: the node goes on', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const job = defineJob('work').task('only', () => 1)
    const { punctual, probe, store } = await node({ jobs: [job] })
    store.loseAnswer('beat', 2)
    await clock.advance('5s')
    expect(punctual.health.state).toBe('degraded')
    await clock.advance('1s')
    await punctual.enqueue(job, undefined)
    await probe.next('occurrence.completed')
    expect(probe.seen('node.fenced')).toEqual([])
    expect(punctual.health.state).toBe('ok')
  })
})
