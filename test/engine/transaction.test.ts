import type { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import { newCluster, occurrence, taskStates } from '../support/cluster.ts'
import { inFile } from '../support/each-store.ts'

/** A table of the handler's own in the store's file. */
function record(db: DatabaseSync, text: string): number {
  db.exec('CREATE TABLE IF NOT EXISTS effect (text TEXT)')
  db.prepare('INSERT INTO effect VALUES (?)').run(text)
  return (db.prepare('SELECT count(*) AS n FROM effect').get() as { n: number }).n
}

describe('JB-6 ctx.transaction', () => {
  it('commits the writes of the handler together with the success of its task', async () => {
    const { node } = newCluster({ connect: inFile() })
    const job = defineJob('ledger')
      .task('book', ({ transaction }) => transaction((db: DatabaseSync) => record(db, 'booked')))
      .task('read', ({ results }) => results.book)
    const { punctual, probe } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    await probe.next('occurrence.completed')
    expect(await occurrence(punctual, id)).toMatchObject({
      result: 1,
      tasks: [
        { name: 'book', state: 'succeeded', result: 1 },
        { name: 'read', result: 1 },
      ],
    })
  })

  it('undoes them when it throws, and the task is retried', async () => {
    const { node, clock } = newCluster({ connect: inFile() })
    const job = defineJob('ledger', { retry: { interval: '1s' } }).task('book', ({ transaction, attempt }) =>
      transaction((db: DatabaseSync) => {
        const count = record(db, `try ${attempt}`)
        if (attempt === 1) throw new Error('not yet')
        return count
      }),
    )
    const { punctual, probe } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    expect((await probe.next('occurrence.retrying')).error?.message).toBe('not yet')
    await clock.advance('1s')
    await probe.next('occurrence.completed')
    expect(await occurrence(punctual, id)).toMatchObject({ result: 1 })
    expect(taskStates(await occurrence(punctual, id))).toEqual({ book: 'succeeded failed succeeded' })
  })

  it('makes the task succeed whatever the handler does after it', async () => {
    const { node } = newCluster({ connect: inFile() })
    const job = defineJob('ledger').task('book', async ({ transaction }) => {
      await transaction((db: DatabaseSync) => record(db, 'booked'))
      throw new Error('after the commit')
    })
    const { punctual, probe } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    await probe.next('occurrence.completed')
    expect(await occurrence(punctual, id)).toMatchObject({ result: 1, tasks: [{ attempts: [{ n: 1, state: 'succeeded' }] }] })
  })

  it('is not repeated when the answer to its commit was lost', async () => {
    const { node, clock } = newCluster({ connect: inFile() })
    let calls = 0
    const job = defineJob('ledger').task('book', ({ transaction }) => {
      calls++
      return transaction((db: DatabaseSync) => record(db, 'booked'))
    })
    const { punctual, probe, store } = await node({ jobs: [job] })
    store.loseAnswer('checkpoint')
    const { id } = await punctual.enqueue(job, undefined)
    await probe.next('task.started')
    await clock.advance('1s')
    await probe.next('occurrence.completed')
    expect(calls).toBe(1)
    expect(await occurrence(punctual, id)).toMatchObject({ result: 1, tasks: [{ attempts: [{ state: 'succeeded' }] }] })
  })

  it('is not repeated after a crash between its commit and the end of the turn', async () => {
    const { node, pass } = newCluster({ connect: inFile() })
    let calls = 0
    const job = defineJob('ledger').task('book', async ({ transaction }) => {
      calls++
      await transaction((db: DatabaseSync) => record(db, 'booked'))
      first.store.freeze()
    })
    const first = await node({ jobs: [job] })
    const { id } = await first.punctual.enqueue(job, undefined)
    await first.probe.next('task.started')
    const second = await node({ jobs: [job] })
    await pass(20)
    await second.probe.next('occurrence.completed')
    expect(calls).toBe(1)
    expect(await occurrence(second.punctual, id)).toMatchObject({ state: 'completed', result: 1 })
  })

  it('is refused to a handler that was written off, also while the task is being tried again', async () => {
    const { node, clock } = newCluster({ connect: inFile() })
    const late = Promise.withResolvers<void>()
    const tried = Promise.withResolvers<unknown>()
    const second = Promise.withResolvers<void>()
    const job = defineJob('ledger', { mode: 'parallel', retry: { max: 1, interval: '1s' } })
      .task('book', { timeout: '10s' }, async ({ transaction, attempt }) => {
        if (attempt === 2) return second.promise.then(() => 'second')
        await late.promise
        await transaction((db: DatabaseSync) => record(db, 'too late')).catch(tried.resolve)
        return 'first'
      })
      .task('steady', () => second.promise)
    const { punctual, probe } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    await probe.next('task.started', ({ task }) => task === 'steady')
    await clock.advance('16s')
    await probe.next('task.started', ({ attempt }) => attempt === 2)
    late.resolve()
    expect(await tried.promise).toMatchObject({ code: 'lost' })
    second.resolve()
    await probe.next('occurrence.completed')
    expect((await occurrence(punctual, id)).tasks[0]?.result).toBe('second')
  })

  it('is refused when the occurrence is no longer this node’s', async () => {
    const { node, pass } = newCluster({ connect: inFile() })
    const late = Promise.withResolvers<void>()
    const errors: unknown[] = []
    const runs: number[] = []
    const job = defineJob('ledger').task('book', async ({ transaction, attempt }) => {
      runs.push(attempt)
      if (attempt === 1) await late.promise
      return transaction((db: DatabaseSync) => record(db, `try ${attempt}`)).catch((error: unknown) => {
        errors.push(error)
        throw error
      })
    })
    const first = await node({ jobs: [job] })
    const { id } = await first.punctual.enqueue(job, undefined)
    await first.probe.next('task.started')
    first.store.cut()
    const second = await node({ jobs: [job] })
    await pass(20)
    await second.probe.next('occurrence.completed')
    first.store.heal()
    late.resolve()
    await pass(1)
    expect(runs).toEqual([1, 2])
    expect(errors).toMatchObject([{ code: 'lost' }])
    expect((await occurrence(second.punctual, id)).result).toBe(1)
  })

  it('can be used once in an attempt, and not with a promise', async () => {
    const { node } = newCluster({ connect: inFile() })
    const twice = defineJob('twice').task('only', async ({ transaction }) => {
      await transaction((db: DatabaseSync) => record(db, 'once'))
      return transaction((db: DatabaseSync) => record(db, 'twice')).catch((error: { code: string }) => error.code)
    })
    const promised = defineJob('promised', { retry: { max: 0 } }).task('only', ({ transaction }) =>
      transaction(async (db: DatabaseSync) => record(db, 'once')),
    )
    const { punctual, probe } = await node({ jobs: [twice, promised] })
    const { id } = await punctual.enqueue(twice, undefined)
    await probe.next('occurrence.completed')
    expect((await occurrence(punctual, id)).result).toBe(1)
    await punctual.enqueue(promised, undefined)
    expect((await probe.next('occurrence.failed')).error?.code).toMatch(/transaction.invalid|payload.invalid/)
  })

  it('is refused on a store that has none', async () => {
    const { node } = newCluster()
    const job = defineJob('ledger', { retry: { max: 0 } }).task('only', ({ transaction }) => transaction(() => 1))
    const { punctual, probe } = await node({ jobs: [job] })
    await punctual.enqueue(job, undefined)
    expect((await probe.next('occurrence.failed')).error).toMatchObject({
      code: 'transaction.unsupported',
      message: expect.stringContaining('memory'),
    })
  })
})
