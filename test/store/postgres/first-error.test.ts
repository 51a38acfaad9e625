import { expect, it } from 'vitest'
import { begin, type Held, inBatch, inTransaction } from '../../../src/store/postgres/connection/transaction.ts'

const conflict = Object.assign(new Error('could not serialize access'), { code: '40001' })
const aborted = Object.assign(new Error('current transaction is aborted'), { code: '25P02' })

/** A connection on which `first` fails, and each later statement is refused for that. */
function connection(): Held {
  let hasFailed = false
  const rows = (sql: string) => {
    const error = hasFailed ? aborted : conflict
    if (sql === 'first') hasFailed = true
    return sql === 'first' || sql === 'second' ? Promise.reject(error) : Promise.resolve([])
  }
  return { client: { query: () => Promise.resolve() } as never, session: { rows: rows as never }, isBroken: false }
}

it.each([
  ['a transaction', inTransaction.bind(null, begin)],
  ['a batch', inBatch],
])('of statements of %s that are sent together, the error of the first that fails is thrown', async (_, run) => {
  const failing = run(connection(), async (session) => {
    // It takes longer to hear of the first.
    const first = (async () => await (async () => await session.rows('first'))())()
    await Promise.all([first, session.rows('second')])
  })
  await expect(failing).rejects.toBe(conflict)
})
