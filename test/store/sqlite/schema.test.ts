import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { attemptStates, occurrenceStates, sources, turnEnds } from '../../../src/model/lifecycle.ts'
import { migrations } from '../../../src/store/sqlite/schema/tables.ts'
import { databasePath } from '../../support/database-path.ts'
import { sqliteScene } from '../../support/sqlite-scene.ts'

const row = {
  ref: 1,
  series: 1,
  turn: 1,
  kind: 1,
  version: 1,
  priority: 5,
  hooked: 0,
  task: 'a',
  n: 1,
  started_at: 1,
  ended_at: 2,
  end: 'completed',
  state: 'failed',
}

it.each([
  ['punctual_turn', 'end', turnEnds, ['series', 'ref', 'turn', 'ended_at']],
  ['punctual_turn', 'attempt', attemptStates, ['series', 'ref', 'turn', 'end', 'ended_at']],
  ['punctual_attempt', 'state', attemptStates, ['ref', 'turn', 'task', 'n', 'started_at', 'ended_at']],
  ['punctual_form', 'source', sources, ['kind', 'version', 'priority', 'hooked']],
] as const)('%s.%s holds the values of the lifecycle and no other', (table, column, values, others) => {
  const file = emptyFile()
  const insert = file.prepare(
    `INSERT INTO ${table} (${column}, ${others.join(', ')}) VALUES (?, ${others.map(() => '?').join(', ')})`,
  )
  for (const value of values) {
    insert.run(value, ...others.map((other) => row[other]))
    file.exec(`DELETE FROM ${table}`)
  }
  expect(() => insert.run('strange', ...others.map((other) => row[other]))).toThrow(/CHECK/)
})

it('counts each state of an occurrence in a column of its own, but for those that follow from the others', () => {
  const columns = emptyFile()
    .prepare("SELECT name FROM pragma_table_info('punctual_series')")
    .all()
    .map(({ name }) => name)
  const counted = occurrenceStates.filter((state) => state !== 'pending' && state !== 'running')
  expect(columns).toEqual(expect.arrayContaining(counted))
})

it('numbers its migrations from 1 without a gap', () => {
  expect(migrations.map(({ number }) => number)).toEqual(migrations.map((_, index) => index + 1))
})

it('makes tables that check their types', () => {
  const tables = emptyFile().prepare("SELECT name, strict FROM pragma_table_list WHERE name LIKE 'punctual_%'").all()
  expect(tables.length).toBeGreaterThan(10)
  expect(tables.filter(({ strict }) => strict !== 1)).toEqual([])
})

it('gives no handle twice, even after the newest occurrence was withdrawn', async () => {
  const path = databasePath()
  const scene = await sqliteScene(path)
  await scene.putJob()
  await scene.plan([scene.now + 60_000])
  const before = newestRef(path)
  await scene.putJob({ payload: '1' })
  await scene.create()
  expect(newestRef(path)).toBeGreaterThan(before)
})

function newestRef(path: string): number {
  const file = new DatabaseSync(path)
  const ref = file.prepare('SELECT max(ref) AS ref FROM punctual_occurrence').get()?.ref
  file.close()
  return ref as number
}

/** A database in memory with the newest schema. */
function emptyFile(): DatabaseSync {
  const file = new DatabaseSync(':memory:')
  for (const { statements } of migrations) for (const statement of statements) file.exec(statement)
  return file
}
