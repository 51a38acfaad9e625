import { describe, expect, it } from 'vitest'
import type { Handler } from '../../src/model/context.ts'
import { defineJob } from '../../src/model/definition.ts'
import type { DefinitionOptions } from '../../src/model/definition-options.ts'
import { newCluster, occurrence, taskStates } from '../support/cluster.ts'
import { onEachStore } from '../support/each-store.ts'

onEachStore('JB-12 durable retries', (newDatabase) => {
  it('wait interval × factor^(k−1) before retry k, and every attempt is recorded', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const tries: number[] = []
    const job = defineJob('shaky', { retry: { max: 3, interval: '30s', factor: 2 } }).task('only', ({ attempt, startedAt }) => {
      tries.push(startedAt.getTime())
      if (attempt < 4) throw new Error(`try ${attempt}`)
      return attempt
    })
    const { punctual, probe } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    expect((await probe.next('occurrence.retrying')).dueInMs).toBe(30_000)
    const parked = await occurrence(punctual, id)
    expect(parked).toMatchObject({ state: 'retrying', endedAt: null, error: { message: 'try 1' } })
    expect(punctual.depth).toEqual({ running: 0, queued: 0 })
    await clock.advance('5m')
    await probe.next('occurrence.completed')
    expect(tries.map((at) => at - (tries[0] as number))).toEqual([0, 30_000, 90_000, 210_000])
    const { tasks, result, turns } = await occurrence(punctual, id)
    expect(result).toBe(4)
    expect(tasks[0]?.attempts.map(({ n, state, error }) => [n, state, error?.message])).toEqual([
      [1, 'failed', 'try 1'],
      [2, 'failed', 'try 2'],
      [3, 'failed', 'try 3'],
      [4, 'succeeded', undefined],
    ])
    expect(turns.map((turn) => turn.end)).toEqual(['parked', 'parked', 'parked', 'completed'])
  })

  it('JS-5 enqueued work out of retries is dead, scheduled work fails', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const job = defineJob('bad', { retry: { max: 0 } }).task('only', () => {
      throw new TypeError('no luck')
    })
    const { punctual, probe } = await node({ jobs: [job] })
    const enqueued = await punctual.enqueue(job, undefined)
    const { error } = await probe.next('occurrence.failed')
    expect(error).toMatchObject({ name: 'TypeError', message: 'no luck', stack: expect.stringContaining('retries.test') })
    expect((await occurrence(punctual, enqueued.id)).state).toBe('dead')
    const triggered = await punctual.trigger(job)
    await probe.next('occurrence.failed')
    expect(await occurrence(punctual, triggered.id)).toMatchObject({
      state: 'failed',
      source: 'manual',
      error: { message: 'no luck' },
    })
  })

  it('park only when no task runs, and a retry due sooner runs in the same turn', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const slow = Promise.withResolvers<void>()
    let tries = 0
    const job = defineJob('pair', { mode: 'parallel', retry: { max: 3, interval: '10s', factor: 1 } })
      .task('slow', () => slow.promise)
      .task('shaky', () => {
        if (++tries < 3) throw new Error('again')
      })
    const { punctual, probe } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    await probe.next('task.failed')
    expect((await occurrence(punctual, id)).state).toBe('running')
    await clock.advance('10s')
    expect(tries).toBe(2)
    slow.resolve()
    await probe.next('occurrence.retrying')
    await clock.advance('10s')
    await probe.next('occurrence.completed')
    const { turns, tasks } = await occurrence(punctual, id)
    expect(turns.map((turn) => turn.end)).toEqual(['parked', 'completed'])
    expect(tasks[1]?.attempts.map(({ turn, state }) => [turn, state])).toEqual([
      [1, 'failed'],
      [1, 'failed'],
      [2, 'succeeded'],
    ])
  })

  it('never repeat a finished task', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const ran: string[] = []
    const job = defineJob('steps', { retry: { max: 2, interval: '1s' } })
      .task('first', () => ran.push('first'))
      .task('second', ({ results, attempt }) => {
        ran.push(`second ${results.first}`)
        if (attempt === 1) throw new Error('again')
      })
    const { punctual, probe } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    await probe.next('occurrence.retrying')
    await clock.advance('1s')
    await probe.next('occurrence.completed')
    expect(ran).toEqual(['first', 'second 1', 'second 1'])
    expect(taskStates(await occurrence(punctual, id))).toEqual({
      first: 'succeeded succeeded',
      second: 'succeeded failed succeeded',
    })
  })

  it('are taken over by another node, with the settings frozen at the first start', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const fails = defineJob('shaky', { retry: { max: 1, interval: '60s' } }).task('only', () => {
      throw new Error('no luck')
    })
    const first = await node({ jobs: [fails] })
    const { id } = await first.punctual.enqueue(fails, undefined)
    await first.probe.next('occurrence.retrying')
    await first.punctual.stop()
    const changed = defineJob('shaky', { retry: { max: 9, interval: '1h' } }).task('only', ({ attempt }) => {
      throw new Error(`try ${attempt}`)
    })
    const second = await node({ jobs: [changed] })
    await clock.advance('60s')
    await second.probe.next('occurrence.failed')
    expect(await occurrence(second.punctual, id)).toMatchObject({
      error: { message: 'try 2' },
      settings: { retry: { max: 1, intervalMs: 60_000 } },
    })
  })

  it('come with fresh retries when a person retries a dead one, and finished tasks stay finished', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const ran: string[] = []
    let broken = true
    const job = defineJob('steps', { retry: { max: 1, interval: '1s' } })
      .task('first', () => void ran.push('first'))
      .task('second', () => {
        ran.push('second')
        if (broken) throw new Error('broken')
      })
    const { punctual, probe } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    await probe.next('occurrence.retrying')
    await clock.advance('1s')
    await probe.next('occurrence.failed')
    await punctual.retry(id)
    await probe.next('occurrence.retrying')
    broken = false
    await clock.advance('1s')
    await probe.next('occurrence.completed')
    expect(ran).toEqual(['first', 'second', 'second', 'second', 'second'])
  })

  it('run at once when a person moves the occurrence to now', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const job = defineJob('steps', { retry: { max: 1, interval: '1h' } })
      .task('first', () => 1)
      .task('second', ({ attempt }) => {
        if (attempt === 1) throw new Error('again')
      })
    const { punctual, probe } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    await probe.next('occurrence.retrying')
    await punctual.reschedule(id, { delay: 0 })
    await probe.next('occurrence.completed')
    expect((await occurrence(punctual, id)).turns.map((turn) => turn.end)).toEqual(['parked', 'completed'])
  })
})

describe('JS-5 who decides about a retry', () => {
  const outcomeOf = async (handler: Handler, options: DefinitionOptions = {}) => {
    const { node } = newCluster()
    const job = defineJob('shaky', options).task('only', handler)
    const { punctual, probe } = await node({ jobs: [job] })
    await punctual.enqueue(job, undefined)
    return Promise.race([probe.next('occurrence.failed'), probe.next('occurrence.retrying')])
  }

  it('ctx.fail can say that the failure is final', async () => {
    expect(await outcomeOf(({ fail }) => fail('gone', { retryable: false }))).toMatchObject({
      report: { outcome: 'dead', tasks: [{ attempts: 1 }] },
      error: { name: 'TaskFailure', message: 'gone' },
    })
  })

  it('ctx.fail can say when', async () => {
    expect(await outcomeOf(({ fail }) => fail('later', { retryIn: '7m' }))).toMatchObject({ dueInMs: 420_000 })
  })

  it('any error can say that it is final', async () => {
    const handler = () => {
      throw Object.assign(new Error('bad request'), { retryable: false })
    }
    expect(await outcomeOf(handler)).toMatchObject({ report: { outcome: 'dead' } })
  })

  it('a strategy of the definition is asked with the error and the number of the retry', async () => {
    const handler = () => {
      throw new Error('busy')
    }
    expect(
      await outcomeOf(handler, {
        retry: { strategy: ({ retry, error }) => ((error as Error).message === 'busy' ? retry * 5000 : false) },
      }),
    ).toMatchObject({ dueInMs: 5000 })
  })

  it('a strategy that throws means no retry, and is logged', async () => {
    const { node } = newCluster()
    const strategy = () => {
      throw new Error('broken strategy')
    }
    const job = defineJob('shaky', { retry: { strategy } }).task('only', () => {
      throw new Error('no luck')
    })
    const { punctual, probe, log } = await node({ jobs: [job] })
    await punctual.enqueue(job, undefined)
    expect((await probe.next('occurrence.failed')).error?.message).toBe('no luck')
    expect(log).toContainEqual(
      expect.objectContaining({ level: 'error', message: expect.stringContaining('retry strategy threw') }),
    )
  })

  it('a strategy given to createPunctual holds for jobs that say nothing', async () => {
    const { node } = newCluster()
    const job = defineJob('shaky').task('only', () => {
      throw new Error('no luck')
    })
    const { punctual, probe } = await node({ jobs: [job], retry: { strategy: () => '9s' } })
    await punctual.enqueue(job, undefined)
    expect((await probe.next('occurrence.retrying')).dueInMs).toBe(9000)
  })

  it('TM-11 proportional: a tenth of the delay the work was created with', async () => {
    const { node, clock } = newCluster()
    const job = defineJob('timeout', { retry: { strategy: 'proportional' } }).task('only', () => {
      throw new Error('no luck')
    })
    const { punctual, probe } = await node({ jobs: [job] })
    await punctual.enqueue(job, undefined, { delay: '15m' })
    await clock.advance('15m')
    expect((await probe.next('occurrence.retrying')).dueInMs).toBe(90_000)
    await clock.advance('90s')
    expect((await probe.next('occurrence.retrying')).dueInMs).toBe(180_000)
  })
})
