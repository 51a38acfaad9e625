import { expect, it } from 'vitest'
import type { Context } from '../../src/model/context.ts'
import { defineJob } from '../../src/model/definition.ts'
import { attemptId, taskRunId } from '../../src/model/ids.ts'
import { newCluster, occurrence } from '../support/cluster.ts'
import { onEachStore } from '../support/each-store.ts'

onEachStore('TM-3, JB-6 the context of a handler', (newDatabase) => {
  it('tells what the work is about and when it was to run, runs, and ran before', async () => {
    const { node, clock } = newCluster({ connect: newDatabase(), start: '2026-03-01T12:00:00Z' })
    const seen: Context[] = []
    const job = defineJob('invoice').task('send', (ctx) => void seen.push(ctx))
    const { punctual, probe } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(
      job,
      { amount: 5 },
      { key: 'inv-1', tenant: 'acme', entity: 'order-1', refs: { customer: 'c-9' }, delay: '15m' },
    )
    await clock.advance('14m')
    expect(seen).toEqual([])
    await clock.advance('1m')
    await probe.next('occurrence.completed')
    const [ctx] = seen as [Context]
    expect(ctx).toMatchObject({
      payload: { amount: 5 },
      results: {},
      tenant: 'acme',
      job: 'invoice',
      task: 'send',
      key: 'inv-1',
      entity: 'order-1',
      refs: { customer: 'c-9' },
      source: 'deferred',
      occurrenceId: id,
      version: 0,
      attempt: 1,
    })
    expect(ctx.scheduledAt).toEqual(new Date('2026-03-01T12:15:00Z'))
    expect(ctx.startedAt).toEqual(new Date('2026-03-01T12:15:00Z'))
    expect(ctx.lastRunAt).toBeNull()
    expect(ctx.taskRunId).toBe(taskRunId(id, 'send'))
    expect(ctx.attemptId).toBe(attemptId(ctx.taskRunId, 1))
    expect(ctx.idempotencyKey).toBe(ctx.taskRunId)
    expect(ctx.signal.aborted).toBe(false)
    await clock.advance('1h')
    await punctual.enqueue(job, undefined, { tenant: 'acme' })
    await probe.next('occurrence.completed')
    expect(seen[1]?.lastRunAt).toEqual(new Date('2026-03-01T12:15:00Z'))
    expect(seen[1]?.payload).toBeUndefined()
    await punctual.enqueue(job, undefined)
    await probe.next('occurrence.completed')
    expect(seen[2]?.version, 'of the declared job').toBe(1)
  })

  it('keeps its idempotency key over attempts, and does not see its own first try as the run before', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const keys: unknown[] = []
    const job = defineJob('pay', { retry: { interval: '1s' } }).task(
      'only',
      ({ idempotencyKey, attemptId: id, attempt, lastRunAt }) => {
        keys.push([idempotencyKey, lastRunAt])
        if (attempt === 1) throw new Error(id)
      },
    )
    const { punctual, probe } = await node({ jobs: [job] })
    await punctual.enqueue(job, undefined)
    await probe.next('occurrence.retrying')
    await clock.advance('1s')
    await probe.next('occurrence.completed')
    expect(keys[0]).toEqual(keys[1])
    expect((keys[1] as unknown[])[1]).toBeNull()
  })

  it('records progress, which readers see while it runs', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const half = Promise.withResolvers<void>()
    const job = defineJob('import').task('rows', async ({ progress }) => {
      progress(0.1)
      progress(0.5, 'half of it')
      await half.promise
      progress(1)
    })
    const { punctual, probe } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    expect(await probe.next('task.progress')).toMatchObject({ id, task: 'rows', attempt: 1, done: 0.1, message: null })
    await probe.next('task.progress')
    await clock.settle()
    expect((await occurrence(punctual, id)).progress).toMatchObject({ task: 'rows', done: 0.5, message: 'half of it' })
    half.resolve()
    await probe.next('occurrence.completed')
    expect((await occurrence(punctual, id)).progress).toMatchObject({ done: 1 })
  })

  it('keeps a progress whose text no store could hold, without what it could not', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const job = defineJob('import').task('rows', ({ progress }) => progress(0.5, 'half\u0000 of \ud800it'))
    const { punctual, probe, log } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    await probe.next('occurrence.completed')
    expect((await occurrence(punctual, id)).progress).toMatchObject({ done: 0.5, message: 'half of \ufffdit' })
    expect(log.filter(({ level }) => level === 'warn')).toEqual([])
  })

  it('refuses a message of progress that is no text', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const job = defineJob('import', { retry: { max: 0 } }).task('rows', ({ progress }) => progress(0.5, { rows: 3 } as never))
    const { punctual, probe } = await node({ jobs: [job] })
    await punctual.enqueue(job, undefined)
    expect((await probe.next('occurrence.failed')).error).toMatchObject({ code: 'option.invalid' })
  })

  it('refuses a progress that is none, as the failure of the task', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const job = defineJob('import', { retry: { max: 0 } }).task('rows', ({ progress }) => progress(50))
    const { punctual, probe } = await node({ jobs: [job] })
    await punctual.enqueue(job, undefined)
    expect((await probe.next('occurrence.failed')).error).toMatchObject({
      code: 'option.invalid',
      message: expect.stringContaining('progress'),
    })
  })

  it('logs with the ids of the run', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const job = defineJob('talk').task('only', ({ log }) => log.info('hello', { extra: 1 }))
    const { punctual, probe, log } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    await probe.next('occurrence.completed')
    expect(log).toContainEqual({
      level: 'info',
      message: 'hello',
      fields: { tenant: 'default', job: 'talk', occurrence: id, turn: 1, extra: 1 },
    })
  })

  it('a throw of anything, also synchronous, stays inside and is recorded', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const thrown = ['a text', { code: 7 }, null, undefined, new Error('x'.repeat(10_000))]
    const job = defineJob('odd', { retry: { max: 0 } }).task('only', ({ payload }) => {
      throw thrown[payload as number]
    })
    const { punctual, probe } = await node({ jobs: [job] })
    const answers = await punctual.enqueueMany(thrown.map((_, at) => ({ job, payload: at })))
    for (const { id } of answers) await probe.next('occurrence.failed', (event) => event.id === id)
    const messages = await Promise.all(answers.map(async ({ id }) => (await occurrence(punctual, id)).error?.message))
    expect(messages.slice(0, 4)).toEqual(['a text', '{"code":7}', 'null', 'undefined'])
    expect(messages[4]?.length).toBe(4096)
    expect(punctual.health.state).toBe('ok')
  })

  it('the payload is what the schema makes of it, also when it changed since', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const trimmed = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: (value: unknown) =>
          typeof value === 'string' ? { value: value.trim() } : { issues: [{ message: 'must be a text' }] },
      },
    } as const
    const seen: unknown[] = []
    const job = defineJob('greet', { payload: trimmed as never }).task('only', ({ payload }) => void seen.push(payload))
    const { punctual, probe } = await node({ jobs: [job] })
    await punctual.enqueue('greet', '  Ada ')
    await probe.next('occurrence.completed')
    expect(seen).toEqual(['Ada'])
  })
})
