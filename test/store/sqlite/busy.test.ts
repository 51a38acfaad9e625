import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { databasePath } from '../../support/database-path.ts'
import { sqliteScene } from '../../support/sqlite-scene.ts'

it('waits for the lock of another process on timers, and then does its work once', async () => {
  const path = databasePath()
  const scene = await sqliteScene(path)
  const other = new DatabaseSync(path)
  other.exec('BEGIN IMMEDIATE')
  const created = scene.create()
  for (let waits = 0; waits < 20; waits++) {
    await scene.clock.settle()
    expect(scene.clock.pending).toBe(1)
    await scene.clock.advance(60)
  }
  other.exec('ROLLBACK')
  other.close()
  await scene.clock.advance(60)
  expect(await scene.state(await created)).toBe('pending')
  expect((await scene.store.counts({})).states.pending).toBe(1)
})

it('gives up after half a minute, saying that it was busy, and works again afterwards', async () => {
  const path = databasePath()
  const scene = await sqliteScene(path)
  const other = new DatabaseSync(path)
  other.exec('BEGIN IMMEDIATE')
  const refused = expect(scene.create()).rejects.toMatchObject({ code: 'store.busy' })
  await scene.clock.advance('31s')
  await refused
  other.exec('ROLLBACK')
  other.close()
  await scene.create()
})

it('reads while another process writes', async () => {
  const path = databasePath()
  const scene = await sqliteScene(path)
  const id = await scene.create()
  const other = new DatabaseSync(path)
  other.exec('BEGIN IMMEDIATE')
  expect(await scene.state(id)).toBe('pending')
  expect((await scene.store.list({ limit: 10 })).items).toHaveLength(1)
  other.close()
})

it('two processes that make the file at the same time both find it whole', async () => {
  const path = databasePath()
  const scenes = await Promise.all([sqliteScene(path), sqliteScene(path), sqliteScene(path)])
  for (const scene of scenes) await scene.create({ key: 'k', onConflict: 'reschedule' }).catch(() => {})
  expect((await scenes[0]?.store.counts({}))?.states.pending).toBe(1)
})

it('a verb that waits for the lock ends when the store is closed', async () => {
  const path = databasePath()
  const scene = await sqliteScene(path)
  const other = new DatabaseSync(path)
  other.exec('BEGIN IMMEDIATE')
  const refused = expect(scene.create()).rejects.toMatchObject({ code: 'store.closed' })
  await scene.store.close()
  await scene.clock.advance('1s')
  await refused
  other.close()
})
