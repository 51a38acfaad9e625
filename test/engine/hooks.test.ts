import { expect, it } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import type { ExecutionReport } from '../../src/model/report.ts'
import { cron } from '../../src/schedule/cron.ts'
import { newCluster, occurrence } from '../support/cluster.ts'
import { onEachStore } from '../support/each-store.ts'
import { untilAborted } from '../support/until-aborted.ts'

onEachStore('JB-14 hooks', (newDatabase) => {
  it('onStart runs once before the first attempt, onComplete once at the end, with the report', async () => {
    const { node, clock } = newCluster({ connect: newDatabase(), start: '2026-03-01T12:00:00Z' })
    const told: unknown[] = []
    const job = defineJob('report', {
      retry: { max: 1, interval: '10s' },
      onStart: ({ payload, occurrenceId }) => void told.push(['start', payload, occurrenceId]),
      onComplete: (report) => void told.push(['complete', report]),
    })
      .task('shaky', ({ attempt }) => {
        told.push(`try ${attempt}`)
        if (attempt === 1) throw new Error('again')
      })
      .task('last', () => void told.push('last'))
    const { punctual, probe } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, 'x')
    await probe.next('occurrence.retrying')
    await clock.advance('10s')
    const { report } = await probe.next('occurrence.completed')
    await clock.advance('1h')
    expect(told).toEqual([['start', 'x', id], 'try 1', 'try 2', 'last', ['complete', report]])
    expect(report).toEqual({
      occurrenceId: id,
      tenant: 'default',
      job: 'report',
      source: 'deferred',
      turn: 2,
      outcome: 'completed',
      mode: 'sequential',
      onFailure: 'fail-fast',
      startedAt: new Date('2026-03-01T12:00:10Z'),
      endedAt: new Date('2026-03-01T12:00:10Z'),
      durationMs: 0,
      tasks: [
        { task: 'shaky', state: 'succeeded', attempts: 2, durationMs: 0 },
        { task: 'last', state: 'succeeded', attempts: 1, durationMs: 0 },
      ],
      attempts: [
        attempt('shaky', 1, 'failed', '2026-03-01T12:00:00Z', expect.objectContaining({ message: 'again' })),
        attempt('shaky', 2, 'succeeded', '2026-03-01T12:00:10Z', null),
        attempt('last', 1, 'succeeded', '2026-03-01T12:00:10Z', null),
      ],
    })
  })

  it('the report lists every attempt of every turn, with times, duration and error', async () => {
    const { node, clock } = newCluster({ connect: newDatabase(), start: '2026-03-01T12:00:00Z' })
    const after = (ms: number) => new Promise<void>((resolve) => clock.timer(ms, resolve))
    const job = defineJob('mixed', { mode: 'parallel', retry: { max: 2, interval: '1s', factor: 1 } })
      .task('slow', () => after(5000))
      .task('shaky', async ({ attempt, fail }) => {
        await after(500)
        if (attempt < 3) fail(`no ${attempt}`)
      })
    const solo = defineJob('solo', { retry: { max: 1, interval: '1s' } }, ({ fail }) => fail('never'))
    const { punctual, probe } = await node({ jobs: [job, solo] })
    await punctual.enqueue(job)
    await punctual.enqueue(solo)
    await clock.advance('10s')
    const { report } = await probe.next('occurrence.completed')
    expect(report.attempts.map(({ task, n, state, durationMs, error }) => [task, n, state, durationMs, error?.message])).toEqual([
      ['slow', 1, 'succeeded', 5000, undefined],
      ['shaky', 1, 'failed', 500, 'no 1'],
      ['shaky', 2, 'failed', 500, 'no 2'],
      ['shaky', 3, 'succeeded', 500, undefined],
    ])
    const failed = await probe.next('occurrence.failed')
    expect(failed.report.attempts.map(({ n, state, startedAt }) => [n, state, startedAt?.toISOString()])).toEqual([
      [1, 'failed', '2026-03-01T12:00:00.000Z'],
      [2, 'failed', '2026-03-01T12:00:01.000Z'],
    ])
  })

  it('a report that is read later still tells when the execution ended', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const job = defineJob('quick').task('only', () => 1)
    const { punctual, probe } = await node({ jobs: [job] })
    await punctual.enqueue(job, undefined)
    const event = await probe.next('occurrence.completed')
    await clock.advance('1h')
    expect(event.report).toMatchObject({ durationMs: 0, endedAt: event.report.startedAt })
  })

  it('a hook that throws is logged and changes nothing', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const boom = (what: string) => () => {
      throw new Error(what)
    }
    const job = defineJob('brave', { onStart: boom('start'), onComplete: async () => boom('complete')() }).task(
      'only',
      () => 'fine',
    )
    const { punctual, probe, log } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    await probe.next('occurrence.completed')
    await punctual.idle()
    expect((await occurrence(punctual, id)).result).toBe('fine')
    expect(log.filter(({ level }) => level === 'error').map(({ message }) => message)).toEqual([
      'onStart threw',
      'onComplete threw',
    ])
  })

  it('a hook that hangs is not waited for longer than a task may take', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const job = defineJob('hangs', { timeout: '10s', onComplete: () => new Promise(() => {}) }).task('only', () => 'fine')
    const { punctual, probe, log } = await node({ jobs: [job] })
    await punctual.enqueue(job, undefined)
    await probe.next('occurrence.completed')
    expect(log).toEqual([])
    await clock.advance('10s')
    await punctual.idle()
    expect(log.map(({ message }) => message)).toEqual(['onComplete took longer than 10000 ms and is not waited for'])
  })

  it('onComplete runs for failed, dead and canceled work', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const outcomes: unknown[] = []
    const onComplete = ({ job: name, outcome }: ExecutionReport) => void outcomes.push([name, outcome])
    const bad = defineJob('bad', { retry: { max: 0 }, onComplete }).task('only', () => {
      throw new Error('no luck')
    })
    const long = defineJob('long', { onComplete }).task('only', (ctx) => untilAborted(ctx))
    const { punctual, probe } = await node({ jobs: [bad, long] })
    await punctual.enqueue(bad, undefined)
    await probe.next('occurrence.failed')
    await punctual.trigger(bad)
    await probe.next('occurrence.failed')
    const { id } = await punctual.enqueue(long, undefined)
    await probe.next('task.started', ({ job }) => job === 'long')
    await punctual.cancel(id)
    await clock.advance('5s')
    await probe.next('occurrence.canceled')
    await punctual.cancel(id)
    await punctual.idle()
    expect(outcomes).toEqual([
      ['bad', 'dead'],
      ['bad', 'failed'],
      ['long', 'canceled'],
    ])
  })

  it('onComplete runs on a node when another process cancels pending or retrying work, or discards dead work', async () => {
    const { node, client, clock } = newCluster({ connect: newDatabase() })
    const reports: ExecutionReport[] = []
    const job = defineJob('never', { retry: { max: 1, interval: '1h' }, onComplete: (report) => void reports.push(report) })
      .task('first', ({ payload, fail }) => (payload === 'bad' ? fail('no luck') : 1))
      .task('second', () => 2)
    const { punctual, probe } = await node({ jobs: [job] })
    const outside = client().punctual
    const pending = await punctual.enqueue(job, 'fine', { delay: '1h', key: 'p' })
    expect(await outside.cancel(pending.id, { reason: 'paid' })).toBe('canceled')
    await clock.advance('2s')
    expect(await probe.next('occurrence.canceled')).toMatchObject({ id: pending.id, key: 'p', reason: 'paid' })
    expect(reports).toMatchObject([
      {
        occurrenceId: pending.id,
        outcome: 'canceled',
        startedAt: null,
        durationMs: 0,
        tasks: [
          { task: 'first', state: 'canceled', attempts: 0 },
          { task: 'second', state: 'canceled' },
        ],
      },
    ])
    const parked = await punctual.enqueue(job, 'bad')
    await probe.next('occurrence.retrying')
    await outside.cancel(parked.id)
    await clock.advance('2s')
    expect(reports[1]).toMatchObject({
      occurrenceId: parked.id,
      outcome: 'canceled',
      tasks: [{ state: 'canceled', attempts: 1, error: { message: 'no luck' } }, {}],
    })
    const dead = await punctual.enqueue(job, 'bad', { retry: { max: 0 } })
    await probe.next('occurrence.failed')
    await punctual.idle()
    await outside.discard(dead.id, { reason: 'given up' })
    await clock.advance('2s')
    expect(reports.slice(2).map(({ outcome }) => outcome)).toEqual(['dead', 'canceled'])
    expect(await occurrence(punctual, dead.id)).toMatchObject({ state: 'canceled', reason: 'given up' })
  })

  it('onComplete runs at once where a node cancels pending work itself, and once', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const outcomes: string[] = []
    const job = defineJob('later', { onComplete: ({ outcome }) => void outcomes.push(outcome) }).task('only', () => 1)
    const { punctual, probe } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined, { delay: '1h' })
    await punctual.cancel(id)
    await probe.next('occurrence.canceled')
    await clock.advance('1h')
    expect([outcomes, probe.seen('occurrence.canceled').length]).toEqual([['canceled'], 1])
  })

  it('parked work that cancel-previous ends raises onComplete and occurrence.canceled', async () => {
    const { node, clock } = newCluster({ connect: newDatabase(), start: '2026-01-01T00:00:00Z' })
    const outcomes: string[] = []
    const job = defineJob('tick', {
      schedule: cron('0 * * * *'),
      overlap: 'cancel-previous',
      retry: { max: 3, interval: '3h', factor: 1 },
      onComplete: ({ outcome }) => void outcomes.push(outcome),
    }).task('only', ({ scheduledAt }) => {
      if (scheduledAt.getUTCHours() === 1) throw new Error('no luck')
    })
    const { probe } = await node({ jobs: [job] })
    await clock.advance('1h')
    await probe.next('occurrence.retrying')
    await clock.advance('1h')
    await clock.advance('5s')
    expect(outcomes.toSorted()).toEqual(['canceled', 'completed'])
    expect(probe.seen('occurrence.canceled')).toHaveLength(1)
  })

  it('the end is written before onComplete runs: after a crash in the hook the work is not repeated, and the hook is', async () => {
    const { node, pass } = newCluster({ connect: newDatabase() })
    const hooks: string[] = []
    const stuck = Promise.withResolvers<void>()
    let runs = 0
    const job = (name: string) =>
      defineJob('slow', {
        timeout: '20s',
        onComplete: ({ outcome }) => {
          hooks.push(`${name} ${outcome}`)
          stuck.resolve()
          return name === 'first' ? new Promise(() => {}) : undefined
        },
      }).task('only', () => void runs++)
    const first = await node({ jobs: [job('first')] })
    const { id } = await first.punctual.enqueue('slow', undefined)
    await stuck.promise
    first.store.freeze()
    const second = await node({ jobs: [job('second')], name: 'second' })
    await pass(40)
    expect(hooks).toEqual(['first completed', 'second completed'])
    expect([runs, (await occurrence(second.punctual, id)).state]).toEqual([1, 'completed'])
    await pass(60)
    expect(hooks).toHaveLength(2)
  })

  it('onComplete runs when the cancel comes while the turn is being parked', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const outcomes: string[] = []
    const work = Promise.withResolvers<never>()
    const job = defineJob('shaky', { onComplete: ({ outcome }) => void outcomes.push(outcome) }).task('only', () => work.promise)
    const { punctual, probe, store } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    await probe.next('task.started')
    store.hold('beat')
    await punctual.cancel(id)
    work.reject(new Error('no luck'))
    await clock.advance('2s')
    await probe.next('occurrence.canceled')
    expect(outcomes).toEqual(['canceled'])
  })

  it('onComplete runs when work that takes its nodes down is buried, and when lost work had been canceled', async () => {
    const { node, client, pass } = newCluster({ connect: newDatabase() })
    const outcomes: unknown[] = []
    const onComplete = ({ occurrenceId, outcome, tasks }: ExecutionReport) =>
      void outcomes.push([occurrenceId, outcome, tasks[0]?.state])
    const started: string[] = []
    const job = defineJob('poison', { onComplete, onStart: ({ occurrenceId }) => void started.push(occurrenceId) }).task(
      'only',
      () => new Promise(() => {}),
    )
    const keeper = await node({ jobs: [job], handlers: {}, concurrency: 1 })
    await keeper.punctual.stop()
    const first = await node({ jobs: [job] })
    const lost = await first.punctual.enqueue(job, undefined)
    await first.probe.next('task.started')
    first.store.freeze()
    await client().punctual.cancel(lost.id)
    await keeper.punctual.start()
    await pass(20)
    expect(outcomes).toEqual([[lost.id, 'canceled', 'canceled']])
    await keeper.probe.next('occurrence.canceled')
    await keeper.punctual.stop()
    const poison = await keeper.punctual.enqueue(job, undefined)
    for (let kill = 0; kill < 3; kill++) {
      const victim = await node({ jobs: [job] })
      await pass(20)
      await victim.probe.next('task.started')
      victim.store.freeze()
    }
    await keeper.punctual.start()
    await pass(20)
    expect(outcomes[1]).toEqual([poison.id, 'dead', 'failed'])
    expect((await keeper.probe.next('occurrence.failed')).error?.code).toBe('occurrence.lost')
    expect(started.filter((id) => id === poison.id)).toHaveLength(3)
  })
})

function attempt(task: string, n: number, state: string, at: string, error: unknown): object {
  return { task, n, state, startedAt: new Date(at), endedAt: new Date(at), durationMs: 0, error }
}
