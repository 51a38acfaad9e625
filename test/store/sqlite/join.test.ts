import { DatabaseSync } from 'node:sqlite'
import { expect, it, onTestFinished } from 'vitest'
import { createPunctual, type PunctualOptions } from '../../../src/index.ts'
import { defineJob } from '../../../src/model/definition.ts'
import { sqlite } from '../../../src/store/sqlite/index.ts'
import type { SqliteOptions } from '../../../src/store/sqlite/options.ts'
import { manualClock, probe } from '../../../src/testing/index.ts'
import { databasePath } from '../../support/database-path.ts'

const mail = defineJob('mail').task('send', ({ payload }) => payload)

it('work and the caller’s rows are there once the caller commits, and nobody sees them before', async () => {
  const { punctual, db, orders } = await scene()
  db.exec("BEGIN IMMEDIATE; INSERT INTO orders VALUES ('a')")
  const { id, outcome } = await punctual.enqueue(mail, { to: 'ada' }, { tx: db, delay: '1h', refs: { order: 'a' } })
  expect(outcome).toBe('created')
  expect(await punctual.get(id)).toBeNull()
  db.exec('COMMIT')
  expect(await punctual.get(id)).toMatchObject({ state: 'pending', payload: { to: 'ada' }, refs: { order: 'a' } })
  expect(orders()).toEqual(['a'])
  expect((await punctual.counts()).pending).toBe(1)
})

it('nothing is there when the caller rolls back, and the key is free', async () => {
  const { punctual, db, orders } = await scene()
  db.exec("BEGIN IMMEDIATE; INSERT INTO orders VALUES ('a')")
  await punctual.enqueue('new-job', { to: 'ada' }, { tx: db, idempotencyKey: 'k' })
  db.exec('ROLLBACK')
  expect(await punctual.get({ job: 'new-job', idempotencyKey: 'k' })).toBeNull()
  expect(orders()).toEqual([])
  expect((await punctual.enqueue('new-job', 1, { idempotencyKey: 'k' })).outcome).toBe('created')
  expect((await punctual.counts()).pending).toBe(1)
})

it('several calls see each other: the second of a key finds the first', async () => {
  const { punctual, db } = await scene()
  db.exec('BEGIN IMMEDIATE')
  const first = await punctual.enqueue(mail, 1, { tx: db, key: 'a', delay: '1h' })
  const second = await punctual.enqueue(mail, 2, { tx: db, key: 'a', onConflict: 'replace', delay: '2h' })
  const bulk = await punctual.enqueueMany(
    [
      { job: mail, payload: 3, key: 'a' },
      { job: mail, payload: 4, delay: '1m' },
    ],
    { tx: db },
  )
  expect([first, second, ...bulk].map(({ outcome }) => outcome)).toEqual(['created', 'replaced', 'existing', 'created'])
  expect(await punctual.cancel({ job: mail, key: 'a' }, { tx: db })).toBe('canceled')
  db.exec('COMMIT')
  expect(await punctual.get(first.id)).toMatchObject({ state: 'canceled', payload: 2 })
  expect(await punctual.counts()).toMatchObject({ pending: 1, canceled: 1 })
})

it('a cancel holds when the caller commits, and not when it rolls back', async () => {
  const { punctual, db } = await scene()
  const { id } = await punctual.enqueue(mail, 1, { key: 'a', delay: '1h', concurrency: { key: 'k', limit: 1 } })
  for (const [end, state] of [
    ['ROLLBACK', 'pending'],
    ['COMMIT', 'canceled'],
  ] as const) {
    db.exec('BEGIN IMMEDIATE')
    expect(await punctual.cancel({ job: mail, key: 'a' }, { tx: db, reason: 'paid' })).toBe('canceled')
    db.exec(end)
    expect((await punctual.get(id))?.state).toBe(state)
  }
})

it('a node runs the work after the commit and a wake, and stops what was canceled so', async () => {
  const clock = manualClock()
  const long = defineJob('long').task('run', ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', reject)))
  const { punctual, db } = await scene({ clock, jobs: [mail, long] })
  const events = probe(punctual)
  await punctual.start()
  const running = await punctual.enqueue(long)
  await clock.settle()
  expect((await punctual.get(running.id))?.state).toBe('running')
  db.exec('BEGIN IMMEDIATE')
  const { id } = await punctual.enqueue(mail, 1, { tx: db })
  expect(await punctual.cancel(running.id, { tx: db })).toBe('canceling')
  await clock.settle()
  expect(await punctual.get(id)).toBeNull()
  db.exec('COMMIT')
  const completed = events.next('occurrence.completed', (event) => event.id === id)
  const canceled = events.next('occurrence.canceled', (event) => event.id === running.id)
  await punctual.wake()
  await clock.advance('5s')
  await Promise.all([completed, canceled])
})

it('is refused without a transaction, on another file, closed, or not of SQLite; the caller’s own rows stay', async () => {
  const { punctual, db, orders } = await scene()
  const invalid = { code: 'transaction.invalid', details: { field: 'tx' } }
  await expect(punctual.enqueue(mail, 1, { tx: db })).rejects.toMatchObject(invalid)
  const other = new DatabaseSync(':memory:')
  other.exec('BEGIN')
  await expect(punctual.enqueue(mail, 1, { tx: other })).rejects.toMatchObject(invalid)
  other.close()
  await expect(punctual.enqueue(mail, 1, { tx: other })).rejects.toMatchObject(invalid)
  const query = () => Promise.reject(new Error('must not be used'))
  await expect(punctual.cancel('x', { tx: { query } })).rejects.toMatchObject({
    code: 'option.invalid',
    details: { field: 'tx' },
  })
  db.exec("BEGIN IMMEDIATE; INSERT INTO orders VALUES ('a')")
  await expect(punctual.enqueue(mail, 1, { tx: db, key: '\0' })).rejects.toMatchObject({ code: 'key.invalid' })
  db.exec('COMMIT')
  expect(orders()).toEqual(['a'])
  expect((await punctual.counts()).pending).toBe(0)
})

it('a transaction that has read an older state is refused whole, with advice', async () => {
  const { punctual, db, orders } = await scene()
  db.exec('BEGIN')
  expect(orders()).toEqual([])
  await punctual.enqueue(mail, 1, { delay: '1h' })
  await expect(punctual.enqueue(mail, 2, { tx: db })).rejects.toMatchObject({
    code: 'store.busy',
    message: expect.stringContaining('BEGIN IMMEDIATE'),
  })
  db.exec('COMMIT')
  expect((await punctual.counts()).pending).toBe(1)
})

it('works on a connection with other defaults, and under a prefix', async () => {
  const { punctual, db } = await scene({}, { prefix: 'jobs_' }, { readBigInts: true, returnArrays: true })
  db.exec('BEGIN IMMEDIATE')
  const { id } = await punctual.enqueue(mail, { n: 1 }, { tx: db, delay: '1h' })
  db.exec('COMMIT')
  expect(await punctual.get(id)).toMatchObject({ state: 'pending', payload: { n: 1 } })
})

it('is not offered by a file that one process keeps to itself, nor in memory', () => {
  expect(sqlite(':memory:').abilities.has('join')).toBe(false)
  expect(sqlite('x.db', { exclusive: true }).abilities.has('join')).toBe(false)
})

async function scene(options: Partial<PunctualOptions> = {}, given: SqliteOptions = {}, defaults = {}) {
  const path = databasePath()
  const punctual = createPunctual({ store: sqlite(path, given), clock: manualClock(), jobs: [mail], ...options })
  await punctual.counts()
  const db = new DatabaseSync(path, defaults)
  db.exec('CREATE TABLE orders (id TEXT)')
  onTestFinished(async () => {
    await punctual.close()
    db.close()
  })
  const orders = () =>
    db
      .prepare('SELECT id FROM orders')
      .all()
      .map(({ id }) => id)
  return { punctual, db, orders }
}
