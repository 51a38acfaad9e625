// Loaded by name: a static import fails on an old Node.js before any code could say which version is needed.
import '../../../node-version.ts'

export const { DatabaseSync, backup, constants } = process.getBuiltinModule('node:sqlite')

/** Before this release two processes that reset the write-ahead log at the same moment could damage the file. */
const sharedSince = [3, 51, 3]

/** The SQLite of this Node.js, and whether several processes may share a file with it. */
export function sqliteVersion(): { readonly text: string; readonly isShareable: boolean; readonly sharedSince: string } {
  const db = new DatabaseSync(':memory:')
  const { text } = db.prepare('SELECT sqlite_version() AS text').get() as { text: string }
  db.close()
  const version = text.split('.').map(Number)
  const at = sharedSince.findIndex((part, index) => part !== version[index])
  const isShareable = at === -1 || (version[at] ?? 0) > (sharedSince[at] as number)
  return { text, isShareable, sharedSince: sharedSince.join('.') }
}
