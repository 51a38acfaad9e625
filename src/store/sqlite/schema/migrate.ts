import { PunctualError } from '../../../errors.ts'
import type { Connection } from '../connection/connection.ts'
import { migrations } from './tables.ts'

/** Brings the file to the newest schema. The lock is taken before the version is read, so two processes never both migrate. */
export function migrate(connection: Connection): void {
  const newest = migrations.length
  const stored = schemaNumber(connection)
  if (stored > newest) {
    throw new PunctualError(
      'store.newer',
      `${connection.path} has schema ${stored} of a newer release; this one knows up to ${newest}. Upgrade Punctual in this process`,
      { path: connection.path, schema: stored, newest },
    )
  }
  if (stored === newest) return
  connection.write(() => {
    for (const { number, statements } of migrations.slice(schemaNumber(connection))) {
      for (const statement of statements) connection.db.exec(statement)
      connection.db.exec(`UPDATE punctual_meta SET value = ${number} WHERE name = 'schema'`)
    }
  })
}

function schemaNumber(connection: Connection): number {
  const known = connection.one("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'punctual_meta'")
  return known ? (connection.one<{ value: number }>("SELECT value FROM punctual_meta WHERE name = 'schema'")?.value ?? 0) : 0
}
