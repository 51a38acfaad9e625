import { expect, it } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import { newCluster, occurrence, taskStates } from '../support/cluster.ts'
import { onEachStore } from '../support/each-store.ts'
import { untilAborted } from '../support/until-aborted.ts'

onEachStore('BL-3 cancel', (newDatabase) => {
  it('of pending work ends it at once, from a process that has no definition', async () => {
    const { node, client, clock } = newCluster({ connect: newDatabase() })
    let ran = 0
    const job = defineJob('expire').task('only', () => ran++)
    const { punctual } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined, { key: 'order-42', delay: '15m' })
    const other = client()
    expect(await other.punctual.cancel({ job: 'expire', key: 'order-42' }, { reason: 'paid' })).toBe('canceled')
    await clock.advance('20m')
    expect(ran).toBe(0)
    expect(await occurrence(other.punctual, id)).toMatchObject({ state: 'canceled', reason: 'paid', startedAt: null })
  })

  it('of running work from another process reaches the signal with its reason', async () => {
    const { node, client, clock } = newCluster({ connect: newDatabase() })
    const codes: string[] = []
    const job = defineJob('long')
      .task('first', () => 1)
      .task('second', (ctx) => untilAborted(ctx, codes))
      .task('third', () => 'never')
    const { punctual, probe } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    await probe.next('task.started', ({ task }) => task === 'second')
    const other = client()
    expect(await other.punctual.cancel(id, { reason: 'not wanted' })).toBe('canceling')
    await clock.advance('5s')
    expect(await probe.next('occurrence.canceled')).toMatchObject({ id, reason: 'not wanted' })
    expect(codes).toEqual(['cancel'])
    const canceled = await occurrence(other.punctual, id)
    expect(canceled).toMatchObject({ state: 'canceled', reason: 'not wanted' })
    expect(taskStates(canceled)).toEqual({ first: 'succeeded succeeded', second: 'canceled canceled', third: 'canceled' })
    expect(await other.punctual.cancel(id)).toBe('canceled')
  })

  it('writes off a handler that ignores it, frees the slot and starts the next', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const stuck = Promise.withResolvers<string>()
    const job = defineJob('stuck').task('only', ({ payload }) => (payload === 'stuck' ? stuck.promise : 'fine'))
    const { punctual, probe } = await node({ jobs: [job], concurrency: 1 })
    const { id } = await punctual.enqueue(job, 'stuck')
    await probe.next('task.started')
    const next = await punctual.enqueue(job, 'next')
    await punctual.cancel(id)
    await clock.advance('11s')
    await probe.next('occurrence.canceled')
    expect((await probe.next('occurrence.completed')).id).toBe(next.id)
    stuck.resolve('too late')
    await clock.settle()
    expect(await occurrence(punctual, id)).toMatchObject({ state: 'canceled', result: undefined })
  })

  it('of retrying work ends it, and nothing runs any more', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    let tries = 0
    const job = defineJob('shaky').task('only', () => {
      tries++
      throw new Error('no luck')
    })
    const { punctual, probe } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    await probe.next('occurrence.retrying')
    expect(await punctual.cancel(id)).toBe('canceled')
    await clock.advance('1m')
    expect(tries).toBe(1)
    expect((await occurrence(punctual, id)).tasks).toMatchObject([{ state: 'canceled', attempts: [{ state: 'failed' }] }])
  })

  it('of parked work shows what its tasks have come to', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const job = defineJob('steps')
      .task('first', () => 1)
      .task('second', () => {
        throw new Error('no luck')
      })
      .task('third', () => 3)
    const { punctual, probe } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    await probe.next('occurrence.retrying')
    await punctual.cancel(id)
    const { tasks } = await occurrence(punctual, id)
    expect(tasks.map(({ name, state }) => `${name} ${state}`)).toEqual(['first succeeded', 'second canceled', 'third canceled'])
  })

  it('that was acknowledged holds although the handler fails before it hears of it', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const work = Promise.withResolvers<never>()
    const job = defineJob('shaky').task('only', () => work.promise)
    const { punctual, probe, store } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    await probe.next('task.started')
    store.hold('beat')
    expect(await punctual.cancel(id)).toBe('canceling')
    work.reject(new Error('no luck'))
    await clock.settle()
    await clock.advance('10s')
    expect((await occurrence(punctual, id)).state).toBe('canceled')
  })

  it('says ended for what has ended, and unknown for what never was', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const job = defineJob('quick').task('only', () => 1)
    const { punctual, probe } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined, { key: 'one' })
    await probe.next('occurrence.completed')
    expect(await punctual.cancel(id)).toBe('ended')
    expect(await punctual.cancel({ job, key: 'one' })).toBe('ended')
    expect(await punctual.cancel({ job, key: 'two' })).toBe('unknown')
    expect(await punctual.cancel({ job, key: 'one', tenant: 'other' })).toBe('unknown')
  })

  it('TM-1 by entity cancels all that is pending for it, and nothing of others', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const job = defineJob('remind').task('only', () => 1)
    const { punctual } = await node({ jobs: [job] })
    await punctual.enqueue(job, 1, { entity: 'order-1', delay: '1h' })
    await punctual.enqueue(job, 2, { refs: { entity: 'order-1' }, delay: '2h' })
    await punctual.enqueue(job, 3, { entity: 'order-2', delay: '1h' })
    expect(await punctual.cancel({ job, entity: 'order-1' })).toBe('canceled')
    expect(await punctual.counts({ job })).toMatchObject({ canceled: 2, pending: 1 })
    expect(await punctual.cancel({ job, entity: 'order-1' })).toBe('unknown')
  })

  it('of claimed work that has not started ends it without running anything', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const blocker = Promise.withResolvers<void>()
    const ran: unknown[] = []
    const onStart = ({ payload }: { payload: unknown }) => void ran.push(`start ${payload}`)
    const job = defineJob('queued', { onStart }).task('only', async ({ payload }) => {
      ran.push(payload)
      if (payload === 'first') await blocker.promise
    })
    const { punctual, probe } = await node({ jobs: [job], concurrency: 1 })
    await punctual.enqueueMany([
      { job, payload: 'first' },
      { job, payload: 'second' },
      { job, payload: 'third' },
    ])
    await probe.next('task.started')
    await clock.advance('500ms')
    expect(punctual.depth).toEqual({ running: 1, queued: 2 })
    const { items } = await punctual.list({ job, state: 'running' })
    expect(await punctual.cancel(items[0]?.id as string)).toBe('canceling')
    await clock.settle()
    await probe.next('occurrence.canceled')
    expect(punctual.depth).toEqual({ running: 1, queued: 1 })
    blocker.resolve()
    await probe.next('occurrence.completed', ({ id }) => id === items[1]?.id)
    expect(ran).toEqual(['start first', 'first', 'start second', 'second'])
    expect(probe.seen('occurrence.started')).toHaveLength(2)
  })
})
