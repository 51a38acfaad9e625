// A place is a separate database: rows and notifications of one contestant do not reach another.
import { randomBytes } from 'node:crypto'
import { Client } from 'pg'
import { serverUrl } from './server.ts'

export async function makeDatabase(): Promise<string> {
  const name = `bench_${randomBytes(6).toString('hex')}`
  await onDatabase(serverUrl(), (client) => client.query(`CREATE DATABASE ${name}`))
  const url = new URL(serverUrl())
  url.pathname = name
  return url.href
}

export async function removeDatabase(url: string): Promise<void> {
  await onDatabase(serverUrl(), (client) => client.query(`DROP DATABASE ${new URL(url).pathname.slice(1)} WITH (FORCE)`))
}

/**
 * Takes the statistics that would soon be taken anyway. There is no checkpoint, since what is changed after one is written twice:
 * those who update rows would pay for it within the measurement.
 */
export async function settleDatabase(url: string): Promise<void> {
  await onDatabase(url, (client) => client.query('ANALYZE'))
}

/** Leaves nothing to be cleaned up or written out: an idle server then has no work in the background. */
export async function restDatabase(url: string): Promise<void> {
  await onDatabase(url, async (client) => {
    await client.query('VACUUM (ANALYZE)')
    await client.query('CHECKPOINT')
  })
}

export async function onDatabase<Result>(url: string, use: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.end()
  }
}
