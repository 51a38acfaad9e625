import { sql as drizzleSql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import { CamelCasePlugin, Kysely, sql as kyselySql, ParseJSONResultsPlugin, PostgresDialect } from 'kysely'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import { fromDrizzle, fromKysely } from '../../src/store/postgres/index.ts'
import type { Queryable } from '../../src/store/store.ts'

/** A transaction of a library, as a program that uses it would write it. */
export interface LibraryTransaction {
  readonly tx: Queryable
  /** A statement of the program's own. */
  run(text: string): Promise<unknown>
}

/** Begins a transaction, and commits it unless `work` throws. */
export type Transact = <Value>(work: (transaction: LibraryTransaction) => Promise<Value>) => Promise<Value>

export const libraries: Readonly<Record<string, (url: string) => Transact>> = {
  pg: (url) => {
    const pool = newPool(url)
    return async (work) => {
      const client = await pool.connect()
      try {
        await client.query('BEGIN')
        const value = await work({ tx: client, run: (text) => client.query(text) })
        await client.query('COMMIT')
        return value
      } catch (error) {
        await client.query('ROLLBACK')
        throw error
      } finally {
        client.release()
      }
    }
  },
  Kysely: (url) => {
    const dialect = new PostgresDialect({ pool: newPool(url) })
    const db = new Kysely<object>({ dialect, plugins: [new CamelCasePlugin(), new ParseJSONResultsPlugin()] })
    return (work) =>
      db.transaction().execute((trx) => work({ tx: fromKysely(trx), run: (text) => kyselySql.raw(text).execute(trx) }))
  },
  Drizzle: (url) => {
    const db = drizzle({ client: newPool(url) })
    return (work) => db.transaction((tx) => work({ tx: fromDrizzle(tx), run: async (text) => tx.execute(drizzleSql.raw(text)) }))
  },
}

function newPool(url: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: url })
  onTestFinished(() => pool.end())
  return pool
}
