// The store's own connection, as a handler's work may use it: for as long as that work runs.
import type { DatabaseSync } from 'node:sqlite'
import { PunctualError } from '../../../errors.ts'

export interface HandlerDatabase {
  readonly db: DatabaseSync
  /** From now on every use is refused, also of statements that were prepared on it. */
  revoke(): void
}

export function handlerDatabase(connection: DatabaseSync): HandlerDatabase {
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

export function workError(message: string, cause?: unknown): PunctualError {
  return new PunctualError('transaction.invalid', `The work of a transaction ${message}`, {}, { cause })
}
