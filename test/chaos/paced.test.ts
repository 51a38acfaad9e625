import { expect, it, onTestFinished } from 'vitest'
import { openStoreUrl } from '../../src/cli/store-url.ts'
import { createPunctual } from '../../src/client/punctual.ts'
import { databasePath } from '../support/database-path.ts'
import { freshSchemaName, sharedPostgresUrl } from '../support/postgres-database.ts'
import { startWorker } from '../support/worker-process.ts'

const program = new URL('./paced.process.ts', import.meta.url)
const silent = { debug() {}, info() {}, warn() {}, error() {} }
const urls = {
  sqlite: async () => `sqlite:${databasePath()}`,
  postgres: async () => {
    const url = new URL(await sharedPostgresUrl())
    url.searchParams.set('schema', freshSchemaName())
    return url.href
  },
}
const stores = Object.keys(urls) as (keyof typeof urls)[]

/** Three processes call under one key at once. Returns all calls, and a client of the same store. */
async function contend(store: keyof typeof urls, pace: 'throttle' | 'debounce') {
  const url = await urls[store]()
  const client = createPunctual({ store: await openStoreUrl(url), log: silent })
  onTestFinished(() => client.close())
  await client.list()
  const workers = ['p', 'q', 'r'].map((name) => startWorker(program, url, name, pace))
  expect(await Promise.all(workers.map(({ ended }) => ended))).toEqual([0, 0, 0])
  const calls = workers.flatMap(({ said }) => said)
  expect(calls).toHaveLength(48)
  return { client, calls }
}

it.each(stores)('of throttled calls of several processes exactly one creates, on %s', { timeout: 60_000 }, async (store) => {
  const { client, calls } = await contend(store, 'throttle')
  const created = calls.filter(({ outcome }) => outcome === 'created')
  expect(created).toHaveLength(1)
  const { items } = await client.list()
  expect(items).toHaveLength(1)
  expect(await client.get(items[0]?.id as string)).toMatchObject({ payload: created[0]?.payload })
})

it.each(stores)('debounced calls of several processes become one, the last wins, on %s', { timeout: 60_000 }, async (store) => {
  const { client, calls } = await contend(store, 'debounce')
  expect(calls.filter(({ outcome }) => outcome === 'created')).toHaveLength(1)
  const { items } = await client.list()
  expect(items).toHaveLength(1)
  const id = items[0]?.id as string
  const lasts = calls.filter(({ isLast }) => isLast).map(({ payload }) => payload)
  expect(lasts).toContain((await client.get(id))?.payload)
  await client.enqueue('save', 'the very last', { key: 'doc', debounce: { wait: '1h', longest: '9h' } })
  expect(await client.get(id)).toMatchObject({ payload: 'the very last' })
  expect((await client.list()).items).toHaveLength(1)
})
