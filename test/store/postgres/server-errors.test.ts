// Errors of the server, each provoked for real: the store tries again or throws a PunctualError, and nothing is half done.
import { Client } from 'pg'
import { expect, it, onTestFinished, vi } from 'vitest'
import { postgres } from '../../../src/store/postgres/index.ts'
import { memberRef, Scene } from '../../../src/testing/store-suite/scene.ts'
import { patiently } from '../../support/patiently.ts'
import { createDatabase, freshSchemaName, sharedPostgresUrl } from '../../support/postgres-database.ts'
import { brokenInvariants } from '../../support/postgres-invariants.ts'
import { queryOnce } from '../../support/servers/query-once.ts'

it('40P01 of two that wait for each other the one that is ended tries again', async () => {
  const { scene, connect, waiting, table } = await newScene('deadlock_timeout=1ms')
  const holdings = [await scene.running(), await scene.running(), await scene.running()]
  const ids = holdings.map(({ claim }) => claim.id)
  const lock = (client: Client, id: string | undefined) =>
    client.query(`SELECT id FROM ${table('claim')} WHERE id = $1 FOR UPDATE`, [id])
  const [gate, other] = [await connect(), await connect()]
  await gate.query('BEGIN')
  await lock(gate, ids[1])
  // Claims are locked in order: the first is the store's now, and the second holds it up.
  const attempts = [scene.attempt()]
  const written = scene.store.checkpoint(holdings.map((holding) => ({ ...memberRef(holding), attempts })))
  await waiting(1)
  // Only the store looks for a deadlock.
  await other.query(`SET deadlock_timeout = '1h'; BEGIN`)
  await lock(other, ids[2])
  const given = lock(other, ids[0])
  await waiting(2)
  await gate.query('COMMIT')
  // No other session can have it before the store has given it back.
  await given
  await other.query('COMMIT')
  expect(await written).toEqual(['ok', 'ok', 'ok'])
  for (const { id } of holdings) expect((await scene.get(id)).attempts).toHaveLength(1)
})

it('40001 what another has changed meanwhile is done again', async () => {
  const { scene, connect, waiting, table } = await newScene('default_transaction_isolation=repeatable\\ read')
  const holding = await scene.running()
  const other = await connect()
  await other.query('BEGIN')
  await other.query(`UPDATE ${table('claim')} SET token = token`)
  const sent = vi.spyOn(Client.prototype, 'query')
  onTestFinished(() => sent.mockRestore())
  const settled = scene.settle(holding, 'completed')
  await waiting(1)
  await other.query('COMMIT')
  expect(await settled).toBe('ok')
  const texts = sent.mock.calls.map(([query]) => (query as { text?: string }).text)
  expect(texts.filter((text) => text?.includes('turn (ref, turn, series'))).toHaveLength(2)
})

it.each([
  { code: '57014', end: 'pg_cancel_backend', kind: 'store.busy' },
  { code: '57P01', end: 'pg_terminate_backend', kind: 'store.unreachable' },
])('$code a call that is ended by $end is told as $kind, and may be said again', async ({ code, end, kind }) => {
  const { scene, connect, waiting, table, url, schema } = await newScene()
  const holding = await scene.running()
  const other = await connect()
  await other.query('BEGIN')
  await other.query(`SELECT id FROM ${table('claim')} FOR UPDATE`)
  for (const settled of ['completed', 'parked'] as const) {
    const refused = expect(scene.settle(holding, settled)).rejects.toMatchObject({ code: kind, details: { code } })
    const [pid] = await waiting(1)
    await queryOnce(url, `SELECT ${end}($1)`, [pid])
    await refused
  }
  await other.query('COMMIT')
  expect(await scene.state(holding.id)).toBe('running')
  expect(await scene.settle(holding, 'completed')).toBe('ok')
  expect(await brokenInvariants(url, schema)).toEqual([])
})

it('57P01 all connections are ended at once: the next calls get new ones', async () => {
  const { scene, url } = await newScene()
  const [id] = await Promise.all(Array.from({ length: 8 }, () => scene.create()))
  await endConnections(url)
  expect(await inTheEnd(() => scene.state(id as string))).toBe('pending')
  expect(await Promise.all(Array.from({ length: 8 }, () => scene.createOne()))).toHaveLength(8)
})

it('after a loss nothing is taken for known: another server may give the same numbers to other names', async () => {
  const { scene, url, table } = await newScene()
  await scene.completed()
  await queryOnce(
    url,
    `UPDATE ${table('series')} SET job = 'report' WHERE job = 'mail'; UPDATE ${table('kind')} SET name = 'other' WHERE name = 'mail';
      UPDATE ${table('kind')} SET name = 'mail' WHERE name = 'report'; UPDATE ${table('kind')} SET name = 'report' WHERE name = 'other';
      UPDATE ${table('form')} SET digest = 'of another server'`,
  )
  await endConnections(url)
  await inTheEnd(() => scene.join())
  const id = await scene.create()
  const other = await scene.another()
  expect(await other.get({ id })).toMatchObject({ record: { job: 'mail' } })
  const { members } = await other.claim(scene.claimRequest({ kinds: ['mail'] }))
  expect(members.map(({ record }) => record.id)).toEqual([id])
})

it('after a loss no call is carried out that waited for a connection: it was made for the server of before', async () => {
  const { scene, connect, waiting, table, url } = await newScene()
  const holding = await scene.running()
  const other = await connect()
  await other.query('BEGIN')
  await other.query(`SELECT id FROM ${table('claim')} FOR UPDATE`)
  const checkpoint = () => scene.store.checkpoint([{ ...memberRef(holding), attempts: [] }])
  const calls = Array.from({ length: 8 }, checkpoint)
  await waiting(8)
  calls.push(scene.createOne() as never)
  const answers = Promise.allSettled(calls)
  await endConnections(url)
  const refused = { status: 'rejected', reason: { code: 'store.unreachable' } }
  expect(await answers).toMatchObject(Array.from({ length: 9 }, () => refused))
  await other.query('COMMIT')
  expect((await inTheEnd(() => scene.createOne())).outcome).toBe('created')
})

it('25006 a server that takes no writes is away until it does', async () => {
  const { scene, url, schema } = await newScene()
  const holding = await scene.running()
  const name = new URL(url).pathname.slice(1)
  await queryOnce(url, `ALTER DATABASE ${name} SET default_transaction_read_only = on`)
  await endConnections(url)
  const away = { code: 'store.unreachable', details: { code: '25006' } }
  const calls = [
    () => scene.createOne(),
    () => scene.claim(),
    () => scene.settle(holding, 'completed'),
    () => scene.store.checkpoint([{ ...memberRef(holding), attempts: [scene.attempt()] }]),
    () => scene.beat({ claims: [holding.claim.id] }),
    () => scene.store.cancel({ which: { id: holding.id }, reason: null }),
    () => scene.putJob(),
  ]
  // A call may still meet a connection that was ended.
  for (const call of calls) await vi.waitFor(() => expect(call()).rejects.toMatchObject(away), patiently)
  expect(await scene.state(holding.id), 'what only reads goes on').toBe('running')
  await queryOnce(await sharedPostgresUrl(), `ALTER DATABASE ${name} RESET default_transaction_read_only`)
  expect(await inTheEnd(() => scene.settle(holding, 'completed'))).toBe('ok')
  expect(await brokenInvariants(url, schema)).toEqual([])
})

/** An empty store with connections of these settings, in a separate database. */
async function newScene(...settings: readonly string[]) {
  const url = await createDatabase()
  const schema = freshSchemaName()
  const options = encodeURIComponent(['jit=off', ...settings].map((setting) => `-c ${setting}`).join(' '))
  const scene = await Scene.open({
    place: schema,
    lacks: {},
    open: async (env) => {
      const store = postgres(`${url}?options=${options}`, { schema, listenUrl: false })
      await store.open(env)
      return store
    },
  })
  onTestFinished(() => scene.close())
  const connect = async () => {
    const client = new Client({ connectionString: url })
    await client.connect()
    onTestFinished(() => client.end())
    return client
  }
  /** Waits until so many sessions wait for locks, and returns them. */
  const waiting = (count: number) =>
    vi.waitFor(async () => {
      const ask = `SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`
      const pids = (await queryOnce<{ pid: number }>(url, ask)).map(({ pid }) => pid)
      expect(pids).toHaveLength(count)
      return pids
    }, patiently)
  return { scene, url, schema, connect, waiting, table: (name: string) => `${schema}.${name}` }
}

/** As an administrator would; resolves when they are gone from the server. */
async function endConnections(url: string): Promise<void> {
  const ended = await queryOnce(
    url,
    `SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE application_name = 'punctual' AND datname = current_database()`,
  )
  expect(ended.length).toBeGreaterThan(0)
}

/** A connection that is of no use any more may be given to a call before anybody knows, and is thrown away then. */
async function inTheEnd<Answer>(call: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    try {
      return await call()
    } catch (error) {
      expect(error).toMatchObject({ code: 'store.unreachable' })
    }
  }
}
