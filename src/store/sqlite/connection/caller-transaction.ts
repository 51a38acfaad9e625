// Verbs in the caller's transaction, on the caller's connection to the same file. Nothing here begins or ends that transaction.
import type { DatabaseSync } from 'node:sqlite'
import { PunctualError } from '../../../errors.ts'
import type { Connection } from './connection.ts'
import { isBusy, storeFailure } from './failure.ts'
import { Statements } from './statements.ts'
import { Transaction } from './transaction.ts'

const savepoint = 'punctual_join'

/** Runs `act` whole or not at all, whatever the caller does with the transaction after an error. */
export function inCallersTransaction<Answer>(
  tx: unknown,
  { db: own, path, prefix }: Connection,
  now: number,
  act: (tx: Transaction) => Answer,
): Answer {
  const db = checkTransaction(tx, own)
  db.exec(`SAVEPOINT ${savepoint}`)
  try {
    // The caller may roll back: nothing that is learned here holds for the next call.
    const joined = new Transaction(new Statements(db, prefix), now)
    const answer = act(joined)
    joined.flush()
    db.exec(`RELEASE ${savepoint}`)
    return answer
  } catch (error) {
    if (db.isOpen && db.isTransaction) db.exec(`ROLLBACK TO ${savepoint}; RELEASE ${savepoint}`)
    throw isBusy(error) ? busy(path, error) : storeFailure(error, path)
  }
}

function checkTransaction(tx: unknown, own: DatabaseSync): DatabaseSync {
  const db = tx as DatabaseSync
  if (typeof db.prepare !== 'function' || typeof db.isOpen !== 'boolean')
    throw new PunctualError('option.invalid', 'tx must be a DatabaseSync of node:sqlite on the file of the store', {
      field: 'tx',
    })
  if (!db.isOpen || !db.isTransaction) throw invalid('tx is in no transaction; begin one on it first, with BEGIN IMMEDIATE')
  const file = fileOf(db)
  if (file !== fileOf(own))
    throw invalid(`tx is a transaction on ${file || 'a database in memory'}, not on the file of the store`)
  return db
}

function fileOf(db: DatabaseSync): string {
  const statement = db.prepare("SELECT file FROM pragma_database_list WHERE name = 'main'")
  statement.setReturnArrays?.(false)
  return String((statement.get() as { file: string | null } | undefined)?.file ?? '')
}

function busy(path: string, cause: unknown): PunctualError {
  const message = `Another connection writes to ${path}. Begin your transaction with BEGIN IMMEDIATE, set a busy timeout, or try it again`
  return new PunctualError('store.busy', message, { path }, { cause })
}

function invalid(message: string): PunctualError {
  return new PunctualError('transaction.invalid', message, { field: 'tx' })
}
