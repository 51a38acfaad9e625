import { PunctualError, shown } from '../errors.ts'
import type { Queryable, Store } from '../store/store.ts'

/** Refuses what is not a transaction, and stores that cannot take part in one, before anything is written. */
export function checkJoin({ name, abilities }: Store, tx: Queryable): void {
  if (typeof (tx as { query?: unknown } | null)?.query !== 'function')
    throw new PunctualError(
      'option.invalid',
      `tx must be a client of pg in a transaction, what fromKysely, fromDrizzle or fromPrisma makes of one, or any { query(text, values) }; got ${shown(tx)}`,
      { field: 'tx' },
    )
  if (!abilities.has('join'))
    throw new PunctualError(
      'transaction.unsupported',
      `The ${name} store cannot take part in a transaction of yours; leave tx out, or use a store with the ability join, such as postgres`,
      { store: name },
    )
}
