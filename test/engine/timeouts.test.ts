import { expect, it } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import { newCluster, occurrence, taskStates } from '../support/cluster.ts'
import { onEachStore } from '../support/each-store.ts'
import { untilAborted } from '../support/until-aborted.ts'

const never = { max: 0 }

onEachStore('JB-9 timeouts', (newDatabase) => {
  it('of a task abort its handler with the reason timeout, and count as a failed attempt', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const codes: string[] = []
    const job = defineJob('slow', { retry: { max: 1, interval: '1s' } }).task('only', { timeout: '2m' }, (ctx) =>
      untilAborted(ctx, codes),
    )
    const { punctual, probe } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    await probe.next('task.started')
    await clock.advance('119s')
    expect(codes).toEqual([])
    await clock.advance('1s')
    expect((await probe.next('occurrence.retrying')).error).toMatchObject({ name: 'AbortError', code: 'timeout' })
    await clock.advance('3m')
    const { report } = await probe.next('occurrence.failed')
    expect(codes).toEqual(['timeout', 'timeout'])
    expect(report.tasks[0]).toMatchObject({ state: 'timeout', attempts: 2 })
    expect(taskStates(await occurrence(punctual, id))).toEqual({ only: 'timeout timeout timeout' })
  })

  it('of a task are five minutes unless told otherwise', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const codes: string[] = []
    const job = defineJob('slow', { retry: never }).task('only', (ctx) => untilAborted(ctx, codes))
    const { punctual, probe } = await node({ jobs: [job] })
    await punctual.enqueue(job, undefined)
    await probe.next('task.started')
    await clock.advance('299s')
    expect(codes).toEqual([])
    await clock.advance('1s')
    await probe.next('occurrence.failed')
  })

  it('of an execution end all its tasks, each through its own retry policy', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const codes: string[] = []
    const job = defineJob('slow', { mode: 'parallel', executionTimeout: '10s', retry: never })
      .task('a', { retry: { max: 1, interval: '1s' }, onFailure: 'continue' }, (ctx) =>
        ctx.attempt === 1 ? untilAborted(ctx, codes) : 'done',
      )
      .task('b', { onFailure: 'continue' }, (ctx) => untilAborted(ctx, codes))
    const { punctual, probe } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    await probe.next('task.started', ({ task }) => task === 'b')
    await clock.advance('10s')
    await probe.next('occurrence.retrying')
    await clock.advance('1s')
    await probe.next('occurrence.completed')
    expect(codes).toEqual(['timeout', 'timeout'])
    expect(taskStates(await occurrence(punctual, id))).toEqual({ a: 'succeeded timeout succeeded', b: 'timeout timeout' })
  })

  it('of an execution also bound its only task', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const codes: string[] = []
    const job = defineJob('slow', { executionTimeout: '10s', retry: never }).task('only', (ctx) => untilAborted(ctx, codes))
    const { punctual, probe } = await node({ jobs: [job] })
    await punctual.enqueue(job, undefined)
    await probe.next('task.started')
    await clock.advance('10s')
    expect((await probe.next('occurrence.failed')).report.tasks[0]?.state).toBe('timeout')
  })

  it('of an execution do not count the time between turns', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const job = defineJob('waits', { executionTimeout: '10s', retry: { max: 1, interval: '1h' } })
      .task('first', () => 1)
      .task('second', ({ attempt }) => {
        if (attempt === 1) throw new Error('again')
      })
    const { punctual, probe } = await node({ jobs: [job] })
    await punctual.enqueue(job, undefined)
    await probe.next('occurrence.retrying')
    await clock.advance('1h')
    await probe.next('occurrence.completed')
  })

  it('free the slot of a handler that ignores its signal, and refuse what it writes later', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const stuck = Promise.withResolvers<void>()
    const attempts: number[] = []
    const job = defineJob('stuck', { retry: { max: 1, interval: '1s' } }).task(
      'only',
      { timeout: '10s' },
      async ({ attempt, progress }) => {
        attempts.push(attempt)
        if (attempt === 2) return 'second'
        await stuck.promise
        progress(0.9, 'from the dead')
        return 'first'
      },
    )
    const { punctual, probe } = await node({ jobs: [job], concurrency: 1 })
    const { id } = await punctual.enqueue(job, undefined)
    await probe.next('task.started')
    await clock.advance('14s')
    expect(punctual.depth.running).toBe(1)
    await clock.advance('1s')
    await probe.next('occurrence.retrying')
    expect(punctual.depth.running).toBe(0)
    await clock.advance('1s')
    await probe.next('occurrence.completed')
    stuck.resolve()
    await clock.settle()
    expect(attempts).toEqual([1, 2])
    expect(probe.seen('task.progress')).toEqual([])
    expect(await occurrence(punctual, id)).toMatchObject({ state: 'completed', result: 'second', progress: null })
    expect(taskStates(await occurrence(punctual, id))).toEqual({ only: 'succeeded timeout succeeded' })
  })

  it('still end a handler that ignored the signal of a shutdown', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const codes: string[] = []
    const job = defineJob('slow', { retry: { max: 1 } }).task('only', { timeout: '10s' }, ({ signal }) => {
      signal.addEventListener('abort', () => codes.push(signal.reason.code))
      return new Promise(() => {})
    })
    const { punctual, probe } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    await probe.next('task.started')
    const stopped = punctual.stop()
    await clock.advance('15s')
    await stopped
    expect(codes).toEqual(['shutdown'])
    expect(taskStates(await occurrence(punctual, id))).toEqual({ only: 'pending timeout' })
  })
})
