import pg from 'pg'
import { beforeAll, expect, it, onTestFinished, vi } from 'vitest'
import { createPunctual, type Punctual } from '../../../src/client/punctual.ts'
import { type AnyDefinition, defineJob } from '../../../src/model/definition.ts'
import { postgres } from '../../../src/store/postgres/index.ts'
import type { Hint, Queryable } from '../../../src/store/store.ts'
import { probe } from '../../../src/testing/probe.ts'
import { systemClock } from '../../../src/time/clock.ts'
import { patiently } from '../../support/patiently.ts'
import { freshSchemaName, sharedPostgresUrl } from '../../support/postgres-database.ts'
import { postgresScene } from '../../support/postgres-scene.ts'
import { beginTransaction } from '../../support/postgres-transaction.ts'
import { queryOnce } from '../../support/servers/query-once.ts'

let url = ''
beforeAll(async () => {
  url = await sharedPostgresUrl()
})

it('asks for nothing but texts and gives every column a name of its own, for any library', async () => {
  const { punctual } = client()
  const db = await beginTransaction(url)
  const tx: Queryable = {
    async query(text, values) {
      expect(values.filter((value) => value !== null && typeof value !== 'string')).toEqual([])
      await db.query(`PREPARE asked AS ${text}`)
      const { rows } = await db.query<{ types: string }>(
        "SELECT parameter_types::text AS types FROM pg_prepared_statements WHERE name = 'asked'",
      )
      await db.query('DEALLOCATE asked')
      expect(rows[0]?.types, text).toMatch(/^\{(text(,text)*)?\}$/)
      const result = await db.query(text, values)
      const names = result.fields.map(({ name }) => name)
      expect(new Set(names).size, text).toBe(names.length)
      return result
    },
  }
  const limits = { concurrency: { key: 'c', limit: 1 }, rate: { key: 'r', limit: 1, per: '1m' } } as const
  const keyed = { key: 'k', entity: 'ada', refs: { order: '1' }, startWithin: '1h', ...limits } as const
  await punctual.enqueue('mail', { a: [1] }, { tx, ...keyed, retry: { max: 1 } })
  await punctual.enqueue('mail', { a: [2] }, { tx, ...keyed, onConflict: 'replace' })
  await punctual.enqueue('mail', { a: [3] }, { tx, idempotencyKey: 'ever', onConflict: 'reschedule', delay: '1h' })
  expect(await punctual.cancel({ job: 'mail', entity: 'ada' }, { tx })).toBe('canceled')
  expect(await punctual.cancel({ job: 'mail', idempotencyKey: 'ever' }, { tx })).toBe('canceled')
  await db.query('COMMIT')
  expect(await punctual.counts()).toMatchObject({ canceled: 2, pending: 0 })
})

it('sends nothing more after a statement that has failed', async () => {
  const { punctual } = client()
  const { id } = await punctual.enqueue('mail', 1, { key: 'k', delay: '1h' })
  const db = await beginTransaction(url)
  const sent: string[] = []
  let left = 0
  const tx: Queryable = {
    async query(text, values) {
      sent.push(text)
      if (sent.length > left) throw new Error('cut')
      return db.query(text, values)
    },
  }
  let statements = 0
  for (;;) {
    sent.length = 0
    const error = await punctual.cancel(id, { tx }).catch((thrown: Error) => thrown.message)
    await db.query('ROLLBACK; BEGIN')
    await new Promise<void>((resolve) => systemClock.soon(resolve))
    if (error === 'canceled') break
    expect(error).toBe('cut')
    expect(sent).toHaveLength(left + 1)
    statements = ++left
  }
  expect(statements).toBeGreaterThan(1)
  expect((await punctual.get(id))?.state).toBe('pending')
})

it('what sees the tables as they were before a job or a kind was made still makes work that runs', async () => {
  const { punctual, schema } = client()
  const jobs = ['old', 'fresh'].map((name) => defineJob(name).task('only', () => 'done'))
  const node = (jobs: AnyDefinition[]) => {
    const punctual = createPunctual({ store: postgres(url, { schema }), jobs })
    onTestFinished(() => punctual.close())
    return punctual
  }
  await node(jobs.slice(0, 1)).runDue()
  const db = await beginTransaction(url, 'REPEATABLE READ')
  await db.query(`SELECT 1 FROM ${schema}.occurrence`)
  const both = node(jobs)
  await both.runDue()
  await both.update('old', { timeout: '1m' })
  await both.enqueue('old', undefined, { delay: '1h' })
  const made = [
    await both.enqueue('old', undefined, { tx: db }),
    await both.enqueue('fresh', undefined, { tx: db }),
    await punctual.enqueue('old', undefined, { tx: db }),
    await punctual.enqueue('fresh', undefined, { tx: db }),
  ]
  await db.query('COMMIT')
  expect(await both.runDue()).toMatchObject({ claimed: 4, succeeded: 4 })
  for (const { id } of made) expect((await punctual.get(id))?.state).toBe('completed')
})

it('refuses what is no transaction, where that can be told', async () => {
  const { punctual } = client()
  const pool = new pg.Pool({ connectionString: url })
  onTestFinished(() => pool.end())
  const refused = { code: 'transaction.invalid' }
  await expect(punctual.enqueue('mail', 1, { tx: pool })).rejects.toMatchObject(refused)
  const idle = await beginTransaction(url)
  await idle.query('ROLLBACK')
  await expect(punctual.enqueue('mail', 1, { tx: idle })).rejects.toMatchObject(refused)
  await expect(punctual.cancel({ job: 'mail', key: 'k' }, { tx: idle })).rejects.toMatchObject(refused)
  const begins = idle.query('BEGIN')
  const { outcome } = await punctual.enqueue('mail', 1, { tx: idle })
  expect([outcome, (await begins).command]).toEqual(['created', 'BEGIN'])
  await idle.query('ROLLBACK')
  expect((await punctual.list()).items).toEqual([])
})

it('an error of the caller’s client reaches the caller as it is', async () => {
  const { punctual } = client()
  const db = await beginTransaction(url)
  await db.query('SELECT 1 / 0').catch(() => {})
  await expect(punctual.enqueue('mail', 1, { tx: db })).rejects.toMatchObject({ code: '25P02' })
})

it('needs no other connection of the caller’s pool, from the first call on', async () => {
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  onTestFinished(() => pool.end())
  const { punctual } = client(pool)
  const db = await pool.connect()
  await db.query('BEGIN')
  await punctual.enqueue('mail', 1, { tx: db, key: 'a' })
  await punctual.enqueue('other', 2, { tx: db, key: 'b', priority: 1 })
  expect(await punctual.cancel({ job: 'mail', key: 'a' }, { tx: db })).toBe('canceled')
  await db.query('COMMIT')
  db.release()
  expect(await punctual.counts()).toMatchObject({ pending: 1, canceled: 1 })
})

it('tells nobody before wake, which then tells everybody', async () => {
  const schema = freshSchemaName()
  const env = { clock: systemClock, random: Math.random }
  const [here, there] = [postgres(url, { schema }), postgres(url, { schema })]
  const heard: Record<'here' | 'there', Hint['kind'][]> = { here: [], there: [] }
  here.hints.subscribe(({ kind }) => heard.here.push(kind))
  there.hints.subscribe(({ kind }) => heard.there.push(kind))
  for (const store of [here, there]) await store.open(env)
  onTestFinished(async () => void (await Promise.all([here.close(), there.close()])))
  const listening = `SELECT 1 FROM pg_stat_activity WHERE query = 'LISTEN "punctual_${schema}"'`
  await vi.waitUntil(async () => (await queryOnce(url, listening)).length === 2, patiently)
  const punctual = createPunctual({ store: here })
  onTestFinished(() => punctual.close())
  const db = await beginTransaction(url)
  await punctual.enqueue('mail', 1, { tx: db, key: 'k' })
  await punctual.cancel({ job: 'mail', key: 'k' }, { tx: db })
  await punctual.enqueue('mail', 1, { tx: db })
  await db.query('COMMIT')
  expect(heard).toEqual({ here: [], there: [] })
  await punctual.wake()
  expect(heard.here).toEqual(['due'])
  await vi.waitFor(() => expect(heard.there).toEqual(['due']), patiently)
})

it('a node runs what it is woken for, and stops what was canceled', async () => {
  const schema = freshSchemaName()
  const started = Promise.withResolvers<void>()
  const job = defineJob('mail', { retry: { max: 0 } }).task('only', ({ signal, payload }) => {
    if (payload === 'quick') return 'done'
    started.resolve()
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  })
  const punctual = createPunctual({ store: postgres(url, { schema }), jobs: [job] })
  onTestFinished(() => punctual.close())
  const seen = probe(punctual)
  await punctual.start()
  const db = await beginTransaction(url)
  const { id: quick } = await punctual.enqueue(job, 'quick', { tx: db })
  const { id } = await punctual.enqueue(job, 'long', { tx: db })
  await db.query('COMMIT')
  await punctual.wake()
  await seen.next('occurrence.completed', (event) => event.id === quick)
  await started.promise
  await db.query('BEGIN')
  expect(await punctual.cancel(id, { tx: db, reason: 'enough' })).toBe('canceling')
  await db.query('COMMIT')
  await punctual.wake()
  expect(await seen.next('occurrence.canceled', (event) => event.id === id)).toMatchObject({ reason: 'enough' })
})

it('the end of hooked work that was canceled is handed out after the commit, and only then', async () => {
  const { scene } = await postgresScene()
  await scene.join()
  const [id, kept] = [await scene.create({ isHooked: true }), await scene.create({ isHooked: true })]
  const openHooks = async () => (await scene.rescue({ gone: [], kinds: ['mail'] })).openHooks.map((note) => note.id)
  const db = await beginTransaction(url)
  await db.query('SAVEPOINT before')
  await scene.store.cancel({ which: { id: kept }, reason: null }, db)
  await db.query('ROLLBACK TO before')
  await scene.store.cancel({ which: { id }, reason: null }, db)
  expect(await openHooks()).toEqual([])
  await db.query('COMMIT')
  expect(await openHooks()).toEqual([id])
})

function client(source: string | pg.Pool = url): { punctual: Punctual; schema: string } {
  const schema = freshSchemaName()
  const punctual = createPunctual({ store: postgres(source, { schema }) })
  onTestFinished(() => punctual.close())
  return { punctual, schema }
}
