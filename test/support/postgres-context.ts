import { afterAll } from 'vitest'
import { Database } from '../../src/store/postgres/connection/database.ts'
import type { Context } from '../../src/store/postgres/context.ts'
import { Names } from '../../src/store/postgres/names/names.ts'
import { Versions } from '../../src/store/postgres/names/versions.ts'
import { migrations } from '../../src/store/postgres/schema/tables.ts'
import { freshSchemaName, sharedPostgresUrl } from './postgres-database.ts'

const opened: Database[] = []
afterAll(() => Promise.all(opened.map((db) => db.close())))

/** Empty tables in a separate schema, whose clock shows `now`. */
export async function postgresContext(now = 1_000_000): Promise<Context> {
  const schema = freshSchemaName()
  const db = new Database(await sharedPostgresUrl(), { schema, prepare: true })
  opened.push(db)
  await db.transaction(async (session) => {
    await session.rows(`CREATE SCHEMA ${schema}`)
    for (const sql of migrations.flatMap(({ statements }) => statements)) await session.rows(sql)
  })
  return {
    db,
    names: new Names(db.apart),
    versions: new Versions(),
    now: () => now,
    guessNow: () => now,
    noteNow: () => {},
  }
}
