// Making tables takes longer than most tests do, so tests of one file use the same ones, emptied in between. They run one after the
// other, and none sees what another has left.
import { Client } from 'pg'
import { afterAll } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import type { StoreSuiteOptions } from '../../src/testing/store-suite.ts'
import { freshSchemaName, sharedPostgresUrl } from './postgres-database.ts'

/** Opens stores for the cases of a suite on one set of tables, which is emptied for each place. */
export function onEmptiedTables(connect: (schema: string) => Store | Promise<Store>): StoreSuiteOptions['open'] {
  const schema = freshSchemaName()
  let place: string | null = null
  return async (env, wanted) => {
    if (place !== null && place !== wanted) await empty(schema)
    place = wanted
    const store = await connect(schema)
    await store.open(env)
    return store
  }
}

const spare: string[] = []

/** A schema without tables, or with empty ones. Once nothing uses it any more, `giveBack` leaves it to the next test of the file. */
export function borrowSchema(): { readonly schema: string; giveBack(): Promise<void> } {
  const schema = spare.pop() ?? freshSchemaName()
  return {
    schema,
    async giveBack() {
      await empty(schema)
      spare.push(schema)
    },
  }
}

const emptyings = new Map<string, string>()
let client: Promise<Client> | null = null
afterAll(async () => void (await (await client)?.end()))

async function empty(schema: string): Promise<void> {
  client ??= connect()
  const connected = await client
  const emptying = emptyings.get(schema) ?? (await emptyingOf(connected, schema))
  if (emptying === null) return
  emptyings.set(schema, emptying)
  await connected.query(emptying)
}

async function connect(): Promise<Client> {
  const connected = new Client({ connectionString: await sharedPostgresUrl() })
  await connected.connect()
  // A transaction that a case left open would have us wait for ever; it is an error instead. Triggers guard the audit.
  await connected.query(`SET lock_timeout = '10s'; SET session_replication_role = replica`)
  return connected
}

/** Null while there are no tables. */
async function emptyingOf(connected: Client, schema: string): Promise<string | null> {
  const { rows } = await connected.query<{ name: string }>('SELECT tablename AS name FROM pg_tables WHERE schemaname = $1', [
    schema,
  ])
  if (rows.length === 0) return null
  const lasting = ['migration', 'meta', 'life', 'door']
  return [
    // Of tables with few rows, deleting them takes a tenth of what TRUNCATE takes to make new files.
    ...rows.filter(({ name }) => !lasting.includes(name)).map(({ name }) => `DELETE FROM ${schema}.${name}`),
    `UPDATE ${schema}.meta SET pause_revision = 0`,
    `UPDATE ${schema}.life SET alive_since = 0, last_alive_at = 0`,
    `UPDATE ${schema}.door SET is_full = false`,
    `SELECT setval(oid::regclass, 1, false) FROM pg_class WHERE relnamespace = '${schema}'::regnamespace AND relkind = 'S'`,
  ].join(';\n')
}
