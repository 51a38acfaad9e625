import { globSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { planSettings } from '../../../src/store/postgres/connection/pools.ts'
import { postgres } from '../../../src/store/postgres/index.ts'
import { systemClock } from '../../../src/time/clock.ts'
import { onEmptiedTables } from '../../support/emptied-tables.ts'
import { wholeScans } from '../../support/kept-plans.ts'
import { createDatabase, sharedPostgresUrl } from '../../support/postgres-database.ts'
import { registerStoreSuite } from '../../support/register-store-suite.ts'
import { recordStatements } from '../../support/statement-recorder.ts'

const { all: statements, kept } = recordStatements()

registerStoreSuite({
  name: 'postgres',
  open: onEmptiedTables(async (schema) => postgres(await sharedPostgresUrl(), { schema })),
})

it('S23 no value of a caller is ever part of a statement', () => {
  expect(statements.size).toBeGreaterThan(80)
  // Had values been in them, there would be one for each.
  expect(statements.size).toBeLessThan(450)
  const source = globSync('src/{store,model}/**/*.ts').map((file) => readFileSync(file, 'utf8'))
  const isOurs = (literal: string) => source.some((text) => text.includes(literal.replace(/^"\w+"\./, '')))
  const literals = [...statements].flatMap((text) => [...text.matchAll(/'([^']*)'/g)].map(([, literal]) => literal as string))
  expect(literals.filter((literal) => !isOurs(literal))).toEqual([])
  expect([...statements].filter((text) => /[0-9a-f]{8}-[0-9a-f]{4}-|\d{9}/.test(text))).toEqual([])
})

it('F20 no plan that is kept goes over a whole table because it was small once', async () => {
  const url = await createDatabase()
  const migrate = async (schema: string) => {
    const store = postgres(url, { schema })
    await store.open({ clock: systemClock, random: Math.random })
    await store.close()
  }
  expect(await wholeScans(kept, { url, migrate, settings: planSettings })).toEqual([])
})
