import { Client } from 'pg'
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import type { KeyOptions } from '../../../src/client/keys.ts'
import { createPunctual, type Punctual } from '../../../src/client/punctual.ts'
import { postgres } from '../../../src/store/postgres/index.ts'
import { patiently } from '../../support/patiently.ts'
import { freshSchemaName, sharedPostgresUrl } from '../../support/postgres-database.ts'
import { queryOnce } from '../../support/servers/query-once.ts'
import { libraries, type Transact } from '../../support/sql-libraries.ts'

let url = ''
beforeAll(async () => {
  url = await sharedPostgresUrl()
})

describe.each(Object.entries(libraries))('in a transaction of %s', (_, connect) => {
  it('work is there once it commits, together with what the caller wrote', async () => {
    const { punctual, transact, orders, insertOrder } = await scene(connect(url))
    const id = await transact(async ({ tx, run }) => {
      await run(insertOrder('a'))
      const { id, outcome } = await punctual.enqueue('mail', { to: 'ada' }, { tx, delay: '1h', refs: { order: 'a' } })
      expect(outcome).toBe('created')
      expect(await punctual.get(id), 'nobody sees it before').toBeNull()
      return id
    })
    expect(await punctual.get(id)).toMatchObject({ state: 'pending', payload: { to: 'ada' }, refs: { order: 'a' } })
    expect(await orders()).toEqual(['a'])
    expect((await punctual.counts()).pending).toBe(1)
  })

  it('nothing is there when it rolls back', async () => {
    const { punctual, transact, orders, insertOrder } = await scene(connect(url))
    const rolledBack = transact(async ({ tx, run }) => {
      await run(insertOrder('a'))
      await punctual.enqueue('mail', { to: 'ada' }, { tx, idempotencyKey: 'k' })
      throw new Error('changed my mind')
    })
    await expect(rolledBack).rejects.toThrow('changed my mind')
    expect(await punctual.get({ job: 'mail', idempotencyKey: 'k' })).toBeNull()
    expect((await punctual.list()).items).toEqual([])
    expect(await orders()).toEqual([])
    expect((await punctual.enqueue('mail', { to: 'ada' }, { idempotencyKey: 'k' })).outcome, 'the key is free').toBe('created')
  })

  it('several become one, each with its own answer', async () => {
    const { punctual, transact } = await scene(connect(url))
    const answers = await transact(async ({ tx }) => {
      const single = [
        await punctual.enqueue('mail', 1, { tx, idempotencyKey: 'a' }),
        await punctual.enqueue('mail', 2, { tx, idempotencyKey: 'a' }),
        await punctual.enqueue('other', 3, { tx, priority: 2, startWithin: '1h', concurrency: { key: 'x', limit: 1 } }),
      ]
      const bulk = await punctual.enqueueMany(
        [
          { job: 'mail', payload: 1, idempotencyKey: 'a' },
          { job: 'mail', payload: 4, idempotencyKey: 'b', delay: '1m' },
        ],
        { tx },
      )
      return [...single, ...bulk]
    })
    expect(answers.map(({ outcome, payloadDiffers }) => `${outcome} ${payloadDiffers}`)).toEqual([
      'created false',
      'existing true',
      'created false',
      'existing false',
      'created false',
    ])
    expect((await punctual.list()).items).toHaveLength(3)
  })

  it('a key that is taken while its work lives is found, moved and replaced', async () => {
    const { punctual, transact } = await scene(connect(url))
    const live = { key: 'k' }
    const { id: before } = await punctual.enqueue('mail', 'old', { idempotencyKey: 'before', delay: '2h' })
    await transact(async ({ tx }) => {
      const { id } = await punctual.enqueue('mail', 'first', { tx, ...live, delay: '1h' })
      expect(await punctual.enqueue('mail', 'second', { tx, ...live })).toMatchObject({
        id,
        outcome: 'existing',
        payloadDiffers: true,
      })
      const moved = await punctual.enqueue('mail', 'first', { tx, ...live, onConflict: 'reschedule', delay: '3h' })
      expect(moved).toMatchObject({ id, outcome: 'moved', payloadDiffers: false })
      const replaced = await punctual.enqueue('mail', 'new', { tx, idempotencyKey: 'before', onConflict: 'replace', delay: '4h' })
      expect(replaced).toMatchObject({ id: before, outcome: 'replaced', payloadDiffers: false })
    })
    const [first, second] = [await punctual.get({ job: 'mail', key: 'k' }), await punctual.get(before)]
    expect(first).toMatchObject({ payload: 'first', state: 'pending' })
    expect(second).toMatchObject({ payload: 'new', state: 'pending' })
    expect(hoursFromNow(first?.dueAt)).toBe(3)
    expect(hoursFromNow(second?.dueAt)).toBe(4)
  })

  it('what was moved and replaced stays as it was when it rolls back', async () => {
    const { punctual, transact } = await scene(connect(url))
    const { id } = await punctual.enqueue('mail', 'old', { key: 'k', delay: '2h' })
    const rolledBack = transact(async ({ tx }) => {
      await punctual.enqueue('mail', 'new', { tx, key: 'k', onConflict: 'replace', delay: '4h' })
      throw new Error('no')
    })
    await expect(rolledBack).rejects.toThrow('no')
    const kept = await punctual.get(id)
    expect(kept).toMatchObject({ payload: 'old', state: 'pending' })
    expect(hoursFromNow(kept?.dueAt)).toBe(2)
  })

  it('a cancel holds once it commits', async () => {
    const { punctual, transact } = await scene(connect(url))
    const { id } = await punctual.enqueue('mail', 1, { key: 'k', delay: '1h' })
    const entity = await punctual.enqueue('mail', 2, { entity: 'ada', delay: '1h', concurrency: { key: 'c', limit: 1 } })
    await transact(async ({ tx }) => {
      expect(await punctual.cancel({ job: 'mail', key: 'k' }, { tx, reason: 'paid' })).toBe('canceled')
      expect(await punctual.cancel({ job: 'mail', entity: 'ada' }, { tx })).toBe('canceled')
      expect(await punctual.cancel('00000000-0000-4000-8000-000000000000', { tx })).toBe('unknown')
      expect((await punctual.get(id))?.state, 'not before').toBe('pending')
      const again = await punctual.enqueue('mail', 3, { tx, key: 'k', delay: '1h' })
      expect(again.outcome, 'the key is free in the same transaction').toBe('created')
    })
    expect(await punctual.get(id)).toMatchObject({ state: 'canceled', turns: [{ reason: 'paid' }] })
    expect((await punctual.get(entity.id))?.state).toBe('canceled')
    expect(await punctual.counts()).toMatchObject({ pending: 1, canceled: 2 })
  })

  it('a cancel leaves no trace when it rolls back', async () => {
    const { punctual, transact } = await scene(connect(url))
    const { id } = await punctual.enqueue('mail', 1, { key: 'k', delay: '1h' })
    const rolledBack = transact(async ({ tx }) => {
      await punctual.cancel(id, { tx })
      throw new Error('no')
    })
    await expect(rolledBack).rejects.toThrow('no')
    expect(await punctual.get(id)).toMatchObject({ state: 'pending', turns: [] })
    expect(await punctual.counts()).toMatchObject({ pending: 1, canceled: 0 })
    expect(await punctual.cancel(id)).toBe('canceled')
  })

  it('work that was created and canceled in it has never been due', async () => {
    const { punctual, transact } = await scene(connect(url))
    const id = await transact(async ({ tx }) => {
      const { id } = await punctual.enqueue('mail', 1, { tx, idempotencyKey: 'k' })
      expect(await punctual.cancel(id, { tx })).toBe('canceled')
      return id
    })
    expect((await punctual.get(id))?.state).toBe('canceled')
  })

  it('an id that another open transaction has taken is waited for', async () => {
    const { punctual, transact, schema } = await scene(connect(url))
    const race = async (end: 'commit' | 'rollback', key: KeyOptions) => {
      const first = new Client({ connectionString: url })
      await first.connect()
      onTestFinished(() => first.end())
      await first.query('BEGIN')
      const taken = await punctual.enqueue('mail', 1, { tx: first, ...key, delay: '1h' })
      const second = transact(({ tx }) => punctual.enqueue('mail', 1, { tx, ...key, delay: '1h' }))
      await isBlocked(schema)
      await first.query(end)
      return [taken.id, await second] as const
    }
    for (const kind of ['key', 'idempotencyKey']) {
      const [id, kept] = await race('commit', { [kind]: 'kept' })
      expect(kept).toMatchObject({ id, outcome: 'existing', payloadDiffers: false })
      const [, made] = await race('rollback', { [kind]: 'free' })
      expect(made.outcome).toBe('created')
    }
  })
})

interface Scene {
  readonly schema: string
  readonly punctual: Punctual
  readonly transact: Transact
  readonly insertOrder: (id: string) => string
  readonly orders: () => Promise<string[]>
}

async function scene(transact: Transact): Promise<Scene> {
  const schema = freshSchemaName()
  const punctual = createPunctual({ store: postgres(url, { schema }) })
  onTestFinished(() => punctual.close())
  await punctual.counts()
  await queryOnce(url, `CREATE TABLE ${schema}.orders (id text)`)
  return {
    schema,
    punctual,
    transact,
    insertOrder: (id) => `INSERT INTO ${schema}.orders VALUES ('${id}')`,
    orders: async () => (await queryOnce<{ id: string }>(url, `SELECT id FROM ${schema}.orders`)).map(({ id }) => id),
  }
}

/** Waits until a statement on this schema waits for another's transaction. */
async function isBlocked(schema: string): Promise<void> {
  const blocked = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%"${schema}"%'`
  await vi.waitUntil(async () => (await queryOnce(url, blocked)).length > 0, patiently)
}

function hoursFromNow(date: Date | undefined): number {
  return Math.round(((date?.getTime() ?? 0) - Date.now()) / 3_600_000)
}
