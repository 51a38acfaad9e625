import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { expect, it, onTestFinished } from 'vitest'
import { createPunctual } from '../../../src/index.ts'
import { defineJob } from '../../../src/model/definition.ts'
import { type SqliteOptions, sqlite } from '../../../src/store/sqlite/index.ts'
import { manualClock, probe } from '../../../src/testing/index.ts'
import { databasePath } from '../../support/database-path.ts'

const env = () => ({ clock: manualClock(), random: () => 0.5 })
const job = defineJob('mail').task('send', ({ payload }) => payload)

it('keeps all tables under the given prefix, and stores of other prefixes apart', async () => {
  const path = databasePath()
  const [one, other] = [client(path, { prefix: 'jobs_' }), client(path)]
  await one.enqueue(job, 1, { delay: '1h', key: 'k', concurrency: { key: 'c', limit: 1 } })
  expect((await one.counts()).pending).toBe(1)
  expect((await other.counts()).pending).toBe(0)
  const db = new DatabaseSync(path)
  const names = db
    .prepare("SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'")
    .all()
    .map(({ name }) => String(name))
  db.close()
  expect(names.filter((name) => name.startsWith('jobs_')).length * 2).toBe(names.length)
})

it('runs work under a prefix, picks and limits included', async () => {
  const clock = manualClock()
  const punctual = createPunctual({ store: sqlite(databasePath(), { prefix: 'x_' }), clock, jobs: [job], pick: 'fair' })
  onTestFinished(() => punctual.close())
  await punctual.start()
  const events = probe(punctual)
  const { id } = await punctual.enqueue(job, 1, { concurrency: { key: 'c', limit: 1 } })
  await Promise.all([events.next('occurrence.completed', (event) => event.id === id), clock.advance('1s')])
})

it.each(['', 'a-b', 'A_', '1x', 'sqlite_x', 'x'.repeat(49), 7])('refuses the prefix %j', (prefix) => {
  const refused = expect.objectContaining({ code: 'option.invalid', details: expect.objectContaining({ field: 'prefix' }) })
  expect(() => sqlite('x.db', { prefix: prefix as string })).toThrow(refused)
})

it('makes neither file nor tables with createTables off, and says what is missing', async () => {
  const path = databasePath()
  const missing = { code: 'store.outdated', message: expect.stringContaining('createTables') }
  await expect(sqlite(path, { createTables: false }).open(env())).rejects.toMatchObject(missing)
  expect(existsSync(path)).toBe(false)
  new DatabaseSync(path).close()
  await expect(sqlite(path, { createTables: false }).open(env())).rejects.toMatchObject(missing)
  const store = sqlite(path)
  await store.open(env())
  await store.close()
  const checked = sqlite(path, { createTables: false })
  await checked.open(env())
  await checked.close()
  expect(() => sqlite(':memory:', { createTables: false })).toThrow(expect.objectContaining({ code: 'option.invalid' }))
})

it('TM-9: a node without tables is degraded, says why, and works once they are there', async () => {
  const path = databasePath()
  const clock = manualClock()
  const punctual = createPunctual({ store: sqlite(path, { createTables: false }), clock, jobs: [job], log: silent })
  onTestFinished(() => punctual.close())
  await punctual.start()
  expect(punctual.health.state).toBe('degraded')
  expect(JSON.stringify(punctual.health.reasons)).toContain('createTables')
  await client(path).counts()
  await clock.advance('1m')
  expect(punctual.health.state).toBe('ok')
})

it('refuses tables of an unreleased layout', async () => {
  const path = databasePath()
  const db = new DatabaseSync(path)
  db.exec(
    "CREATE TABLE punctual_meta (name TEXT PRIMARY KEY, value REAL NOT NULL); INSERT INTO punctual_meta VALUES ('schema', 1)",
  )
  db.close()
  await expect(sqlite(path).open(env())).rejects.toMatchObject({
    code: 'store.outdated',
    message: expect.stringContaining('another layout'),
  })
})

const silent = { debug() {}, info() {}, warn() {}, error() {} }

function client(path: string, options?: SqliteOptions) {
  const punctual = createPunctual({ store: sqlite(path, options), clock: manualClock(), jobs: [job] })
  onTestFinished(() => punctual.close())
  return punctual
}
