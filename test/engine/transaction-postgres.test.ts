import type { PoolClient } from 'pg'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createPunctual } from '../../src/client/punctual.ts'
import { defineJob } from '../../src/model/definition.ts'
import { postgres } from '../../src/store/postgres/index.ts'
import { newCluster, occurrence, taskStates } from '../support/cluster.ts'
import { freshSchemaName, sharedPostgresUrl } from '../support/postgres-database.ts'
import { queryOnce } from '../support/servers/query-once.ts'
import { startWorker } from '../support/worker-process.ts'

let url = ''
beforeAll(async () => {
  url = await sharedPostgresUrl()
})

/** A table of the handler's own in the schema of the store. */
async function newPlace() {
  const schema = freshSchemaName()
  await queryOnce(url, `CREATE SCHEMA ${schema}; CREATE TABLE ${schema}.effect (n int GENERATED ALWAYS AS IDENTITY, text text)`)
  return {
    schema,
    ...newCluster({ connect: () => postgres(url, { schema }) }),
    effects: async () =>
      (await queryOnce<{ text: string }>(url, `SELECT text FROM ${schema}.effect ORDER BY n`)).map(({ text }) => text),
    record: async (tx: PoolClient, text: string): Promise<number> => {
      const { rows } = await tx.query<{ n: number }>(`INSERT INTO ${schema}.effect (text) VALUES ($1) RETURNING n`, [text])
      return rows[0]?.n as number
    },
  }
}

describe('JB-6 ctx.transaction on PostgreSQL', () => {
  it('commits what the handler awaited together with the success of its task', async () => {
    const { node, effects, record } = await newPlace()
    const job = defineJob('ledger')
      .task('book', ({ transaction }) => transaction((tx: PoolClient) => record(tx, 'booked')))
      .task('read', ({ results }) => results.book)
    const { punctual, probe } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    await probe.next('occurrence.completed')
    expect(await occurrence(punctual, id)).toMatchObject({ result: 1, tasks: [{ state: 'succeeded', result: 1 }, {}] })
    expect(await effects()).toEqual(['booked'])
  })

  it('undoes it when the work throws, and the task is retried', async () => {
    const { node, clock, effects, record } = await newPlace()
    const job = defineJob('ledger', { retry: { interval: '1s' } }).task('book', ({ transaction, attempt }) =>
      transaction(async (tx: PoolClient) => {
        await record(tx, `try ${attempt}`)
        if (attempt === 1) throw new Error('not yet')
        return 'done'
      }),
    )
    const { punctual, probe } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    expect((await probe.next('occurrence.retrying')).error?.message).toBe('not yet')
    await clock.advance('1s')
    await probe.next('occurrence.completed')
    expect(taskStates(await occurrence(punctual, id))).toEqual({ book: 'succeeded failed succeeded' })
    expect(await effects()).toEqual(['try 2'])
  })

  it('is not repeated when the answer to its commit was lost', async () => {
    const { node, clock, effects, record } = await newPlace()
    const job = defineJob('ledger').task('book', ({ transaction }) => transaction((tx: PoolClient) => record(tx, 'booked')))
    const { punctual, probe, store } = await node({ jobs: [job] })
    store.loseAnswer('checkpoint')
    const { id } = await punctual.enqueue(job, undefined)
    await probe.next('task.started')
    await clock.advance('1s')
    await probe.next('occurrence.completed')
    expect(await occurrence(punctual, id)).toMatchObject({ result: 1, tasks: [{ attempts: [{ state: 'succeeded' }] }] })
    expect(await effects()).toEqual(['booked'])
  })

  it('is undone when it takes longer than the task may, and does not hold the task up', async () => {
    const { node, clock, effects, record } = await newPlace()
    const isIn = Promise.withResolvers<void>()
    const later = Promise.withResolvers<void>()
    const late = Promise.withResolvers<unknown>()
    const job = defineJob('ledger', { timeout: '10s', retry: { max: 1, interval: '1s' } }).task('book', (ctx) =>
      ctx.transaction(async (tx: PoolClient) => {
        const n = await record(tx, `try ${ctx.attempt}`)
        if (ctx.attempt === 2) return n
        isIn.resolve()
        await later.promise
        late.resolve(await record(tx, 'late').catch((error: unknown) => error))
        return n
      }),
    )
    const { punctual, probe } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    await isIn.promise
    await clock.advance('10s')
    expect((await probe.next('occurrence.retrying')).error?.code).toBe('timeout')
    later.resolve()
    expect(await late.promise).toMatchObject({ code: 'transaction.invalid' })
    await clock.advance('1s')
    await probe.next('occurrence.completed')
    expect(taskStates(await occurrence(punctual, id))).toEqual({ book: 'succeeded timeout succeeded' })
    expect(await effects()).toEqual(['try 2'])
  })

  it('is refused when the occurrence is no longer this node’s, also in the middle of the work', async () => {
    const { node, pass, effects, record } = await newPlace()
    const isIn = Promise.withResolvers<void>()
    const late = Promise.withResolvers<void>()
    const job = defineJob('ledger').task('book', ({ transaction, attempt }) =>
      transaction(async (tx: PoolClient) => {
        const n = await record(tx, `try ${attempt}`)
        if (attempt > 1) return n
        isIn.resolve()
        await late.promise
        return n
      }),
    )
    const first = await node({ jobs: [job] })
    const { id } = await first.punctual.enqueue(job, undefined)
    await isIn.promise
    first.store.cut()
    const second = await node({ jobs: [job] })
    await pass(20)
    await second.probe.next('occurrence.completed')
    first.store.heal()
    late.resolve()
    await pass(1)
    expect(await effects()).toEqual(['try 2'])
    expect((await occurrence(second.punctual, id)).state).toBe('completed')
  })

  it('creates and cancels other work in the same commit, and wakes who runs it', async () => {
    const { node, effects, record } = await newPlace()
    const mail = defineJob('mail').task('send', ({ payload }) => payload)
    const job = defineJob('ledger').task('book', ({ transaction }) =>
      transaction(async (tx: PoolClient) => {
        await record(tx, 'booked')
        await punctual.enqueue(mail, 'receipt', { tx, key: 'receipt' })
        return punctual.cancel({ job: 'mail', key: 'reminder' }, { tx })
      }),
    )
    const { punctual, probe } = await node({ jobs: [job, mail] })
    await punctual.enqueue(mail, 'reminder', { key: 'reminder', delay: '1h' })
    const { id } = await punctual.enqueue(job, undefined)
    await probe.next('occurrence.completed', (event) => event.job === 'mail')
    expect((await occurrence(punctual, { job: 'mail', key: 'receipt' })).result).toBe('receipt')
    expect((await occurrence(punctual, { job: 'mail', key: 'reminder' })).state).toBe('canceled')
    expect((await occurrence(punctual, id)).result).toBe('canceled')
    expect(await effects()).toEqual(['booked'])
  })

  it.each(['inside', 'after'])('kill -9 %s the work: its effect and its success are both there or neither', async (where) => {
    const { schema, effects } = await newPlace()
    const client = createPunctual({ store: postgres(url, { schema }) })
    onTestFinished(() => client.close())
    const { id } = await client.enqueue('ledger', where)
    const worker = new URL('transaction-postgres.process.ts', import.meta.url)
    const first = startWorker(worker, url, schema)
    await first.until(({ what }) => what === where)
    first.child.kill('SIGKILL')
    await first.ended
    expect(await effects()).toEqual(where === 'inside' ? [] : ['try 1'])
    const second = startWorker(worker, url, schema)
    await second.until(({ what }) => what === 'completed')
    expect(await effects()).toEqual([where === 'inside' ? 'try 2' : 'try 1'])
    const { tasks, state } = await occurrence(client, id)
    expect([state, tasks[0]?.attempts.map((attempt) => attempt.state)]).toEqual([
      'completed',
      where === 'inside' ? ['lost', 'succeeded'] : ['succeeded'],
    ])
  })
})
