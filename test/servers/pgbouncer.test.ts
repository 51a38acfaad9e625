import { Client } from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { sharedPostgresUrl } from '../support/postgres-database.ts'
import { isLeftOut, pgbouncer as needed } from '../support/servers/needed.ts'
import { startPgbouncer } from '../support/servers/pgbouncer.ts'
import { queryOnce } from '../support/servers/query-once.ts'

describe.skipIf(isLeftOut(needed))('a pgbouncer of a test', () => {
  it('passes queries, and is gone when stopped', async () => {
    const pgbouncer = await startPgbouncer({ url: await sharedPostgresUrl() })
    expect(await queryOnce(pgbouncer.url, 'SELECT 1 AS n')).toEqual([{ n: 1 }])
    expect(pgbouncer.version).toMatch(/^\d+\.\d+/)
    await pgbouncer.stop()
    await expect(queryOnce(pgbouncer.url, 'SELECT 1')).rejects.toThrow('ECONNREFUSED')
  })

  it('gives a connection to whoever has a transaction in transaction mode', async () => {
    const pgbouncer = await startPgbouncer({ url: await sharedPostgresUrl() }, { poolMode: 'transaction', poolSize: 1 })
    onTestFinished(() => pgbouncer.stop())
    const [one, two] = [await connect(pgbouncer.url), await connect(pgbouncer.url)]
    expect(await backendOf(one)).toBe(await backendOf(two))
    await one.query('BEGIN')
    const first = await backendOf(one)
    let isServed = false
    const second = backendOf(two).then((pid) => {
      isServed = true
      return pid
    })
    await one.query('SELECT 1')
    expect(isServed).toBe(false)
    await one.query('COMMIT')
    expect(await second).toBe(first)
  })
})

async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url })
  await client.connect()
  onTestFinished(() => client.end())
  return client
}

async function backendOf(client: Client): Promise<number> {
  return (await client.query('SELECT pg_backend_pid() AS pid')).rows[0].pid
}
