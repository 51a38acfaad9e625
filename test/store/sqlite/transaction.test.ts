import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { memberRef, type Scene } from '../../../src/testing/store-suite/scene.ts'
import { sqliteScene, withinTransaction } from '../../support/sqlite-scene.ts'

it('commits the writes of a handler together with its attempt', async () => {
  const scene = await sqliteScene()
  await withinTransaction(scene, (db) => db.exec('CREATE TABLE invoice (id TEXT) STRICT'))
  await withinTransaction(scene, (db) => db.prepare('INSERT INTO invoice VALUES (?)').run('a'))
  expect(await invoices(scene)).toEqual(['a'])
})

it('undoes the writes of a handler that throws, and only those', async () => {
  const scene = await sqliteScene()
  await withinTransaction(scene, (db) => db.exec('CREATE TABLE invoice (id TEXT) STRICT'))
  const failed = withinTransaction(scene, (db) => {
    db.exec("INSERT INTO invoice VALUES ('b')")
    throw new Error('no stamps')
  })
  await expect(failed).rejects.toThrow('no stamps')
  expect(await invoices(scene)).toEqual([])
})

it.each(['COMMIT', 'ROLLBACK', 'BEGIN', 'END', 'RELEASE punctual_work', 'ROLLBACK TO punctual_work'])(
  'refuses %s inside the work',
  async (sql) => {
    const scene = await sqliteScene()
    await withinTransaction(scene, (db) => db.exec('CREATE TABLE invoice (id TEXT) STRICT'))
    const refused = withinTransaction(scene, (db) => db.exec(`INSERT INTO invoice VALUES ('c'); ${sql}`))
    await expect(refused).rejects.toMatchObject({ code: 'transaction.invalid' })
    expect(await invoices(scene)).toEqual([])
  },
)

it('lets a handler use savepoints of its own', async () => {
  const scene = await sqliteScene()
  await withinTransaction(scene, (db) => {
    db.exec("CREATE TABLE invoice (id TEXT) STRICT; SAVEPOINT own; INSERT INTO invoice VALUES ('d')")
    db.exec("ROLLBACK TO own; RELEASE own; INSERT INTO invoice VALUES ('e')")
  })
  expect(await invoices(scene)).toEqual(['e'])
})

it('refuses work that returns a promise, and undoes it', async () => {
  const scene = await sqliteScene()
  const holding = await scene.running()
  const item = { ...memberRef(holding), attempts: [scene.attempt()] }
  const within = (async () => null) as unknown as () => null
  await expect(scene.store.checkpoint([{ ...item, within }])).rejects.toMatchObject({
    code: 'transaction.invalid',
    message: expect.stringContaining('synchronous'),
  })
  expect((await scene.get(holding.id)).attempts).toEqual([])
})

it('takes the database back when the work is done, and the statements prepared on it', async () => {
  const scene = await sqliteScene()
  const refused = expect.objectContaining({ code: 'transaction.invalid' })
  const kept = await withinTransaction(scene, (db) => {
    db.exec('CREATE TABLE invoice (id TEXT) STRICT')
    return { db, insert: db.prepare("INSERT INTO invoice VALUES ('late')") }
  })
  expect(() => kept.insert.run()).toThrow(refused)
  for (const sql of ["INSERT INTO invoice VALUES ('late')", 'BEGIN']) expect(() => kept.db.exec(sql)).toThrow(refused)
  expect(() => kept.db.prepare('SELECT 1')).toThrow(refused)
  expect(() => kept.db.close()).toThrow(refused)
  expect(await invoices(scene)).toEqual([])
})

it('is a database that libraries can use', async () => {
  const scene = await sqliteScene()
  await withinTransaction(scene, (db) => {
    expect(db).toBeInstanceOf(DatabaseSync)
    db.exec('CREATE TABLE invoice (id TEXT) STRICT')
    db.function('twice', (text) => `${text}${text}`)
    db.prepare('INSERT INTO invoice VALUES (twice(?))').run('a')
    expect([...db.prepare('SELECT id FROM invoice').iterate()]).toEqual([{ id: 'aa' }])
    expect(db.isTransaction).toBe(true)
  })
  expect(await invoices(scene)).toEqual(['aa'])
})

it('does not repeat work whose attempt is recorded', async () => {
  const scene = await sqliteScene()
  const holding = await scene.running()
  const item = { ...memberRef(holding), attempts: [scene.attempt()] }
  let runs = 0
  const within = () => String(++runs)
  expect(await scene.store.checkpoint([{ ...item, within }])).toEqual(['ok'])
  expect(await scene.store.checkpoint([{ ...item, within }])).toEqual(['ok'])
  expect(runs).toBe(1)
  expect((await scene.get(holding.id)).attempts[0]?.result).toBe('1')
})

function invoices(scene: Scene): Promise<unknown[]> {
  return withinTransaction(scene, (db) =>
    db
      .prepare('SELECT id FROM invoice')
      .all()
      .map(({ id }) => id),
  )
}
