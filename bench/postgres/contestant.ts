import type { Contestant, Queue } from '../harness/contestant.ts'
import { serverMicros } from '../harness/server-micros.ts'
import { makeDatabase, removeDatabase, restDatabase, settleDatabase } from './database.ts'
import { serverPid } from './server.ts'

/** The differences between the contestants of this folder. */
interface Own {
  readonly name: string
  readonly packages: readonly string[]
  /** Makes its tables in an empty database. */
  install(url: string): Promise<void>
  loadPlace: NonNullable<Contestant['loadPlace']>
  open(url: string): Promise<Queue>
}

/** A library on a separate database of the common server. */
export function onPostgres({ install, ...own }: Own): Contestant {
  return {
    ...own,
    home: new URL('contestants.ts', import.meta.url),
    isShared: true,
    async makePlace() {
      const url = await makeDatabase()
      await install(url)
      return url
    },
    removePlace: removeDatabase,
    settlePlace: settleDatabase,
    restPlace: restDatabase,
    serverMicros: () => serverMicros(serverPid()),
  }
}
