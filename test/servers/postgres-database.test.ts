import { expect, it } from 'vitest'
import { createDatabase, freshSchemaName, sharedPostgresUrl } from '../support/postgres-database.ts'
import { queryOnce } from '../support/servers/query-once.ts'

it('gives schemas of different names on a server that all share', async () => {
  const names = [freshSchemaName(), freshSchemaName()]
  const url = await sharedPostgresUrl()
  for (const name of names) await queryOnce(url, `CREATE SCHEMA ${name}`)
  expect(new Set(names).size).toBe(2)
})

it('gives an empty database of its own', async () => {
  const url = await createDatabase()
  expect(await queryOnce(url, `SELECT count(*)::int AS tables FROM pg_tables WHERE schemaname = 'public'`)).toEqual([
    { tables: 0 },
  ])
  expect(await sharedPostgresUrl()).not.toBe(url)
})
