import { describe, expect, it } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import { attemptId, taskRunId } from '../../src/model/ids.ts'
import { cron } from '../../src/schedule/cron.ts'
import { interval } from '../../src/schedule/interval.ts'
import { newCluster, occurrence } from '../support/cluster.ts'
import { onEachStore } from '../support/each-store.ts'

onEachStore('JS-4 reads', (newDatabase) => {
  it('get tells all of an occurrence by id and by key, from any process', async () => {
    const { node, client } = newCluster({ connect: newDatabase(), start: '2026-03-01T12:00:00Z' })
    const job = defineJob('work', { retry: { max: 0 } })
      .task('a', () => ({ deep: [1] }))
      .task('b', ({ payload, fail }) => (payload === 'bad' ? fail('no luck') : 'fine'))
    const { punctual, probe } = await node({ jobs: [job] })
    const good = await punctual.enqueue(job, 'good', {
      idempotencyKey: 'k',
      tenant: 'acme',
      entity: 'e',
      refs: { order: '7' },
      priority: 2,
    })
    await probe.next('occurrence.completed')
    const [boot] = (await punctual.nodes()).map((one) => one.boot)
    const reader = client().punctual
    const at = new Date('2026-03-01T12:00:00Z')
    expect(await reader.get({ tenant: 'acme', job: 'work', idempotencyKey: 'k' })).toEqual({
      id: good.id,
      tenant: 'acme',
      job: 'work',
      definition: 'work',
      version: 0,
      key: null,
      idempotencyKey: 'k',
      keyVersion: null,
      parent: null,
      redact: [],
      entity: 'e',
      refs: { order: '7' },
      state: 'completed',
      source: 'deferred',
      priority: 2,
      scheduledAt: at,
      dueAt: at,
      createdAt: at,
      startedAt: at,
      endedAt: at,
      updatedAt: at,
      payload: 'good',
      result: 'fine',
      error: null,
      node: boot,
      reason: null,
      failedTasks: 0,
      span: null,
      replay: null,
      wait: null,
      progress: null,
      log: [],
      settings: expect.objectContaining({ mode: 'sequential', retry: expect.objectContaining({ max: 0 }) }),
      tasks: [
        {
          id: taskRunId(good.id, 'a'),
          name: 'a',
          state: 'succeeded',
          result: { deep: [1] },
          startedAt: at,
          endedAt: at,
          attempts: [
            {
              id: attemptId(taskRunId(good.id, 'a'), 1),
              n: 1,
              state: 'succeeded',
              turn: 1,
              startedAt: at,
              endedAt: at,
              durationMs: 0,
              error: null,
            },
          ],
        },
        expect.objectContaining({
          name: 'b',
          state: 'succeeded',
          result: 'fine',
          attempts: [expect.objectContaining({ n: 1, state: 'succeeded' })],
        }),
      ],
      turns: [{ turn: 1, end: 'completed', node: boot, startedAt: at, endedAt: at, error: null, reason: null }],
    })
    const bad = await punctual.enqueue(job, 'bad')
    await probe.next('occurrence.failed')
    expect(await occurrence(reader, bad.id)).toMatchObject({
      state: 'dead',
      error: { message: 'no luck', name: 'TaskFailure' },
      failedTasks: 1,
      endedAt: at,
      result: undefined,
    })
    const later = await punctual.enqueue(job, 'later', { delay: '1h' })
    expect(await occurrence(reader, later.id)).toMatchObject({
      state: 'pending',
      startedAt: null,
      endedAt: null,
      updatedAt: at,
      node: null,
      settings: null,
      tasks: [{ name: 'a', state: 'pending', startedAt: null, endedAt: null, attempts: [] }, {}],
    })
    expect(await reader.get('00000000-0000-0000-0000-000000000000')).toBeNull()
    expect(await reader.get({ job, key: 'k' })).toBeNull()
  })

  it('get of a running occurrence tells which tasks run, and where', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const job = defineJob('work')
      .task('a', () => 1)
      .task('b', () => new Promise(() => {}))
      .task('c', () => 3)
    const { punctual, probe } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    await probe.next('task.started', ({ task }) => task === 'b')
    const running = await occurrence(punctual, id)
    expect(running).toMatchObject({ state: 'running', endedAt: null, node: (await punctual.nodes())[0]?.boot })
    expect(running.tasks.map(({ state }) => state)).toEqual(['succeeded', 'running', 'pending'])
  })

  it('get of the first turn has its settings at once, and its start once a heartbeat or a task has recorded it', async () => {
    const { node, client, clock } = newCluster({ connect: newDatabase(), start: '2026-03-01T12:00:00Z' })
    const one = defineJob('one', { timeout: '1h', retry: { max: 7 } }, () => new Promise(() => {}))
    const several = defineJob('several')
      .task('a', () => 1)
      .task('b', () => new Promise(() => {}))
    const { punctual, probe } = await node({ jobs: [one, several] })
    const { id } = await punctual.enqueue(one, undefined, { retry: { max: 8 } })
    const other = await punctual.enqueue(several)
    await probe.next('task.started', ({ task }) => task === 'b')
    const at = new Date('2026-03-01T12:00:00Z')
    const reader = client().punctual
    const settings = { timeoutMs: 3_600_000, retry: { max: 8 } }
    expect(await occurrence(reader, id)).toMatchObject({ state: 'running', startedAt: null, updatedAt: at, settings })
    expect(await occurrence(reader, other.id)).toMatchObject({
      startedAt: at,
      tasks: [
        { startedAt: at, endedAt: at },
        { startedAt: null, endedAt: null },
      ],
    })
    await clock.advance('20s')
    expect(await occurrence(reader, id)).toMatchObject({ state: 'running', startedAt: at, updatedAt: at, settings })
  })

  it('list filters by tenant, job, state, key, entity and time, newest first, a page at a time', async () => {
    const { node } = newCluster({ connect: newDatabase(), start: '2026-03-01T12:00:00Z' })
    const job = defineJob('work').task('only', () => 1)
    const { punctual } = await node({ jobs: [job] })
    await punctual.enqueueMany(
      Array.from({ length: 7 }, (_, at) => ({ job, key: `k${at}`, entity: at % 2 ? 'odd' : 'even', delay: `${at}h` })),
    )
    await punctual.enqueue('other', 1, { tenant: 'acme', delay: '1h' })
    await punctual.idle()
    const keys = async (filter: Parameters<typeof punctual.list>[0]) => (await punctual.list(filter)).items.map(({ key }) => key)
    expect(await keys({ job })).toEqual(['k6', 'k5', 'k4', 'k3', 'k2', 'k1', 'k0'])
    expect(await keys({ job, state: 'completed' })).toEqual(['k0'])
    expect(await keys({ job, state: ['completed', 'pending'], entity: 'even' })).toEqual(['k6', 'k4', 'k2', 'k0'])
    expect(await keys({ key: 'k3' })).toEqual(['k3'])
    expect(await keys({ idempotencyKey: 'k3' })).toEqual([])
    expect(await keys({ from: '2026-03-01T14:00:00Z', to: new Date('2026-03-01T16:00:00Z') })).toEqual(['k3', 'k2'])
    expect(await keys({ tenant: 'acme' })).toEqual([null])
    expect(await keys({ job: 'work', tenant: 'acme' })).toEqual([])
    const pages: (string | null)[][] = []
    let cursor: string | undefined
    do {
      const page = await punctual.list({ job, limit: 3, ...(cursor && { cursor }) })
      pages.push(page.items.map(({ key }) => key))
      cursor = page.cursor ?? undefined
    } while (cursor)
    expect(pages).toEqual([['k6', 'k5', 'k4'], ['k3', 'k2', 'k1'], ['k0']])
  })

  it('JS-7 counts tell how many stand where, for all, a tenant or a job', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const job = defineJob('work', { retry: { max: 0 } }).task('only', ({ payload, fail }) => (payload === 'bad' ? fail('x') : 1))
    const { punctual } = await node({ jobs: [job] })
    await punctual.enqueueMany(['a', 'b', 'bad'].map((payload) => ({ job, payload })))
    await punctual.enqueue(job, 'later', { delay: '1h', tenant: 'acme' })
    await punctual.idle()
    expect(await punctual.counts()).toEqual({
      pending: 1,
      waiting: 0,
      running: 0,
      retrying: 0,
      dead: 1,
      completed: 2,
      failed: 0,
      canceled: 0,
      skipped: 0,
      missed: 0,
    })
    expect(await punctual.counts({ tenant: 'acme' })).toMatchObject({ pending: 1, completed: 0 })
    expect(await punctual.counts({ job, tenant: 'default' })).toMatchObject({ pending: 0, completed: 2 })
  })

  it('status and jobs tell of schedules, also of those that never ran', async () => {
    const { node, clock } = newCluster({ connect: newDatabase(), start: '2026-03-01T12:00:00Z' })
    const work = Promise.withResolvers<void>()
    const daily = defineJob('daily', { schedule: cron('15 12 * * *'), retry: { max: 1 } }).task('only', () => work.promise)
    const plain = defineJob('plain')
      .task('a', () => 1)
      .task('b', () => 2)
    const { punctual, probe } = await node({ jobs: [daily, plain] })
    expect(await punctual.status(daily)).toEqual({
      active: true,
      enabled: true,
      paused: false,
      running: false,
      nextRun: new Date('2026-03-01T12:15:00Z'),
      lastRun: null,
      lastResult: null,
    })
    expect(await punctual.status('plain')).toMatchObject({ active: false, nextRun: null })
    await clock.advance('15m')
    await probe.next('task.started')
    expect(await punctual.status(daily)).toMatchObject({ running: true, nextRun: new Date('2026-03-02T12:15:00Z') })
    work.resolve()
    await probe.next('occurrence.completed')
    expect(await punctual.status(daily)).toMatchObject({ running: false, lastRun: new Date('2026-03-01T12:15:00Z') })
    expect((await punctual.jobs()).items).toMatchObject([
      {
        name: 'daily',
        definition: 'daily',
        version: 1,
        settings: { retry: { max: 1 } },
        schedule: { kind: 'cron' },
        scheduleText: expect.any(String),
      },
      { name: 'plain', schedule: null, scheduleText: null, nextRun: null, tasks: [{ name: 'a' }, { name: 'b' }] },
    ])
    const { cursor } = await punctual.jobs({ limit: 1 })
    expect((await punctual.jobs({ cursor: cursor as string, limit: 1 })).items.map(({ name }) => name)).toEqual(['plain'])
  })

  it('nodes tells who is there', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const { punctual } = await node({ jobs: [defineJob('work').task('only', () => 1)], name: 'north', concurrency: 4 })
    await node({ jobs: [], name: 'south' })
    expect((await punctual.nodes()).toSorted((a, b) => (a.name < b.name ? -1 : 1))).toMatchObject([
      { name: 'north', concurrency: 4, kinds: ['work'], pid: process.pid, ttlMs: 15_000 },
      { name: 'south', kinds: [] },
    ])
  })

  it('trigger runs a job once beside its schedule, with its payload or another', async () => {
    const { node, client, clock } = newCluster({ connect: newDatabase() })
    const job = defineJob('report').task('only', ({ payload, source }) => `${source} ${payload}`)
    const { punctual, probe } = await node({ jobs: [job] })
    await punctual.schedule(job, interval('PT1H'), { name: 'report/acme', payload: 'acme' })
    const one = await client().punctual.trigger('report/acme')
    await probe.next('occurrence.completed')
    expect(await occurrence(punctual, one.id)).toMatchObject({ job: 'report/acme', result: 'manual acme', source: 'manual' })
    const two = await punctual.trigger('report/acme', { payload: 'other', idempotencyKey: 'once' })
    expect(await punctual.trigger('report/acme', { payload: 'other', idempotencyKey: 'once' })).toMatchObject({
      id: two.id,
      outcome: 'existing',
    })
    await clock.settle()
    await punctual.idle()
    expect((await occurrence(punctual, two.id)).result).toBe('manual other')
    await clock.advance('1h')
    expect((await punctual.counts({ job: 'report/acme' })).completed).toBe(3)
  })

  it('reschedule, retry and discard say why they cannot', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const job = defineJob('work').task('only', ({ payload }) => (payload === 'slow' ? new Promise(() => {}) : 1))
    const { punctual, probe } = await node({ jobs: [job] })
    const slow = await punctual.enqueue(job, 'slow')
    await probe.next('task.started')
    await expect(punctual.reschedule(slow.id, { delay: '1h' })).rejects.toMatchObject({
      code: 'occurrence.conflict',
      message: expect.stringContaining('running'),
    })
    const done = await punctual.enqueue(job, 'quick')
    await probe.next('occurrence.completed')
    await expect(punctual.retry(done.id)).rejects.toMatchObject({ code: 'occurrence.conflict' })
    await expect(punctual.discard({ job, key: 'none' })).rejects.toMatchObject({ code: 'occurrence.unknown' })
  })
})

describe('TM-7 recent', () => {
  it('keeps the last 50 executions of each job in memory, the newest first', async () => {
    const { node } = newCluster()
    const job = defineJob('work').task('only', () => 1)
    const { punctual } = await node({ jobs: [job] })
    const answers = await punctual.enqueueMany(Array.from({ length: 60 }, () => ({ job })))
    await punctual.enqueue('work', 1, { tenant: 'acme' })
    await punctual.idle()
    const recent = punctual.recent(job)
    expect(recent).toHaveLength(50)
    expect(recent[0]).toMatchObject({ occurrenceId: answers[59]?.id, outcome: 'completed', tasks: [{ state: 'succeeded' }] })
    expect(recent[49]?.occurrenceId).toBe(answers[10]?.id)
    expect(punctual.recent(job, { tenant: 'acme' })).toHaveLength(1)
    expect(punctual.recent('stranger')).toEqual([])
  })

  it('TM-15 a listener that throws hurts nobody, and can be taken away', async () => {
    const { node } = newCluster()
    const job = defineJob('work').task('only', () => 1)
    const { punctual, probe, log } = await node({ jobs: [job] })
    let heard = 0
    const off = punctual.on('occurrence.completed', () => {
      heard++
      throw new Error('listener')
    })
    await punctual.enqueue(job, undefined)
    await probe.next('occurrence.completed')
    off()
    await punctual.enqueue(job, undefined)
    await probe.next('occurrence.completed')
    expect(heard).toBe(1)
    expect(log).toContainEqual(
      expect.objectContaining({ level: 'error', message: expect.stringContaining('occurrence.completed') }),
    )
  })
})
