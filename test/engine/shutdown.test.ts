import { expect, it } from 'vitest'
import type { Context } from '../../src/model/context.ts'
import { defineJob } from '../../src/model/definition.ts'
import { newCluster, occurrence } from '../support/cluster.ts'
import { onEachStore } from '../support/each-store.ts'
import { untilAborted } from '../support/until-aborted.ts'

onEachStore('JB-19 graceful shutdown', (newDatabase) => {
  it('signals handlers, and releases what stops at the signal without burning an attempt', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const codes: string[] = []
    const attempts: number[] = []
    const job = defineJob('long', { retry: { max: 0 } })
      .task('first', () => 1)
      .task('second', (ctx) => {
        attempts.push(ctx.attempt)
        return attempts.length === 1 ? untilAborted(ctx, codes) : 'done'
      })
    const first = await node({ jobs: [job] })
    const { id } = await first.punctual.enqueue(job, undefined)
    await first.probe.next('task.started', ({ task }) => task === 'second')
    await first.punctual.stop()
    expect(codes).toEqual(['shutdown'])
    await first.probe.next('occurrence.released')
    expect(await occurrence(first.punctual, id)).toMatchObject({ state: 'pending', turns: [{ end: 'released' }] })
    const second = await node({ jobs: [job] })
    await second.probe.next('occurrence.completed')
    const done = await occurrence(second.punctual, id)
    expect(done.result).toBe('done')
    expect(done.tasks[0]?.attempts).toHaveLength(1)
  })

  it('a handler that finishes within the grace period counts as finished', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const work = Promise.withResolvers<string>()
    const job = defineJob('long').task('only', () => work.promise)
    const { punctual, probe } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    await probe.next('task.started')
    const stopped = punctual.stop()
    await clock.advance('29s')
    work.resolve('done')
    await stopped
    expect(await occurrence(punctual, id)).toMatchObject({ state: 'completed', result: 'done' })
    expect(punctual.health).toEqual({ state: 'stopped', reasons: [] })
  })

  it('F28 beats go on while it drains, so that nobody takes over', async () => {
    const { node, pass } = newCluster({ connect: newDatabase() })
    const work = Promise.withResolvers<void>()
    let runs = 0
    const job = defineJob('long').task('only', () => {
      runs++
      return work.promise
    })
    const first = await node({ jobs: [job], grace: '90s' })
    const second = await node({ jobs: [job], name: 'second' })
    await first.punctual.enqueue(job, undefined)
    await Promise.race([first.probe.next('task.started'), second.probe.next('task.started')])
    const [owner, other] = first.punctual.depth.running === 1 ? [first, second] : [second, first]
    const stopped = owner.punctual.stop({ grace: '90s' })
    await pass(60)
    expect(other.probe.seen('node.gone')).toEqual([])
    expect(runs).toBe(1)
    work.resolve()
    await stopped
    expect(await other.punctual.counts({ job })).toMatchObject({ completed: 1 })
  })

  it('what is left after the grace period is left to rescue at once, and its late writes are refused', async () => {
    const { node, client, clock } = newCluster({ connect: newDatabase() })
    const work = Promise.withResolvers<string>()
    const job = defineJob('stuck').task('only', ({ attempt }) => (attempt === 1 ? work.promise : 'second'))
    const first = await node({ jobs: [job] })
    const { id } = await first.punctual.enqueue(job, undefined)
    await first.probe.next('task.started')
    const stopped = first.punctual.stop()
    await clock.advance('30s')
    await stopped
    await first.probe.next('occurrence.lost')
    expect(await occurrence(first.punctual, id)).toMatchObject({ state: 'retrying', turns: [{ end: 'lost' }] })
    expect(await first.punctual.nodes()).toEqual([])
    const writes = first.store.calls('settle')
    await first.punctual.close()
    work.resolve('first')
    const second = client({ jobs: [job] })
    await second.punctual.start()
    await clock.advance('3s')
    const { result, turns } = await occurrence(second.punctual, id)
    expect(result).toBe('second')
    expect(turns.map((turn) => turn.end)).toEqual(['lost', 'completed'])
    expect(first.store.calls('settle')).toBe(writes)
  })

  it.each(['handler', 'onStart', 'onComplete'])('nothing keeps the process alive after the grace period: %s', async (where) => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const never = new Promise(() => {})
    const stuck = Promise.withResolvers<void>()
    const hang = (here: string) => () => {
      if (where !== here) return undefined
      stuck.resolve()
      return never
    }
    const job = defineJob('stuck', { onStart: hang('onStart'), onComplete: hang('onComplete') }).task('only', hang('handler'))
    const { punctual, log } = await node({ jobs: [job] })
    await punctual.enqueue(job, undefined)
    await stuck.promise
    const closed = punctual.close()
    await clock.advance('31s')
    await closed
    const lines = log.length
    expect(clock.pending).toBe(0)
    await clock.advance('1h')
    expect(log).toHaveLength(lines)
  })

  it('during a retry of a task that holds others back gives it back, and the next node runs it', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const job = defineJob('shaky', { mode: 'parallel', onFailure: 'hold', retry: { max: 5, interval: '1s', factor: 1 } })
      .task('one', (ctx) => attempt(ctx))
      .task('two', (ctx) => attempt(ctx))
    const attempt = (ctx: Context) => {
      if (ctx.attempt === 1) throw new Error('no luck')
      return ctx.attempt === 2 ? untilAborted(ctx) : 'done'
    }
    const first = await node({ jobs: [job] })
    const { id } = await first.punctual.enqueue('shaky', undefined)
    await clock.advance('2s')
    await first.punctual.stop()
    expect((await occurrence(first.punctual, id)).state).toBe('pending')
    const second = await node({ jobs: [job] })
    await second.probe.next('occurrence.completed')
    const { turns } = await occurrence(second.punctual, id)
    expect(turns.map((turn) => turn.end)).toEqual(['parked', 'released', 'completed'])
  })

  it('gives back at once what it had claimed and not started', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const job = defineJob('queue').task('only', (ctx) => untilAborted(ctx))
    const { punctual, probe } = await node({ jobs: [job], concurrency: 1 })
    await punctual.enqueueMany([{ job }, { job }, { job }])
    await probe.next('task.started')
    await clock.advance('500ms')
    expect(punctual.depth.queued).toBeGreaterThan(0)
    await punctual.stop()
    expect(await punctual.counts({ job })).toMatchObject({ pending: 3, running: 0 })
    expect(await punctual.nodes()).toEqual([])
  })

  it('a task that was waiting for its retry keeps its wait', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const job = defineJob('pair', { mode: 'parallel', retry: { max: 1, interval: '1h' } })
      .task('steady', (ctx) => untilAborted(ctx))
      .task('shaky', { onFailure: 'hold' }, () => {
        throw new Error('no luck')
      })
    const { punctual, probe } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    await probe.next('task.failed')
    await clock.settle()
    await punctual.stop()
    const { state, dueAt } = await occurrence(punctual, id)
    expect(state).toBe('retrying')
    expect(dueAt.getTime() - clock.wall()).toBe(3_600_000)
  })

  it('claims nothing more, and a second stop or close waits for the first', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const work = Promise.withResolvers<string>()
    const job = defineJob('long').task('only', ({ payload }) => (payload === 'slow' ? work.promise : 'quick'))
    const { punctual, probe } = await node({ jobs: [job] })
    const slow = await punctual.enqueue(job, 'slow')
    await probe.next('task.started')
    const order: string[] = []
    const stopped = punctual.stop().then(() => order.push('stopped'))
    const closed = punctual.close().then(() => order.push('closed'))
    await clock.advance('10s')
    expect(order).toEqual([])
    work.resolve('done')
    await Promise.all([stopped, closed])
    expect(order).toEqual(['stopped', 'closed'])
    const reader = await node({ jobs: [] })
    expect((await occurrence(reader.punctual, slow.id)).state).toBe('completed')
  })

  it('works while the store is away, and leaves nothing running', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const job = defineJob('long').task('only', () => 1)
    const { punctual, store } = await node({ jobs: [job] })
    store.cut()
    await clock.advance('3s')
    const stopped = punctual.stop({ grace: '5s' })
    await clock.advance('10s')
    await stopped
    const calls = store.calls('beat')
    await clock.advance('1m')
    expect(store.calls('beat')).toBe(calls)
    expect(clock.nextTimerMs).toBeNull()
  })

  it('gives up writing what it could not write while the store was away, and rescue does the rest', async () => {
    const { node, clock, pass } = newCluster({ connect: newDatabase() })
    const job = defineJob('quick').task('only', ({ attempt }) => {
      if (attempt === 1) store.cut()
      return attempt
    })
    const { punctual, probe, store } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    await probe.next('task.succeeded')
    const stopped = punctual.stop({ grace: '2s' })
    await clock.advance('10s')
    await stopped
    const calls = store.calls('settle')
    await clock.advance('1m')
    expect(store.calls('settle')).toBe(calls)
    const second = await node({ jobs: [job] })
    await pass(20)
    expect(await occurrence(second.punctual, id)).toMatchObject({ state: 'completed', result: 2 })
  })

  it('during a start that waits for the store leaves no loop behind', async () => {
    const { client, clock } = newCluster({ connect: newDatabase() })
    const { punctual, store } = client({ jobs: [defineJob('quick').task('only', () => 1)] })
    const letThrough = store.hold('open')
    const started = punctual.start()
    const stopped = punctual.stop()
    letThrough()
    await Promise.all([started, stopped])
    await clock.settle()
    const calls = store.calls('beat')
    await clock.advance('1m')
    expect(store.calls('beat')).toBe(calls)
    expect(punctual.health.state).toBe('stopped')
  })

  it('can be followed by another start', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const job = defineJob('quick').task('only', () => 1)
    const { punctual, probe } = await node({ jobs: [job] })
    await punctual.stop()
    await punctual.enqueue(job, undefined)
    await punctual.start()
    await probe.next('occurrence.completed')
  })
})
