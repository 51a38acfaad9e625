import { PunctualError, shown } from '../errors.ts'
import type { CallerTransaction, Store } from '../store/store.ts'

/** Refuses what is not a transaction, and stores that cannot take part in one, before anything is written. */
export function checkJoin({ name, abilities }: Store, tx: CallerTransaction): void {
  const { query, prepare } = (tx ?? {}) as { query?: unknown; prepare?: unknown }
  if (typeof query !== 'function' && typeof prepare !== 'function')
    throw new PunctualError(
      'option.invalid',
      `tx must be your open transaction: on PostgreSQL a client of pg, what fromKysely, fromDrizzle or fromPrisma makes of one, or any { query(text, values) }; on SQLite a DatabaseSync. Got ${shown(tx)}`,
      { field: 'tx' },
    )
  if (!abilities.has('join'))
    throw new PunctualError(
      'transaction.unsupported',
      `The ${name} store cannot take part in a transaction of yours; leave tx out, or use a store with the ability join: postgres, or sqlite on a shared file`,
      { store: name },
    )
}
