import { expect, it } from 'vitest'
import { fromDrizzle, fromPrisma } from '../../../src/store/postgres/index.ts'

it('Prisma is given the text and the values one by one, and gives the rows alone', async () => {
  const given: unknown[] = []
  const tx = {
    $queryRawUnsafe(text: string, ...values: unknown[]) {
      given.push(text, values)
      return Promise.resolve([{ ref: 5n }])
    },
  }
  expect(await fromPrisma(tx).query('SELECT $1, $2', ['a', null])).toEqual({ rows: [{ ref: 5n }] })
  expect(given).toEqual(['SELECT $1, $2', ['a', null]])
})

it('Drizzle may give the rows alone, as some of its drivers do', async () => {
  const rollback = () => {
    throw new Error('rolled back')
  }
  const rows = [{ one: 1 }]
  const alone = fromDrizzle({ execute: () => Promise.resolve(rows), rollback })
  const inside = fromDrizzle({ execute: () => Promise.resolve({ rows }), rollback })
  for (const tx of [alone, inside]) expect(await tx.query('SELECT 1 AS one', [])).toEqual({ rows })
})
