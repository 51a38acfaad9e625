// Plans are kept: one that is made while tables are empty must be as good for full ones.
import { expect, it } from 'vitest'
import { postgresContext } from '../../support/postgres-context.ts'

const probes = [
  'SELECT due_at FROM punctual.ready WHERE kind = 1 AND priority = 5 AND NOT gate ORDER BY due_at, ref LIMIT 1',
  'SELECT 1 FROM punctual.ready WHERE series = 1 AND ref = 1',
  'SELECT due_at FROM punctual.ready WHERE kind = 1 AND gate ORDER BY due_at, ref LIMIT 1',
  'SELECT wake_at FROM punctual.waiting WHERE wake_at IS NOT NULL ORDER BY wake_at LIMIT 1',
  "SELECT ref FROM punctual.waiting WHERE key = 'k' ORDER BY priority, recovery, due_at, ref LIMIT 1",
  'SELECT ref FROM punctual.ready WHERE expires_at < 5 ORDER BY expires_at LIMIT 1',
  'SELECT key FROM punctual.release WHERE free_at < 5',
  "SELECT 1 FROM punctual.limit_key WHERE key = 'k' FOR UPDATE",
  "SELECT ref FROM punctual.live_key WHERE series = 1 AND key = 'k'",
  'SELECT payload FROM punctual.occurrence WHERE ref = 1',
  "SELECT ref FROM punctual.occurrence WHERE id = '00000000-0000-7000-8000-000000000000'",
  'SELECT "end" FROM punctual.turn WHERE ref = 1 ORDER BY turn DESC LIMIT 1',
]

it('reads no table from end to end because it was empty when it was swept', async () => {
  const { db } = await postgresContext()
  const tables = new Set(probes.map((probe) => /punctual\.\w+/.exec(probe)?.[0] as string))
  for (const table of tables) {
    expect(await db.rows(`SELECT count(*) FROM ${table}`)).toEqual([{ count: 0 }])
    await db.rows(`VACUUM ANALYZE ${table}`)
  }
  for (const probe of probes) {
    const lines = (await db.rows<{ 'QUERY PLAN': string }>(`EXPLAIN ${probe}`)).map((row) => row['QUERY PLAN'])
    expect(
      lines.filter((line) => /Seq Scan|Sort/.test(line)),
      probe,
    ).toEqual([])
  }
})
