import { describe, expect, it } from 'vitest'
import { postgres } from '../../../src/store/postgres/index.ts'
import { onEmptiedTables } from '../../support/emptied-tables.ts'
import { sharedPostgresUrl } from '../../support/postgres-database.ts'
import { registerStoreSuite } from '../../support/register-store-suite.ts'
import { recordStatements } from '../../support/statement-recorder.ts'

/** What databases that speak PostgreSQL's language lack, or do in another way. */
const avoided: readonly (readonly [what: string, pattern: RegExp])[] = [
  ['locks that skip or refuse', /\bSKIP\s+LOCKED\b|\bNOWAIT\b/i],
  ['advisory locks', /\bpg_(try_)?advisory_/i],
  ['notifications', /\b(UN)?LISTEN\b|\bNOTIFY\b|\bpg_notify\b/i],
  ['partitions of tables', /\bPARTITION\s+OF\b|\b(ATTACH|DETACH)\s+PARTITION\b|\bCREATE\s+TABLE\b[^;]*\bPARTITION\s+BY\b/i],
  ['columns beside an index', /\bINCLUDE\s*\(/i],
  ['deferred constraints', /\bDEFERRABLE\b|\bINITIALLY\s+DEFERRED\b/i],
  ['storage parameters', /\b(SET|WITH)\s*\(\s*(autovacuum|fillfactor|toast)/i],
  ['block range indexes', /\bbrin/i],
  ['the place of a row', /\bctid\b/i],
  ['settings of the planner', /\bSET\s+(LOCAL\s+|SESSION\s+)?(jit|enable_)/i],
]

describe('compat: true', () => {
  const { all: statements } = recordStatements()

  registerStoreSuite({
    name: 'compat',
    open: onEmptiedTables(async (schema) => postgres(await sharedPostgresUrl(), { schema, compat: true })),
  })

  it('has recorded what was sent', () => {
    expect(statements.size).toBeGreaterThan(80)
    expect([...statements].filter((text) => text.includes('CREATE TABLE')).length).toBeGreaterThan(0)
  })

  it.each(avoided)('sends no statement with %s', (_, pattern) => {
    expect([...statements].filter((text) => pattern.test(text))).toEqual([])
  })

  it('writes to no table twice in one statement', () => {
    const each = [...statements].flatMap((text) => text.split(/;\n|; /))
    expect(each.filter((text) => hasTwice(tablesWritten(text)))).toEqual([])
    expect(
      tablesWritten('WITH a AS (DELETE FROM "s".x), b AS (INSERT INTO "s".x VALUES (1) ON CONFLICT (n) DO UPDATE SET n = 1)'),
    ).toEqual(['x', 'x'])
  })
})

function tablesWritten(text: string): string[] {
  const writes = /\b(?:INSERT\s+INTO|DELETE\s+FROM|(?<!FOR\s)(?<!DO\s)UPDATE)\s+(?:"\w+"\.)?"?(\w+)"?/gi
  return [...text.matchAll(writes)].map(([, table]) => table as string)
}

function hasTwice(names: readonly string[]): boolean {
  return new Set(names).size < names.length
}
