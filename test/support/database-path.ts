import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** The path of a SQLite file in a folder that is gone when the test has finished. */
export function databasePath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'punctual-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'punctual.db')
}
