import { drizzle } from 'drizzle-orm/node-postgres'
import { sql } from 'drizzle-orm/sql'
import type { PoolClient } from 'pg'
import { expect, it } from 'vitest'
import { postgres } from '../../../src/store/postgres/index.ts'
import type { CheckpointItem } from '../../../src/store/store.ts'
import { memberRef } from '../../../src/testing/store-suite/scene.ts'
import { type PostgresScene, postgresScene, withinTransaction } from '../../support/postgres-scene.ts'
import { queryOnce } from '../../support/servers/query-once.ts'

it('commits the writes of a handler together with its attempt', async () => {
  const { scene, invoices, insert } = await withInvoices()
  const holding = await scene.running()
  const within = async (tx: unknown) => {
    await (tx as PoolClient).query(insert('a'))
    expect(await invoices(), 'not before').toEqual([])
    return '"a"'
  }
  expect(await scene.store.checkpoint([{ ...itemOf(holding, scene), within }])).toEqual(['ok'])
  expect(await invoices()).toEqual(['a'])
  expect((await scene.get(holding.id)).attempts).toMatchObject([{ state: 'succeeded', result: '"a"' }])
})

it('undoes the writes of a handler that throws, and records nothing', async () => {
  const { scene, invoices, insert } = await withInvoices()
  const holding = await scene.running()
  const within = async (tx: unknown) => {
    await (tx as PoolClient).query(insert('b'))
    throw new Error('no stamps')
  }
  await expect(scene.store.checkpoint([{ ...itemOf(holding, scene), within }])).rejects.toThrow('no stamps')
  expect(await invoices()).toEqual([])
  expect((await scene.get(holding.id)).attempts).toEqual([])
})

it.each(['COMMIT', 'ROLLBACK'])('refuses %s inside the work, alone and among others', async (text) => {
  const { scene, invoices, insert } = await withInvoices()
  const refused = { code: 'transaction.invalid' }
  for (const query of [text, `${insert('c')}; ${text}; ${insert('d')}`]) {
    const done = withinTransaction(scene, async (tx) => {
      await tx.query(insert('b'))
      await tx.query(query)
    })
    await expect(done).rejects.toMatchObject(refused)
  }
  const byObject = withinTransaction(scene, (tx) => tx.query({ text }))
  await expect(byObject).rejects.toMatchObject(refused)
  const byCallback = withinTransaction(scene, (tx) => new Promise((_, reject) => tx.query(text, reject)))
  await expect(byCallback).rejects.toMatchObject(refused)
  expect(await invoices()).toEqual([])
})

it('lets a handler use savepoints of its own, and words that only look like an end', async () => {
  const { scene, invoices, insert } = await withInvoices()
  await withinTransaction(scene, async (tx) => {
    await tx.query('SAVEPOINT own')
    await tx.query(insert('d'))
    await tx.query('ROLLBACK TO own; RELEASE SAVEPOINT own')
    await tx.query(insert('; COMMIT'))
  })
  expect(await invoices()).toEqual(['; COMMIT'])
})

it('refuses to commit after a statement that failed and whose error was kept', async () => {
  const { scene, invoices, insert } = await withInvoices()
  const done = withinTransaction(scene, async (tx) => {
    await tx.query(insert('a'))
    await tx.query('SELECT 1 / 0').catch(() => {})
  })
  await expect(done).rejects.toMatchObject({ code: 'transaction.invalid', message: expect.stringContaining('savepoint') })
  expect(await invoices()).toEqual([])
})

it('a constraint that is checked at the commit fails the work', async () => {
  const { scene, invoices, insert, table } = await withInvoices()
  await withinTransaction(scene, (tx) => tx.query(`ALTER TABLE ${table} ADD UNIQUE (id) DEFERRABLE INITIALLY DEFERRED`))
  const done = withinTransaction(scene, (tx) => tx.query(`${insert('a')}; ${insert('a')}`))
  await expect(done).rejects.toMatchObject({ code: '23505' })
  expect(await invoices()).toEqual([])
})

it('takes the client back when the work is done', async () => {
  const { scene, invoices, insert } = await withInvoices()
  let kept!: PoolClient
  await withinTransaction(scene, (tx) => {
    kept = tx
    expect(() => tx.release()).toThrow('may not release')
    expect(() => tx.end()).toThrow('may not release')
  })
  await expect(kept.query(insert('late'))).rejects.toMatchObject({ code: 'transaction.invalid' })
  expect(await invoices()).toEqual([])
})

it('is a client that libraries can use', async () => {
  const { scene, invoices, table } = await withInvoices()
  await withinTransaction(scene, async (tx) => {
    const db = drizzle({ client: tx })
    await db.execute(sql`INSERT INTO ${sql.raw(table)} VALUES (${'a'})`)
    await expect(db.transaction(async () => {})).rejects.toThrow()
  })
  expect(await invoices()).toEqual(['a'])
})

it('does not repeat work whose attempt is recorded, and tells its result', async () => {
  const { scene } = await withInvoices()
  const holding = await scene.running()
  let runs = 0
  const told: unknown[] = []
  const work: Pick<CheckpointItem, 'within' | 'recorded'> = {
    within: async () => String(++runs),
    recorded: (result) => void told.push(result),
  }
  expect(await scene.store.checkpoint([{ ...itemOf(holding, scene), ...work }])).toEqual(['ok'])
  expect(await scene.store.checkpoint([{ ...itemOf(holding, scene), ...work }])).toEqual(['ok'])
  expect([runs, told]).toEqual([1, ['1']])
})

it('of two tries of the same attempt one commits, and both have its result', async () => {
  const { scene, invoices, insert } = await withInvoices()
  const holding = await scene.running()
  const other = await scene.another()
  const met = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const
  const results: (string | null)[] = []
  const attempt = async (store: typeof scene.store, at: 0 | 1) => {
    const within = async (tx: unknown) => {
      await (tx as PoolClient).query(insert(`try ${at}`))
      met[at].resolve()
      await met[1 - at]?.promise
      results[at] = `"${at}"`
      return `"${at}"`
    }
    const recorded = (result: string | null) => {
      results[at] = result
    }
    return store.checkpoint([{ ...itemOf(holding, scene), within, recorded }])
  }
  expect(await Promise.all([attempt(scene.store, 0), attempt(other, 1)])).toEqual([['ok'], ['ok']])
  const { attempts } = await scene.get(holding.id)
  expect(results).toEqual([attempts[0]?.result, attempts[0]?.result])
  expect(await invoices()).toEqual([`try ${JSON.parse(attempts[0]?.result as string)}`])
})

it('keeps nobody from taking the turn away, and then commits nothing', async () => {
  const { scene, invoices, insert } = await withInvoices()
  const holding = await scene.running()
  const within = async (tx: unknown) => {
    await (tx as PoolClient).query(insert('a'))
    await scene.loseNode()
    return null
  }
  expect(await scene.store.checkpoint([{ ...itemOf(holding, scene), within }])).toEqual(['lost'])
  expect(await invoices()).toEqual([])
  expect(await scene.get(holding.id)).toMatchObject({ state: 'retrying', turns: [{ end: 'lost' }], attempts: [] })
})

it('keeps nobody from ending other members of its claim, however many such transactions are open', async () => {
  const { scene } = await withInvoices()
  await scene.join()
  const count = 10
  for (let at = 0; at <= count; at++) await scene.create()
  const holding = await scene.claim()
  const end = Promise.withResolvers<void>()
  const areIn = Array.from({ length: count }, () => Promise.withResolvers<void>())
  const commits = areIn.map(({ resolve }, at) => {
    const within = async () => {
      resolve()
      await end.promise
      return null
    }
    return scene.store.checkpoint([{ ...memberRef(holding, at), attempts: [], within }])
  })
  await Promise.all(areIn.map(({ promise }) => promise))
  expect(await scene.settle(holding, 'completed', { i: count, done: false })).toBe('ok')
  end.resolve()
  expect(await Promise.all(commits)).toEqual(areIn.map(() => ['ok']))
})

it('is cut off when the store is closed', async () => {
  const { scene, schema, url, invoices, insert } = await withInvoices()
  const holding = await scene.running()
  const store = postgres(url, { schema })
  await store.open({ clock: scene.clock, random: () => 0 })
  const isIn = Promise.withResolvers<void>()
  const within = async (tx: unknown) => {
    await (tx as PoolClient).query(insert('a'))
    isIn.resolve()
    return new Promise<null>(() => {})
  }
  const committed = store.checkpoint([{ ...itemOf(holding, scene), within }])
  const refused = expect(committed).rejects.toMatchObject({ code: 'store.closed' })
  await isIn.promise
  await store.close()
  await refused
  expect(await invoices()).toEqual([])
})

type Scene = PostgresScene['scene']

function itemOf(holding: Parameters<typeof memberRef>[0], scene: Scene): CheckpointItem {
  return { ...memberRef(holding), attempts: [scene.attempt({ state: 'succeeded', error: null })] }
}

async function withInvoices() {
  const { scene, schema, url } = await postgresScene()
  const table = `${schema}.invoice`
  await queryOnce(url, `CREATE TABLE ${table} (id text)`)
  return {
    scene,
    schema,
    url,
    table,
    insert: (id: string) => `INSERT INTO ${table} VALUES ('${id}')`,
    invoices: async () => (await queryOnce<{ id: string }>(url, `SELECT id FROM ${table} ORDER BY id`)).map(({ id }) => id),
  }
}
