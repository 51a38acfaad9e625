import { Client } from 'pg'
import { afterAll } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import type { StoreSuiteOptions } from '../../src/testing/store-suite.ts'
import { freshSchemaName, sharedPostgresUrl } from './postgres-database.ts'

/**
 * Opens stores for the cases of a suite on one set of tables, which is emptied for each place. Making tables takes longer than
 * most cases do, and the cases of a file run one after the other, so none sees rows of another.
 */
export function onEmptiedTables(connect: (schema: string) => Store | Promise<Store>): StoreSuiteOptions['open'] {
  const schema = freshSchemaName()
  let place: string | null = null
  let tables: Tables | null = null
  afterAll(() => tables?.close())
  return async (env, wanted) => {
    if (place !== null && place !== wanted) {
      tables ??= await Tables.of(schema)
      await tables.empty()
    }
    place = wanted
    const store = await connect(schema)
    await store.open(env)
    return store
  }
}

class Tables {
  readonly #client: Client
  readonly #emptying: string

  static async of(schema: string): Promise<Tables> {
    const client = new Client({ connectionString: await sharedPostgresUrl() })
    await client.connect()
    const { rows } = await client.query<{ tablename: string }>('SELECT tablename FROM pg_tables WHERE schemaname = $1', [schema])
    // A transaction that a case left open would have us wait for ever; it is an error instead.
    await client.query(`SET lock_timeout = '10s'`)
    return new Tables(
      client,
      schema,
      rows.map(({ tablename }) => tablename),
    )
  }

  constructor(client: Client, schema: string, names: readonly string[]) {
    this.#client = client
    // Of tables with few rows, deleting them takes a tenth of what TRUNCATE takes to make new files.
    const lasting = ['migration', 'meta', 'life', 'door']
    this.#emptying = [
      // Triggers guard the audit.
      'SET session_replication_role = replica',
      ...names.filter((name) => !lasting.includes(name)).map((name) => `DELETE FROM ${schema}.${name}`),
      `UPDATE ${schema}.meta SET pause_revision = 0`,
      `UPDATE ${schema}.life SET alive_since = 0, last_alive_at = 0`,
      `UPDATE ${schema}.door SET is_full = false`,
      `SELECT setval(oid::regclass, 1, false) FROM pg_class WHERE relnamespace = '${schema}'::regnamespace AND relkind = 'S'`,
    ].join(';\n')
  }

  async empty(): Promise<void> {
    await this.#client.query(this.#emptying)
  }

  async close(): Promise<void> {
    await this.#client.end()
  }
}
