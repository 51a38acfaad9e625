import { randomBytes } from 'node:crypto'
import process from 'node:process'
import { Client } from 'pg'
import { afterAll } from 'vitest'
import { postgres } from './servers/needed.ts'
import { queryOnce } from './servers/query-once.ts'
import { askRun, noteUse } from './servers/run-servers.ts'

let shared: Promise<string> | undefined
const cleanUps: string[] = []

/** The URL of the server that the whole run shares: the one the environment names, else ours, started when first asked for. */
export function sharedPostgresUrl(): Promise<string> {
  shared ??= findShared()
  return shared
}

/** The name of a schema that does not exist. The schema is dropped at the end of the test file. */
export function freshSchemaName(): string {
  const name = freshName()
  cleanUps.push(`DROP SCHEMA IF EXISTS ${name} CASCADE`)
  return name
}

/** Makes an empty database on the shared server, for tests that need more than a schema, and gives its URL. */
export async function createDatabase(): Promise<string> {
  const url = new URL(await sharedPostgresUrl())
  const name = freshName()
  await queryOnce(url.href, `CREATE DATABASE ${name}`)
  cleanUps.push(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
  url.pathname = `/${name}`
  return url.href
}

// Registered when a test file imports this, so it runs after the hooks of the file.
afterAll(async () => {
  if (cleanUps.length === 0 || shared === undefined) return
  const client = new Client({ connectionString: await shared })
  await client.connect()
  try {
    // A transaction that a test left open would have us wait for ever; it is an error instead.
    await client.query(`SET lock_timeout = '10s'`)
    for (const statement of cleanUps) await client.query(statement)
  } finally {
    await client.end()
  }
})

/** A random name of letters alone: a test that looks for numbers in statements must not find one in a name. */
function freshName(): string {
  return `test_${Array.from(randomBytes(14), (byte) => 'abcdefghijklmnop'[byte % 16]).join('')}`
}

async function findShared(): Promise<string> {
  const given = process.env[postgres.variable]
  const url = given || (await askRun<{ url: string }>('postgres'))?.url
  if (!url) throw new Error('This process is not part of a test run, which would have started a PostgreSQL.')
  if (given) await noteUse(postgres, `${await versionOf(url)} (${postgres.variable})`)
  return url
}

async function versionOf(url: string): Promise<string> {
  const [row] = await queryOnce<{ server_version: string }>(url, 'SHOW server_version')
  // Distributions add words after the number.
  return row?.server_version.split(' ')[0] ?? ''
}
