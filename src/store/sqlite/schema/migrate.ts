import { createHash } from 'node:crypto'
import { PunctualError } from '../../../errors.ts'
import type { Connection } from '../connection/connection.ts'
import { migrations } from './tables.ts'

const newest = migrations.length
/** Tells the tables of this release from those of an unreleased one with the same number. */
const layout = createHash('sha1').update(JSON.stringify(migrations)).digest().readUIntBE(0, 6)

/** Brings the file to the newest schema. The lock is taken before the version is read, so two processes never both migrate. */
export function migrate(connection: Connection, createTables: boolean): void {
  const { path } = connection
  const stored = meta(connection, 'schema')
  if (stored > newest) {
    throw new PunctualError(
      'store.newer',
      `${path} has schema ${stored} of a newer release; this one knows up to ${newest}. Upgrade Punctual in this process`,
      { path, schema: stored, newest },
    )
  }
  if (stored === newest) return checkLayout(connection)
  if (!createTables)
    throw outdated(path, stored === 0 ? 'It has no tables of Punctual.' : `It has schema ${stored}, not ${newest}.`)
  connection.write(() => {
    for (const { number, statements } of migrations.slice(meta(connection, 'schema'))) {
      for (const statement of statements) connection.exec(statement)
      connection.exec(`INSERT OR REPLACE INTO punctual_meta VALUES ('schema', ${number}), ('layout', ${layout})`)
    }
  })
}

/** The file has no tables that this process can use, and it may not make them. */
export function outdated(path: string, state: string): PunctualError {
  const advice = 'Open it once with createTables on, or leave createTables on here'
  return new PunctualError('store.outdated', `${path} cannot be used. ${state} ${advice}`, { path, newest })
}

function checkLayout(connection: Connection): void {
  if (meta(connection, 'layout') === layout) return
  const { path } = connection
  throw new PunctualError(
    'store.outdated',
    `${path} has tables of an unreleased version with another layout, which cannot be upgraded. Move the file away, or choose another prefix`,
    { path, newest },
  )
}

/** 0 where there is no such table or row. */
function meta(connection: Connection, name: 'schema' | 'layout'): number {
  const known = connection.one("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'punctual_meta'")
  return known ? (connection.one<{ value: number }>('SELECT value FROM punctual_meta WHERE name = ?', name)?.value ?? 0) : 0
}
