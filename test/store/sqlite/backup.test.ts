import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { createPunctual, defineJob } from 'punctual'
import { sqlite } from 'punctual/sqlite'
import { expect, test } from 'vitest'
import { run } from '../../../src/cli/program.ts'
import { backupSqlite } from '../../../src/store/sqlite/backup.ts'
import { silent } from '../../http/asker.ts'
import { databasePath } from '../../support/database-path.ts'

const job = defineJob<number>('job', () => 1)

test('TS-8: a backup under writes has everything that was acknowledged before it began, and opens as a store', async () => {
  const path = databasePath()
  const target = `${path}.copy`
  await using punctual = createPunctual({ store: sqlite(path), jobs: [job], log: silent })
  for (let at = 0; at < 50; at++) await punctual.enqueue(job, at)
  let isDone = false
  const writes = (async () => {
    for (let at = 0; !isDone || at < 20; at++) await punctual.enqueue(job, at)
  })()
  await backupSqlite(path, target).finally(() => {
    isDone = true
  })
  await writes
  const { pending } = await punctual.counts()
  await using copy = createPunctual({ store: sqlite(target), jobs: [job], log: silent })
  const copied = (await copy.counts()).pending
  expect(copied).toBeGreaterThanOrEqual(50)
  expect(copied).toBeLessThanOrEqual(pending)
  const { claimed } = await copy.runDue({ limit: 1000 })
  expect(claimed).toBe(copied)
  expect(readdirSync(dirname(path)).filter((name) => name.includes('.partial'))).toEqual([])
})

test('a file that exists is not overwritten, and a failed backup leaves nothing', async () => {
  const path = databasePath()
  const target = `${path}.copy`
  writeFileSync(target, 'precious')
  writeFileSync(path, 'this is no database, whatever its name may be'.repeat(100))
  await expect(backupSqlite(path, target)).rejects.toMatchObject({ code: 'config.invalid' })
  expect(readFileSync(target, 'utf8')).toBe('precious')
  await expect(backupSqlite(path, `${path}.other`)).rejects.toMatchObject({ code: 'store.corrupt' })
  expect(readdirSync(dirname(path)).sort()).toEqual(['punctual.db', 'punctual.db.copy'])
})

test('a file that a process keeps to itself is refused as busy', async () => {
  const path = databasePath()
  await using punctual = createPunctual({ store: sqlite(path, { exclusive: true }), jobs: [job], log: silent })
  await punctual.enqueue(job, 1)
  await expect(backupSqlite(path, `${path}.copy`)).rejects.toMatchObject({ code: 'store.busy' })
  expect(existsSync(`${path}.copy`)).toBe(false)
})

test('the command copies a SQLite store, and refuses one that is not there', async () => {
  const path = databasePath()
  const target = `${path}.copy`
  expect(await run(['backup', '--store', `sqlite:${path}`, '--to', target])).toBe(1)
  expect(existsSync(path) || existsSync(target)).toBe(false)
  await using punctual = createPunctual({ store: sqlite(path), jobs: [job], log: silent })
  await punctual.enqueue(job, 1)
  expect(await run(['backup', '--store', `sqlite:${path}`, '--to', target])).toBe(0)
  expect(existsSync(target)).toBe(true)
})
