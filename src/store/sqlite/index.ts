import type { Store } from '../store.ts'
import type { SqliteOptions } from './options.ts'
import { SqliteStore } from './sqlite-store.ts'

export type { SqliteOptions } from './options.ts'

/**
 * A store in one SQLite file, shared by any number of processes of one machine. The file and its folder are made when missing;
 * `:memory:` keeps everything in this store object.
 */
export function sqlite(path: string, options: SqliteOptions = {}): Store {
  return new SqliteStore(path, options)
}
