import { beforeAll, describe, onTestFinished } from 'vitest'
import { memory } from '../../src/store/memory/index.ts'
import { postgres } from '../../src/store/postgres/index.ts'
import { sqlite } from '../../src/store/sqlite/index.ts'
import type { Store } from '../../src/store/store.ts'
import { databasePath } from './database-path.ts'
import { borrowSchema } from './emptied-tables.ts'
import { sharedPostgresUrl } from './postgres-database.ts'

/** Gives a store on the same data each time it is called, as several processes would have it. */
export type Connect = () => Store

const stores = { memory: inMemory, sqlite: inFile, postgres: inSchema } satisfies Record<string, () => Connect>

export type StoreName = keyof typeof stores

/** Registers the same tests on every store, or on those named. */
export function onEachStore(
  title: string,
  register: (newDatabase: () => Connect, name: StoreName) => void,
  names = Object.keys(stores) as readonly StoreName[],
): void {
  describe.each(names)(`${title} (%s)`, (name) => {
    if (name === 'postgres')
      beforeAll(async () => {
        postgresUrl = await sharedPostgresUrl()
      })
    register(stores[name], name)
  })
}

let postgresUrl = ''

export function inMemory(): Connect {
  const store = memory()
  return () => store
}

/** A SQLite file that is gone when the test has finished, with its connections: each has a thread. */
export function inFile(): Connect {
  const path = databasePath()
  const opened: Store[] = []
  onTestFinished(() => Promise.all(opened.map((store) => store.close())).then(() => {}))
  return () => {
    const store = sqlite(path)
    opened.push(store)
    return store
  }
}

/** Tables that no other test uses meanwhile, in the PostgreSQL that the run shares. */
function inSchema(): Connect {
  const { schema, giveBack } = borrowSchema()
  const opened: Store[] = []
  // A node that a test leaves running, or has crash, would keep its connections from others.
  onTestFinished(async () => {
    await Promise.all(opened.map((store) => store.close()))
    await giveBack()
  })
  return () => {
    const store = postgres(postgresUrl, { schema })
    opened.push(store)
    return store
  }
}
