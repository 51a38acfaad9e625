// Opens the database of the billing: a file of SQLite, or PostgreSQL by its URL. Punctual's tables are in the same one.
import { DatabaseSync } from 'node:sqlite'
import { Pool } from 'pg'
import type { Store } from 'punctual'
import { postgres } from 'punctual/postgres'
import { sqlite } from 'punctual/sqlite'
import { type Row, rowsOf } from './database.ts'
import { tables } from './tables.ts'

export interface Database {
  readonly store: Store
  /** One statement outside of Punctual's transactions. */
  all(sql: string): Promise<readonly Row[]>
  close(): Promise<void>
}

export async function openDatabase(place: string): Promise<Database> {
  const database = place.startsWith('postgres') ? inPostgres(place) : inFile(place)
  for (const sql of tables) await database.all(sql)
  return database
}

function inPostgres(url: string): Database {
  // A role may have the name of Punctual's schema, and new tables go into the schema of that name.
  const pool = new Pool({ connectionString: url, options: '-c search_path=public' })
  return { store: postgres(url), all: async (sql) => (await pool.query(sql)).rows, close: () => pool.end() }
}

function inFile(path: string): Database {
  const db = new DatabaseSync(path, { timeout: 5000 })
  db.exec('PRAGMA journal_mode = WAL')
  return { store: sqlite(path), all: async (sql) => rowsOf(db, { sql, values: [] }), close: async () => db.close() }
}
