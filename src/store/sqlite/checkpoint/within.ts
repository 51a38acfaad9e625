import type { DatabaseSync } from 'node:sqlite'
import { PunctualError } from '../../../errors.ts'
import type { CheckpointItem } from '../../store.ts'
import { constants } from '../connection/node-sqlite.ts'

const savepoint = 'punctual_work'

/** Runs a handler's work inside the open transaction, which stays ours to end. */
export function runWithin(db: DatabaseSync, work: NonNullable<CheckpointItem['within']>): string | null {
  db.exec(`SAVEPOINT ${savepoint}`)
  try {
    const result = guarded(db, work)
    if (isPromise(result)) {
      // It is refused in any case, also when it rejects.
      result.catch(() => {})
      throw workError('must be synchronous on SQLite: it returned a promise, whose later writes would be outside of the commit')
    }
    if (!isOurs(db)) throw workError('ended the transaction that it was given; Punctual commits it')
    release(db)
    return result
  } catch (error) {
    if (isOurs(db)) db.exec(`ROLLBACK TO ${savepoint}; RELEASE ${savepoint}`)
    throw error
  }
}

/** Refuses to begin, commit or roll back while the work runs, where this version of Node lets us. */
function guarded(db: DatabaseSync, work: NonNullable<CheckpointItem['within']>): ReturnType<typeof work> {
  const { SQLITE_TRANSACTION, SQLITE_SAVEPOINT, SQLITE_DENY, SQLITE_OK } = constants
  db.setAuthorizer?.((action, _operation, name) =>
    action === SQLITE_TRANSACTION || (action === SQLITE_SAVEPOINT && name === savepoint) ? SQLITE_DENY : SQLITE_OK,
  )
  const lent = handlerDatabase(db)
  try {
    return work(lent.db)
  } catch (error) {
    throw (error as { errcode?: number }).errcode === notAuthorized
      ? workError('may not begin, commit or roll back: Punctual commits it with the success of the task', error)
      : error
  } finally {
    lent.revoke()
    if (db.isOpen) db.setAuthorizer?.(null)
  }
}

const notAuthorized = 23

function release(db: DatabaseSync): void {
  try {
    db.exec(`RELEASE ${savepoint}`)
  } catch (cause) {
    db.exec('ROLLBACK')
    throw workError('ended the transaction that it was given and began another; Punctual commits it', cause)
  }
}

/** Whether the transaction is still there to be committed by us. */
export function isOurs(db: DatabaseSync): boolean {
  return db.isOpen && db.isTransaction
}

function isPromise(value: unknown): value is Promise<unknown> {
  return typeof (value as { then?: unknown } | null)?.then === 'function'
}

/** The store's own connection, as a handler's work may use it: for as long as that work runs. */
interface HandlerDatabase {
  readonly db: DatabaseSync
  /** From now on every use is refused, also of statements that were prepared on it. */
  revoke(): void
}

function handlerDatabase(connection: DatabaseSync): HandlerDatabase {
  let isLent = true
  const check = () => {
    if (!isLent) throw workError('is over: the database of its transaction is no longer its to use')
  }
  const lent = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(_, name) {
        check()
        const value: unknown = Reflect.get(target, name, target)
        if (typeof value !== 'function') return value
        return (...given: unknown[]) => {
          check()
          const answer: unknown = value.apply(target, given)
          return name === 'prepare' ? lent(answer as object) : answer
        }
      },
    })
  return {
    db: lent(connection),
    revoke() {
      isLent = false
    },
  }
}

function workError(message: string, cause?: unknown): PunctualError {
  return new PunctualError('transaction.invalid', `The work of a transaction ${message}`, {}, { cause })
}
