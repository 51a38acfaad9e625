import type pg from 'pg'
import type { Store } from '../store.ts'
import type { PostgresOptions } from './options.ts'
import { PostgresStore } from './postgres-store.ts'

export type { Queryable } from '../store.ts'
export { fromDrizzle, fromKysely, fromPrisma } from './connection/adapters.ts'
export type { PostgresOptions } from './options.ts'
export { type Migrated, migrate } from './schema/migrate.ts'

/**
 * A store in PostgreSQL 13 or newer, shared by any number of processes and machines.
 * @param source A `postgres://` URL, or a pool of `pg` that the caller ends.
 * @example postgres('postgres://localhost/app', { schema: 'punctual' })
 */
export function postgres(source: string | pg.Pool, options: PostgresOptions = {}): Store {
  return new PostgresStore(source, options)
}
