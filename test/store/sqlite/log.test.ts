// The write-ahead log stays short under constant writing, and is gone when the store is closed.
import { existsSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { databasePath } from '../../support/database-path.ts'
import { sqliteScene } from '../../support/sqlite-scene.ts'

it('begins the log anew while it writes without a break', async () => {
  const path = databasePath()
  const scene = await sqliteScene(path)
  const file = new DatabaseSync(path)
  const pages = file.prepare('PRAGMA wal_checkpoint(NOOP)')
  let isNew = false
  for (let longest = 0, commits = 0; !isNew && commits < 100_000; commits++) {
    await scene.createAll(Array.from({ length: 200 }, () => scene.row()))
    const log = pages.get()?.log as number
    isNew = log < longest
    longest = Math.max(longest, log)
  }
  file.close()
  expect(isNew).toBe(true)
  await scene.close()
  expect(existsSync(`${path}-wal`)).toBe(false)
  expect(statSync(path).size).toBeGreaterThan(1_000_000)
}, 120_000)
