import { Client } from 'pg'
import { expect, it, onTestFinished } from 'vitest'
import { createPunctual } from '../../../src/client/punctual.ts'
import { defineJob } from '../../../src/model/definition.ts'
import { postgres } from '../../../src/store/postgres/index.ts'
import { freshSchemaName, sharedPostgresUrl } from '../../support/postgres-database.ts'
import { brokenInView } from '../../support/postgres-invariants.ts'
import { untilAborted } from '../../support/until-aborted.ts'

/** A planted fault, and the text that the check must find. Some faults show in more than one way. */
const plants: readonly (readonly [sql: string, fault: RegExp])[] = [
  [`DELETE FROM punctual.ready`, /^an occurrence stands in no place/],
  [`INSERT INTO punctual.dead SELECT series, ref, '', '', 0 FROM punctual.ready`, /^an occurrence stands in no place, or in two/],
  [`UPDATE punctual.ready SET turn = 3`, /^turns are not counted/],
  [
    `INSERT INTO punctual.turn (ref, ended_at, due_at, turn, series, "end")
      SELECT ref, 0, 0, turn + 1, series, 'failed' FROM punctual.turn WHERE "end" = 'completed'`,
    /^something has ended, and goes on/,
  ],
  [`UPDATE punctual.limit_key SET used = used + 1`, /^the count of a key is not that of its grants/],
  [`DELETE FROM punctual.limit_key`, /^the count of a key is not that of its grants/],
  [`DELETE FROM punctual.release`, /^the count of a key is not that of its grants/],
  [`UPDATE punctual.ready SET gate = true`, /^a row that is ready lacks a grant/],
  [
    `INSERT INTO punctual.waiting (kind, priority, due_at, ref, series, turn, begun, retrying, planned, recovery, gate, granted, limits, reason, key)
      SELECT k.ref, 5, 0, -1, 1, 1, false, false, false, false, true, 0, '[{"key":"x","limit":1}]', 'concurrency', 'x' FROM punctual.kind k WHERE served LIMIT 1`,
    /^the head of a line fits/,
  ],
  [`UPDATE punctual.series SET completed = completed + 1`, /^counts differ from a recount/],
  [`UPDATE punctual.tenant SET completed = completed + 1`, /^the sums of a tenant are not those of its jobs/],
  [`DELETE FROM punctual.node`, /^a claim stands without a node/],
]

it('a look at the tables finds what is planted in them', async () => {
  const [url, schema] = [await sharedPostgresUrl(), freshSchemaName()]
  const work = (name: string, options = {}) =>
    defineJob(name, options).task('only', (ctx) => (name === 'held' ? untilAborted(ctx) : 1))
  const jobs = [
    work('held', { concurrency: { key: 'k', limit: 1 } }),
    work('rated', { rate: { key: 'r', limit: 1, per: '1h' } }),
    work('done'),
  ]
  const punctual = createPunctual({ store: postgres(url, { schema }), jobs, grace: 0 })
  onTestFinished(() => punctual.close())
  const names = ['held', 'rated', 'done']
  await punctual.enqueueMany(names.map((job) => ({ job })))
  await punctual.enqueue('later', null, { delay: '1h' })
  await punctual.start()
  await expect.poll(() => punctual.counts({}), { timeout: 60_000 }).toMatchObject({ running: 1, completed: 2, pending: 1 })
  // Sums of tenants are those of folded counts.
  await punctual.prune({ olderThan: '1d' })
  const client = new Client({ connectionString: url })
  await client.connect()
  onTestFinished(() => client.end())
  expect(await brokenInView(client, schema)).toEqual([])
  for (const [sql, fault] of plants) {
    await client.query('BEGIN')
    await client.query(sql.replaceAll('punctual.', `${schema}.`))
    expect(await brokenInView(client, schema)).toContainEqual(expect.stringMatching(fault))
    await client.query('ROLLBACK')
  }
})
