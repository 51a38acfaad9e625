import { expect, it } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import { interval } from '../../src/schedule/interval.ts'
import { type Node, newCluster, occurrence, taskStates } from '../support/cluster.ts'
import { onEachStore } from '../support/each-store.ts'

onEachStore('TM-12 after a crash', (newDatabase) => {
  it('finished tasks are not repeated, the cut attempt is recorded as lost, and the task runs again within 20 s', async () => {
    const { node, clock, pass } = newCluster({ connect: newDatabase() })
    const ran: string[] = []
    const job = defineJob('steps', { retry: { max: 0 } })
      .task('one', () => void ran.push('one'))
      .task('two', ({ attempt }) => {
        ran.push(`two ${attempt}`)
        return attempt === 1 ? new Promise(() => {}) : 'done'
      })
      .task('three', ({ results }) => void ran.push(`three ${results.two}`))
    const first = await node({ jobs: [job] })
    const second = await node({ jobs: [], name: 'second' })
    const { id } = await first.punctual.enqueue(job, undefined)
    await first.probe.next('task.started', ({ task }) => task === 'two')
    await clock.advance('4900ms')
    first.store.freeze()
    const crashedAt = clock.wall()
    second.punctual.define(job)
    await pass(20)
    await second.probe.next('occurrence.completed')
    expect(ran).toEqual(['one', 'two 1', 'two 2', 'three done'])
    const done = await occurrence(second.punctual, id)
    expect(taskStates(done)).toEqual({
      one: 'succeeded succeeded',
      two: 'succeeded lost succeeded',
      three: 'succeeded succeeded',
    })
    expect(done.turns.map((turn) => turn.end)).toEqual(['lost', 'completed'])
    const again = done.tasks[1]?.attempts[1]?.startedAt as Date
    expect(again.getTime() - crashedAt).toBeLessThanOrEqual(20_000)
    expect(done.tasks[1]?.attempts[0]).toMatchObject({ n: 1, state: 'lost' })
  })

  it('F19 a loss is not counted against the retries', async () => {
    const { node, pass } = newCluster({ connect: newDatabase() })
    const job = defineJob('shaky', { retry: { max: 1, interval: '1s' } }).task('only', ({ attempt, fail }) => {
      if (attempt === 1) return new Promise(() => {})
      if (attempt === 2) fail('once')
      return 'done'
    })
    const first = await node({ jobs: [job] })
    const { id } = await first.punctual.enqueue(job, undefined)
    await first.probe.next('task.started')
    first.store.freeze()
    const second = await node({ jobs: [job] })
    await pass(25)
    await second.probe.next('occurrence.completed')
    expect(taskStates(await occurrence(second.punctual, id))).toEqual({ only: 'succeeded lost failed succeeded' })
  })

  it('F21 what takes its node down three times is dead, and its neighbours complete', async () => {
    const { node, client, pass } = newCluster({ connect: newDatabase() })
    const nodes: Node[] = []
    let kills = 0
    const job = defineJob('mixed').task('only', async ({ payload }) => {
      if (payload !== 'poison') return new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
      kills++
      nodes.at(-1)?.store.freeze()
      return new Promise(() => {})
    })
    const enqueuer = await node({ jobs: [], name: 'keeper' })
    const ids = (await enqueuer.punctual.enqueueMany(['a', 'poison', 'b', 'c'].map((payload) => ({ job, payload })))).map(
      ({ id }) => id,
    )
    for (let life = 0; life < 6; life++) {
      const one = client({ jobs: [job] })
      nodes.push(one)
      void one.punctual.start()
      await pass(25)
    }
    const states = await Promise.all(ids.map(async (id) => (await occurrence(enqueuer.punctual, id)).state))
    expect(states).toEqual(['completed', 'dead', 'completed', 'completed'])
    expect(kills).toBe(3)
    const poison = await occurrence(enqueuer.punctual, ids[1] as string)
    expect(poison.error).toMatchObject({ code: 'occurrence.lost' })
    expect(poison.tasks[0]?.attempts.map(({ state }) => state)).toEqual(['lost', 'lost', 'lost'])
  })

  it('F23 survivors take over, F25 and one without the handler only gives it back', async () => {
    const { node, pass } = newCluster({ connect: newDatabase() })
    const job = defineJob('special').task('only', ({ attempt }) => (attempt === 1 ? new Promise(() => {}) : 'done'))
    const first = await node({ jobs: [job] })
    const without = await node({ jobs: [defineJob('other').task('only', () => 1)] })
    const { id } = await first.punctual.enqueue(job, undefined)
    await first.probe.next('task.started')
    first.store.freeze()
    await pass(60)
    expect(await occurrence(without.punctual, id)).toMatchObject({ state: 'retrying', turns: [{ end: 'lost' }] })
    const capable = await node({ jobs: [job] })
    await capable.probe.next('occurrence.completed')
  })

  it('F12 a long handler whose node beats is never taken over', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const work = Promise.withResolvers<string>()
    let runs = 0
    const job = defineJob('long', { timeout: '8h', executionTimeout: '8h' }).task('only', () => {
      runs++
      return work.promise
    })
    const first = await node({ jobs: [job] })
    const second = await node({ jobs: [job], name: 'second' })
    const { id } = await first.punctual.enqueue(job, undefined)
    await clock.advance('5m')
    work.resolve('done')
    await Promise.race([first.probe.next('occurrence.completed'), second.probe.next('occurrence.completed')])
    expect(runs).toBe(1)
    expect((await occurrence(first.punctual, id)).turns).toHaveLength(1)
  })

  it('JB-10 a turn that overran its deadline on a living node is ended as stale, and counts as a failed attempt', async () => {
    const { node, pass } = newCluster({ connect: newDatabase() })
    const job = defineJob('hang', { executionTimeout: '20s', retry: { max: 1, interval: '1s' } }).task('only', ({ attempt }) =>
      attempt === 1 ? new Promise(() => {}) : 'done',
    )
    const first = await node({ jobs: [job] })
    const { id } = await first.punctual.enqueue(job, undefined)
    await first.probe.next('task.started')
    // The node beats on, and what it wants to settle never arrives.
    first.store.hold('settle')
    first.store.hold('claim')
    await pass(32)
    const second = await node({ jobs: [job], name: 'second' })
    await pass(5)
    const kept = await occurrence(second.punctual, id)
    expect(kept.turns.map((turn) => turn.end)).toEqual(['stale', 'completed'])
    expect(taskStates(kept)).toEqual({ only: 'succeeded stale succeeded' })
  })

  it('F36, F38 a schedule goes on when the node that planned it is gone', async () => {
    const { node, pass } = newCluster({ connect: newDatabase() })
    const seen: number[] = []
    const job = defineJob('tick', { schedule: interval('PT10S') }).task(
      'only',
      ({ scheduledAt }) => void seen.push(scheduledAt.getTime()),
    )
    const first = await node({ jobs: [job] })
    await pass(25)
    first.store.freeze()
    await node({ jobs: [job] })
    await pass(60)
    const steps = seen.map((at) => (at - (seen[0] as number)) / 10_000)
    expect(steps).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
  })
})
