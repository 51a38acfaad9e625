import { expect, it } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import type { Clock } from '../../src/time/clock.ts'
import { type Node, newCluster, occurrence } from '../support/cluster.ts'
import { onEachStore } from '../support/each-store.ts'
import { untilAborted } from '../support/until-aborted.ts'

onEachStore('F17, F20 a node that cannot beat', (newDatabase) => {
  it('aborts its handlers with the reason lost before others may take over, and comes back under a new boot id', async () => {
    const { node, clock, pass } = newCluster({ connect: newDatabase() })
    const codes: [string, number][] = []
    const job = defineJob('long').task('only', async (ctx) => {
      if (ctx.attempt === 1) await untilAborted(ctx).catch(() => codes.push([ctx.signal.reason.code, clock.mono()]))
      return `try ${ctx.attempt}`
    })
    const first = await node({ jobs: [job] })
    const { id } = await first.punctual.enqueue(job, undefined)
    await first.probe.next('task.started')
    const [before] = await first.punctual.nodes()
    first.store.cut()
    const cutAt = clock.mono()
    const second = await node({ jobs: [job] })
    await pass(12)
    expect(codes).toEqual([['lost', cutAt + 12_000]])
    await first.probe.next('occurrence.lost')
    expect(await first.probe.next('node.fenced')).toMatchObject({ node: before?.boot })
    expect(second.probe.seen('node.gone')).toEqual([])
    await pass(8)
    await second.probe.next('occurrence.completed')
    expect(second.probe.seen('node.gone')).toMatchObject([{ node: before?.boot, rescued: 1, dead: 0 }])
    first.store.heal()
    await pass(5)
    const boots = (await first.punctual.nodes()).map((one) => one.boot)
    expect(boots).toHaveLength(2)
    expect(boots).not.toContain(before?.boot)
    expect(await occurrence(first.punctual, id)).toMatchObject({
      result: 'try 2',
      turns: [{ end: 'lost' }, { end: 'completed' }],
    })
  })

  it('also when the store never answers at all', async () => {
    const { node, pass } = newCluster({ connect: newDatabase() })
    const codes: string[] = []
    const job = defineJob('long').task('only', (ctx) => untilAborted(ctx, codes))
    const { punctual, probe, store } = await node({ jobs: [job] })
    await punctual.enqueue(job, undefined)
    await probe.next('task.started')
    store.freeze()
    await pass(12)
    expect(codes).toEqual(['lost'])
  })

  it('starts nothing that it had claimed', async () => {
    const { node, clock, pass } = newCluster({ connect: newDatabase() })
    const work = Promise.withResolvers<void>()
    const ran: unknown[] = []
    const job = defineJob('queue').task('only', ({ payload, attempt }) => {
      ran.push([payload, attempt])
      return payload === 'first' && attempt === 1 ? work.promise : undefined
    })
    const { punctual, probe, store } = await node({ jobs: [job], concurrency: 1 })
    await punctual.enqueueMany(['first', 'second'].map((payload) => ({ job, payload })))
    await probe.next('task.started')
    await clock.advance('500ms')
    expect(punctual.depth).toEqual({ running: 1, queued: 1 })
    store.cut()
    await pass(13)
    work.resolve()
    await clock.settle()
    expect(ran).toEqual([['first', 1]])
    expect(punctual.depth).toEqual({ running: 0, queued: 0 })
    store.heal()
    await pass(20)
    await punctual.idle()
    expect(ran).toContainEqual(['second', 2])
    expect(await punctual.counts({ job })).toMatchObject({ completed: 2 })
  })

  it('F02 starts nothing after its loop was blocked until a beat is acknowledged, and goes on then', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const stalling = blockable(clock)
    const work = Promise.withResolvers<void>()
    const ran: unknown[] = []
    const job = defineJob('queue').task('only', async ({ payload, attempt }) => {
      ran.push([payload, attempt])
      if (payload === 'second') return
      await work.promise
      stalling.block(13_000)
    })
    const { punctual, probe, store } = await node({ jobs: [job], concurrency: 1, clock: stalling })
    await punctual.enqueueMany(['first', 'second'].map((payload) => ({ job, payload })))
    await probe.next('task.started')
    await clock.advance('500ms')
    expect(punctual.depth).toEqual({ running: 1, queued: 1 })
    const acknowledge = store.hold('beat')
    work.resolve()
    await clock.advance('2s')
    expect(ran).toEqual([['first', 1]])
    acknowledge()
    await clock.settle()
    expect(ran).toEqual([
      ['first', 1],
      ['second', 1],
    ])
    expect(probe.seen('node.fenced')).toEqual([])
  })

  it('F01 every late write of the old owner is refused and counted, and the record is the new owner’s', async () => {
    const { node, clock, pass } = newCluster({ connect: newDatabase() })
    const late = Promise.withResolvers<void>()
    const job = defineJob('stubborn')
      .task('first', async ({ attempt, progress }) => {
        if (attempt > 1) return 'new'
        await late.promise
        progress(0.5, 'old')
        return 'old'
      })
      .task('second', () => 'end')
    const first = await node({ jobs: [job] })
    const { id } = await first.punctual.enqueue(job, undefined)
    await first.probe.next('task.started')
    // Only the beats fail: the node goes on writing, as one whose process was paused would.
    first.store.freeze()
    const second = await node({ jobs: [job] })
    await pass(20)
    await second.probe.next('occurrence.completed')
    first.store.heal()
    late.resolve()
    await clock.settle()
    await pass(3)
    expect(first.probe.seen('occurrence.lost')).toHaveLength(1)
    expect(first.probe.seen('occurrence.completed')).toEqual([])
    const kept = await occurrence(second.punctual, id)
    expect(kept.tasks.map((task) => task.result)).toEqual(['new', 'end'])
    expect(kept.progress).toBeNull()
  })

  it('F01 a settlement that comes after the rescue is refused and counted', async () => {
    const { node, pass } = newCluster({ connect: newDatabase() })
    const job = defineJob('slow').task('only', ({ attempt }) => `try ${attempt}`)
    const first = await node({ jobs: [job] })
    const letThrough = first.store.hold('settle')
    const held = first.store.hold('beat')
    const { id } = await first.punctual.enqueue(job, undefined)
    await first.probe.next('task.succeeded')
    const second = await node({ jobs: [job] })
    await pass(20)
    await second.probe.next('occurrence.completed')
    letThrough()
    held()
    await first.probe.next('occurrence.lost')
    expect((await occurrence(second.punctual, id)).result).toBe('try 2')
  })

  it('F24 a node with the same name does not inherit anything', async () => {
    const { node, pass } = newCluster({ connect: newDatabase() })
    const job = defineJob('long').task('only', ({ attempt }) => (attempt === 1 ? new Promise(() => {}) : 'again'))
    const first = await node({ jobs: [job], name: 'same' })
    const { id } = await first.punctual.enqueue(job, undefined)
    await first.probe.next('task.started')
    first.store.freeze()
    const second = await node({ jobs: [job], name: 'same' })
    await pass(10)
    expect((await occurrence(second.punctual, id)).state).toBe('running')
    await pass(10)
    expect((await occurrence(second.punctual, id)).state).toBe('completed')
  })

  it('or whose record the store refuses: it is tried again, after three times dead, and its neighbours complete', async () => {
    const { node, pass } = newCluster({ connect: newDatabase() })
    const runs: unknown[] = []
    const job = defineJob('odd').task('only', ({ payload }) => {
      runs.push(payload)
      return payload
    })
    const { punctual, store, probe } = await node({ jobs: [job] })
    store.refuse('settle', (items: readonly { end: { result: string | null } }[]) =>
      items.some(({ end }) => end.result === '"refused"'),
    )
    const answers = await punctual.enqueueMany(['fine', 'refused', 'also fine'].map((payload) => ({ job, payload })))
    await pass(120)
    const states = await Promise.all(answers.map(async ({ id }) => (await occurrence(punctual, id)).state))
    expect(states).toEqual(['completed', 'dead', 'completed'])
    expect(runs.filter((payload) => payload === 'refused')).toHaveLength(3)
    expect(probe.seen('node.fenced')).toHaveLength(3)
    expect(punctual.depth).toEqual({ running: 0, queued: 0 })
    expect(punctual.health.state).toBe('ok')
  })

  it('or whose checkpoint the store refuses: its slot is freed, and nothing falls over', async () => {
    const { node, pass } = newCluster({ connect: newDatabase() })
    const job = defineJob('steps')
      .task('one', () => 1)
      .task('two', () => 2)
    const { punctual, store } = await node({ jobs: [job], concurrency: 1 })
    let refusals = 1
    store.refuse('checkpoint', () => refusals-- > 0)
    const { id } = await punctual.enqueue(job, undefined)
    await pass(25)
    expect(await occurrence(punctual, id)).toMatchObject({ state: 'completed', turns: [{ end: 'lost' }, { end: 'completed' }] })
  })
})

onEachStore('F02 a handler that blocks the event loop for longer than the ttl', (newDatabase) => {
  it.each([1, 2])('runs once where %i nodes share the process', async (nodes) => {
    const { node, clock, pass } = newCluster({ connect: newDatabase() })
    const stalling = blockable(clock)
    const attempts: number[] = []
    const rest = Promise.withResolvers<void>()
    const job = defineJob('crunch').task('only', async ({ attempt }) => {
      attempts.push(attempt)
      stalling.block(20_000)
      await rest.promise
      return 'done'
    })
    const all = []
    for (let n = 0; n < nodes; n++) all.push(await node({ jobs: [job], clock: stalling, name: `node-${n}` }))
    const { punctual } = all[0] as Node
    const { id } = await punctual.enqueue(job, undefined)
    await clock.settle()
    await pass(20)
    rest.resolve()
    await pass(2)
    expect(attempts).toEqual([1])
    expect(await occurrence(punctual, id)).toMatchObject({ state: 'completed', result: 'done', turns: [{ end: 'completed' }] })
    for (const { probe } of all) expect([...probe.seen('node.gone'), ...probe.seen('node.fenced')]).toEqual([])
  })
})

/** A clock that moves with another, and on by itself while the process does nothing else. */
function blockable(clock: Clock): Clock & { block(ms: number): void } {
  let blockedMs = 0
  return {
    wall: () => clock.wall() + blockedMs,
    mono: () => clock.mono() + blockedMs,
    timer: (ms, fn) => clock.timer(ms, fn),
    poll: (ms, fn) => clock.poll(ms, fn),
    soon: (fn) => clock.soon(fn),
    waitFor: (call) => clock.waitFor?.(call),
    block(ms) {
      blockedMs += ms
    },
  }
}
