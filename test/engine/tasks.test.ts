import { expect, it } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import { newCluster, occurrence, taskStates } from '../support/cluster.ts'
import { onEachStore } from '../support/each-store.ts'

onEachStore('JB-11 tasks of an occurrence', (newDatabase) => {
  it('run one after another in the order of their declaration', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const steps: string[] = []
    const job = defineJob('steps')
      .task('a', async () => void steps.push('a began', await 'a ended'))
      .task('b', async () => void steps.push('b began', await 'b ended'))
      .task('c', async () => void steps.push('c began', await 'c ended'))
    const { punctual, probe } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    const { report } = await probe.next('occurrence.completed')
    expect(steps).toEqual(['a began', 'a ended', 'b began', 'b ended', 'c began', 'c ended'])
    expect(report).toMatchObject({
      mode: 'sequential',
      outcome: 'completed',
      tasks: [{ task: 'a', state: 'succeeded', attempts: 1 }, { task: 'b' }, { task: 'c' }],
    })
    expect(taskStates(await occurrence(punctual, id))).toEqual({
      a: 'succeeded succeeded',
      b: 'succeeded succeeded',
      c: 'succeeded succeeded',
    })
  })

  it('run side by side under mode parallel', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const both = Promise.withResolvers<void>()
    let running = 0
    const meet = async () => {
      if (++running === 2) both.resolve()
      await both.promise
      return running
    }
    const job = defineJob('pair', { mode: 'parallel' }).task('a', meet).task('b', meet)
    const { punctual, probe } = await node({ jobs: [job] })
    await punctual.enqueue(job, undefined)
    expect((await probe.next('occurrence.completed')).report.mode).toBe('parallel')
  })

  it('start when their predecessors have finished, and get their results', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const seen: unknown[] = []
    const job = defineJob('graph', { mode: 'graph' })
      .task('left', () => ({ side: 'left' }))
      .task('right', async () => 7)
      .task('join', { after: ['left', 'right'] }, ({ results }) => {
        seen.push(results)
        return `${results.left.side} ${results.right}`
      })
      .task('aside', { after: ['left'] }, ({ results }) => void seen.push(Object.keys(results)))
      .task('last', { after: ['join'] }, ({ results }) => results.join.toUpperCase())
    const { punctual, probe } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    expect((await probe.next('occurrence.completed')).report.mode).toBe('graph')
    expect(seen).toContainEqual({ left: { side: 'left' }, right: 7 })
    expect(seen).toContainEqual(['left'])
    const { result, tasks } = await occurrence(punctual, id)
    expect(result).toMatchObject({ left: { side: 'left' }, join: 'left 7', last: 'LEFT 7' })
    expect(tasks.map((task) => task.result)).toEqual([{ side: 'left' }, 7, 'left 7', undefined, 'LEFT 7'])
  })

  it('start only after the checkpoint of their predecessor has committed', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    let second = 0
    const job = defineJob('steps')
      .task('first', () => 1)
      .task('second', () => ++second)
    const { punctual, probe, store } = await node({ jobs: [job] })
    const letThrough = store.hold('checkpoint')
    await punctual.enqueue(job, undefined)
    await probe.next('task.succeeded')
    await clock.settle()
    expect(second).toBe(0)
    letThrough()
    await probe.next('occurrence.completed')
    expect(second).toBe(1)
  })

  it('fail when their result cannot be written as JSON, without being tried again', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const job = defineJob('odd').task('only', () => [5n])
    const { punctual, probe } = await node({ jobs: [job] })
    await punctual.enqueue(job, undefined)
    const { error, report } = await probe.next('occurrence.failed')
    expect(error).toMatchObject({ code: 'payload.invalid', message: expect.stringContaining('result') })
    expect(report.tasks[0]).toMatchObject({ state: 'failed', attempts: 1 })
  })
})
