import { afterAll } from 'vitest'
import type { Context } from '../../src/store/postgres/context.ts'
import { Database } from '../../src/store/postgres/database.ts'
import { Dictionary } from '../../src/store/postgres/dictionary.ts'
import { Facts } from '../../src/store/postgres/facts.ts'
import { migrations } from '../../src/store/postgres/schema.ts'
import { freshSchemaName, sharedPostgresUrl } from './postgres-database.ts'

const opened: Database[] = []
afterAll(() => Promise.all(opened.map((db) => db.close())))

/** Empty tables in a schema of their own, whose clock stands at `now`. */
export async function postgresContext(now = 1_000_000): Promise<Context> {
  const schema = freshSchemaName()
  const db = new Database(await sharedPostgresUrl(), { schema, prepare: true })
  opened.push(db)
  await db.transaction(async (session) => {
    await session.all(`CREATE SCHEMA ${schema}`)
    for (const { sql } of migrations.flatMap(({ statements }) => statements)) await session.all(sql)
  })
  return {
    db,
    dictionary: new Dictionary(db.apart),
    facts: new Facts(),
    isCompat: false,
    now: () => now,
    guessNow: () => now,
    noteNow: () => {},
  }
}
