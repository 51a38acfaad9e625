// Statements in the caller's transaction. Nothing here begins, ends or repeats anything.
import { PunctualError } from '../../../errors.ts'
import type { Queryable } from '../../store.ts'
import { inTurn, type Session } from './session.ts'

/** A session on a transaction that the caller has begun and will end. `textOf` gives a statement as it is sent. */
export function joined(tx: Queryable, textOf: (sql: string) => string): Session {
  let checked: Promise<void> | null = null
  return inTurn({
    async rows<Row>(sql: string, values: readonly unknown[] = []) {
      checked ??= checkIsTransaction(tx)
      await checked
      const { rows } = await tx.query(fromTexts(textOf(sql)), values.map(toText))
      return rows as Row[]
    },
  })
}

/**
 * Libraries differ in how they send what is not a text, and some refuse what does not fit the type that the server asks for:
 * every value is sent as a text, and the statement casts it.
 */
function fromTexts(text: string): string {
  let known = texts.get(text)
  if (known === undefined) {
    known = text.replace(/(\$\d+)::(?!text(?![[\w]))/g, '$1::text::')
    texts.set(text, known)
  }
  return known
}

const texts = new Map<string, string>()

function toText(value: unknown): string | null {
  return value === null || value === undefined ? null : String(value)
}

/** Refuses a pool, and a client of `pg` without a transaction: both would commit each statement by itself. */
async function checkIsTransaction(tx: Queryable): Promise<void> {
  if (typeof tx.query !== 'function')
    throw new PunctualError('option.invalid', 'tx must be a transaction on PostgreSQL: it has no query(text, values)', {
      field: 'tx',
    })
  const { totalCount, idleCount } = tx as { totalCount?: unknown; idleCount?: unknown }
  if (typeof totalCount === 'number' && typeof idleCount === 'number')
    throw invalid('tx is a pool, whose statements are in no transaction; give the client that has begun one')
  if (!isIdle(tx)) return
  // BEGIN may still be on its way.
  await tx.query('SELECT 1', [])
  if (isIdle(tx)) throw invalid('tx is in no transaction; begin one on it first')
}

function isIdle(tx: Queryable): boolean {
  return (tx as { getTransactionStatus?: () => unknown }).getTransactionStatus?.() === 'I'
}

function invalid(message: string): PunctualError {
  return new PunctualError('transaction.invalid', message, { field: 'tx' })
}
