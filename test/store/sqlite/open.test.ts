import { chmodSync, existsSync, mkdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { sqlite } from '../../../src/store/sqlite/index.ts'
import { manualClock } from '../../../src/testing/manual-clock.ts'
import { databasePath } from '../../support/database-path.ts'
import { sqliteScene, withinTransaction } from '../../support/sqlite-scene.ts'

const env = () => ({ clock: manualClock(), random: () => 0.5 })

it('makes the folders of its file', async () => {
  const path = join(dirname(databasePath()), 'deep', 'down', 'punctual.db')
  await sqliteScene(path)
  expect(existsSync(path)).toBe(true)
})

it('refuses a path, an option or a value that it does not know', () => {
  expect(() => sqlite('')).toThrow(expect.objectContaining({ code: 'option.invalid' }))
  expect(() => sqlite('x.db', { durabilty: 'full' } as object)).toThrow(expect.objectContaining({ code: 'option.unknown' }))
  expect(() => sqlite('x.db', { durability: 'some' as 'full' })).toThrow(expect.objectContaining({ code: 'option.invalid' }))
})

it('cannot reach a folder, and says what it was given', async () => {
  const path = dirname(databasePath())
  await expect(sqlite(path).open(env())).rejects.toMatchObject({
    code: 'store.unreachable',
    message: expect.stringContaining(path),
  })
})

it('cannot reach a path below a file', async () => {
  const path = databasePath()
  writeFileSync(path, '')
  await expect(sqlite(join(path, 'x.db')).open(env())).rejects.toMatchObject({ code: 'store.unreachable' })
})

it.skipIf(process.getuid?.() === 0)('cannot reach a folder that it may not write', async () => {
  const path = databasePath()
  chmodSync(dirname(path), 0o500)
  await expect(sqlite(path).open(env())).rejects.toMatchObject({ code: 'store.unreachable' })
  chmodSync(dirname(path), 0o700)
})

it('opens later what could not be reached at first', async () => {
  const path = databasePath()
  mkdirSync(path)
  const store = sqlite(path)
  await expect(store.open(env())).rejects.toMatchObject({ code: 'store.unreachable' })
  rmSync(path, { recursive: true })
  await store.open(env())
  expect(await store.list({ limit: 1 })).toEqual({ items: [], cursor: null })
  await store.close()
})

it('refuses a file that is no database', async () => {
  const path = databasePath()
  writeFileSync(path, 'This is a letter, and a long one, to whom it may concern. '.repeat(100))
  await expect(sqlite(path).open(env())).rejects.toMatchObject({ code: 'store.corrupt' })
})

it('refuses a database that was cut short', async () => {
  const path = databasePath()
  const scene = await sqliteScene(path)
  await scene.store.create(Array.from({ length: 500 }, () => scene.row()))
  await scene.close()
  truncateSync(path, Math.floor(statSync(path).size / 2 / 4096) * 4096)
  await expect(sqlite(path).open(env())).rejects.toMatchObject({ code: 'store.corrupt' })
})

it('refuses the schema of a newer release and leaves it as it is', async () => {
  const path = databasePath()
  await (await sqliteScene(path)).close()
  const file = new DatabaseSync(path)
  file.exec("UPDATE punctual_meta SET value = 99 WHERE name = 'schema'")
  await expect(sqlite(path).open(env())).rejects.toMatchObject({ code: 'store.newer', details: { schema: 99 } })
  file.close()
})

it('lives beside the tables and the version of another program', async () => {
  const path = databasePath()
  const file = new DatabaseSync(path)
  file.exec('CREATE TABLE job (id INTEGER PRIMARY KEY); PRAGMA user_version = 7')
  await (await sqliteScene(path)).create()
  expect(file.prepare('PRAGMA user_version').get()).toEqual({ user_version: 7 })
  file.close()
})

it('refuses every verb before it is opened and after it is closed', async () => {
  const store = sqlite(databasePath())
  await expect(store.nodes()).rejects.toMatchObject({ code: 'store.closed' })
  await store.open(env())
  await store.nodes()
  await store.close()
  await expect(store.list({ limit: 1 })).rejects.toMatchObject({ code: 'store.closed' })
  await store.close()
})

it('stays open until the last of those who opened it has closed it', async () => {
  const store = sqlite(databasePath())
  const [one, other] = [env(), env()]
  await store.open(one)
  await store.open(one)
  await store.open(other)
  await store.close()
  await store.nodes()
  await store.close()
  await expect(store.nodes()).rejects.toMatchObject({ code: 'store.closed' })
})

it('keeps :memory: in one store object, without a file', async () => {
  const [one, other] = [await sqliteScene(':memory:'), await sqliteScene(':memory:')]
  await one.create()
  expect((await one.store.counts({})).states.pending).toBe(1)
  expect((await other.store.counts({})).states.pending).toBe(0)
  expect(existsSync(':memory:')).toBe(false)
})

it('tells a second opener of an exclusive file that it is busy', async () => {
  const path = databasePath()
  const scene = await sqliteScene(path, { exclusive: true })
  await scene.create()
  const clock = manualClock()
  const refused = expect(sqlite(path).open({ clock, random: () => 0.5 })).rejects.toMatchObject({ code: 'store.busy' })
  await clock.advance('10s')
  await refused
  await scene.close()
  expect((await (await sqliteScene(path)).store.counts({})).states.pending).toBe(1)
})

it('fails on a full disk, keeps what it had, and works again when there is room', async () => {
  const scene = await sqliteScene()
  await withinTransaction(scene, (db) => db.exec('PRAGMA max_page_count = 1'))
  const many = Array.from({ length: 1000 }, () => scene.row())
  await expect(scene.store.create(many)).rejects.toMatchObject({ code: 'store.unreachable' })
  expect((await scene.store.counts({})).states).toMatchObject({ running: 1, pending: 0 })
  expect(await scene.createAll(many)).toHaveLength(1000)
})

it('works again after a handler has closed the database under it', async () => {
  const scene = await sqliteScene()
  await expect(withinTransaction(scene, (db) => db.close())).rejects.toMatchObject({ code: 'transaction.invalid' })
  await scene.create()
})

it.each([
  ['normal', 1],
  ['full', 2],
] as const)('durability %s sets how often SQLite flushes to the disk', async (durability, expected) => {
  const scene = await sqliteScene(databasePath(), { durability })
  expect(await withinTransaction(scene, (db) => db.prepare('PRAGMA synchronous').get())).toEqual({ synchronous: expected })
})
