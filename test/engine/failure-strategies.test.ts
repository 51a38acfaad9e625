import { expect, it } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import { newCluster, occurrence, taskStates } from '../support/cluster.ts'
import { onEachStore } from '../support/each-store.ts'
import { untilAborted } from '../support/until-aborted.ts'

const never = { max: 0 }

function fail(): never {
  throw new Error('no luck')
}

onEachStore('JB-11 failure strategies', (newDatabase) => {
  it('fail-fast: the others are canceled, and a running one hears why', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const bad = Promise.withResolvers<never>()
    const codes: string[] = []
    const job = defineJob('batch', { retry: never, mode: 'graph' })
      .task('bad', () => bad.promise)
      .task('peer', (ctx) => untilAborted(ctx, codes))
      .task('later', { after: ['peer'] }, () => 'never')
    const { punctual, probe } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    await probe.next('task.started', ({ task }) => task === 'peer')
    bad.reject(new Error('no luck'))
    const { report, error } = await probe.next('occurrence.failed')
    expect(codes).toEqual(['peer-failed'])
    expect(error?.message).toBe('no luck')
    expect(report.tasks).toMatchObject([
      { task: 'bad', state: 'failed', attempts: 1 },
      { task: 'peer', state: 'canceled', canceledBy: 'bad' },
      { task: 'later', state: 'canceled', canceledBy: 'bad', attempts: 0 },
    ])
    await clock.settle()
    expect(taskStates(await occurrence(punctual, id))).toEqual({
      bad: 'failed failed',
      peer: 'canceled canceled',
      later: 'canceled',
    })
  })

  it('continue for the job: later tasks run, and the occurrence completes with the count of failed ones', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const job = defineJob('batch', { retry: never, onFailure: 'continue' })
      .task('bad', fail)
      .task('good', () => 'done')
    const { punctual, probe } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    await probe.next('occurrence.completed')
    expect(await occurrence(punctual, id)).toMatchObject({ state: 'completed', result: 'done', failedTasks: 1, error: null })
  })

  it('continue for one task: its dependants run with its result undefined', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const seen: unknown[] = []
    const job = defineJob('batch', { retry: never })
      .task('optional', { onFailure: 'continue' }, (): number => fail())
      .task('after', ({ results }) => void seen.push('optional' in results, results.optional))
    const { punctual, probe } = await node({ jobs: [job] })
    await punctual.enqueue(job, undefined)
    const { report } = await probe.next('occurrence.completed')
    expect(seen).toEqual([true, undefined])
    expect(report.tasks.map((task) => task.state)).toEqual(['failed', 'succeeded'])
  })

  it('a cleanup set to continue runs although its peers were canceled, and other dependants do not', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const ran: string[] = []
    const job = defineJob('batch', { retry: never })
      .task('open', () => void ran.push('open'))
      .task('use', fail)
      .task('report', () => void ran.push('report'))
      .task('close', { onFailure: 'continue' }, () => void ran.push('close'))
    const { punctual, probe } = await node({ jobs: [job] })
    await punctual.enqueue(job, undefined)
    const { report } = await probe.next('occurrence.failed')
    expect(ran).toEqual(['open', 'close'])
    expect(report.tasks.map(({ state }) => state)).toEqual(['succeeded', 'failed', 'canceled', 'succeeded'])
  })

  it('a running task set to continue is not canceled by a failing peer', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const work = Promise.withResolvers<string>()
    const job = defineJob('batch', { retry: never, mode: 'parallel' })
      .task('steady', { onFailure: 'continue' }, ({ signal }) => work.promise.then((text) => `${text} ${signal.aborted}`))
      .task('bad', fail)
    const { punctual, probe } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    await probe.next('task.failed')
    await clock.settle()
    expect((await occurrence(punctual, id)).state).toBe('running')
    work.resolve('done')
    const { report } = await probe.next('occurrence.failed')
    expect(report.tasks.map(({ state }) => state)).toEqual(['succeeded', 'failed'])
    expect((await occurrence(punctual, id)).tasks[0]?.result).toBe('done false')
  })

  it('hold: no later task starts and no peer is canceled while its retries last', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const steady = Promise.withResolvers<void>()
    const ran: string[] = []
    let tries = 0
    const job = defineJob('batch', { retry: { max: 2, interval: '10s', factor: 1 }, mode: 'graph' })
      .task('steady', () => steady.promise.then(() => ran.push('steady')))
      .task('shaky', { onFailure: 'hold' }, () => (++tries < 3 ? fail() : void ran.push('shaky')))
      .task('next', { after: ['steady'] }, () => void ran.push('next'))
    const { punctual, probe } = await node({ jobs: [job] })
    await punctual.enqueue(job, undefined)
    await probe.next('task.failed')
    steady.resolve()
    await probe.next('task.succeeded', ({ task }) => task === 'steady')
    await clock.advance('9s')
    expect(ran).toEqual(['steady'])
    await clock.advance('11s')
    await probe.next('occurrence.completed')
    expect(ran).toEqual(['steady', 'shaky', 'next'])
  })

  it('hold: when its retries have run out it ends the others like fail-fast', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const job = defineJob('batch', { onFailure: 'hold', retry: { max: 1, interval: '1s' } })
      .task('bad', fail)
      .task('next', () => 'never')
    const { punctual, probe } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    await probe.next('occurrence.retrying')
    await clock.advance('1s')
    const { report } = await probe.next('occurrence.failed')
    expect(report.onFailure).toBe('hold')
    expect(report.tasks[1]).toMatchObject({ state: 'canceled', canceledBy: 'bad' })
    expect(taskStates(await occurrence(punctual, id))).toEqual({ bad: 'failed failed failed', next: 'canceled' })
  })

  it('a cleanup that has to be retried runs in a later turn, and the failed task is not repeated', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    let used = 0
    let closed = 0
    const job = defineJob('batch', { retry: { max: 1, interval: '5s' } })
      .task('use', { retry: never }, () => {
        used++
        fail()
      })
      .task('report', () => 'never')
      .task('close', { onFailure: 'continue' }, () => (++closed === 1 ? fail() : 'closed'))
    const { punctual, probe } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    await probe.next('occurrence.retrying')
    await clock.advance('5s')
    await probe.next('occurrence.failed')
    expect([used, closed]).toEqual([1, 2])
    expect(taskStates(await occurrence(punctual, id))).toEqual({
      use: 'failed failed',
      report: 'canceled',
      close: 'succeeded failed succeeded',
    })
  })
})
