import { postgres } from '../../src/store/postgres/index.ts'
import { sqlite } from '../../src/store/sqlite/index.ts'
import type { Store } from '../../src/store/store.ts'

/** A path is a SQLite file; a URL is PostgreSQL. */
export function openStore(url: string): Store {
  return url.startsWith('/') ? sqlite(url) : postgres(url)
}
