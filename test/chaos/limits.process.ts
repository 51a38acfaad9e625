// A node under limits: limits.process.ts STORE DATABASE SCHEMA NAME. Its handlers mark in a table when they begin and end.
import pg from 'pg'
import { openStoreUrl } from '../../src/cli/store-url.ts'
import { createPunctual } from '../../src/client/punctual.ts'
import type { Context } from '../../src/model/context.ts'
import { defineJob } from '../../src/model/definition.ts'
import { interval } from '../../src/schedule/interval.ts'
import { say } from './say.ts'

const [store = '', database = '', schema = '', name = ''] = process.argv.slice(2)
const pool = new pg.Pool({ connectionString: database, max: 4 })

/** The server's clock tells when it begins and ends: one clock for all processes, and both moments are between claim and settlement. */
async function work({ occurrenceId, job, scheduledAt, source }: Context<unknown, object>): Promise<void> {
  const { rows } = await pool.query(
    `INSERT INTO ${schema}.mark (id, job, source, scheduled_at, node, began) VALUES ($1, $2, $3, $4, $5, clock_timestamp())
      RETURNING seq, EXISTS (SELECT 1 FROM ${schema}.closed_gate g WHERE g.job = $2) AS is_closed`,
    [occurrenceId, job, source, scheduledAt, name],
  )
  for (let isClosed = rows[0].is_closed; isClosed; ) {
    const gate = await pool.query(`SELECT pg_sleep(0.02) FROM ${schema}.closed_gate WHERE job = $1`, [job])
    isClosed = gate.rows.length > 0
  }
  await pool.query(`UPDATE ${schema}.mark SET ended = clock_timestamp() WHERE seq = $1`, [rows[0].seq])
}

const every = { schedule: interval('PT1S') }
const punctual = createPunctual({
  store: await openStoreUrl(store),
  name,
  concurrency: 4,
  clusterConcurrency: 6,
  poll: 50,
  jobs: [
    defineJob('skips', { ...every, overlap: 'skip' }).task('only', work),
    defineJob('queues', { ...every, overlap: 'queue' }).task('only', work),
    defineJob('single', { concurrency: { key: 'single', limit: 1 } }).task('only', work),
    defineJob('call').task('only', work),
    defineJob('mail', { rate: { key: 'smtp', limit: 5, per: 200 } }).task('only', work),
    defineJob('any').task('only', work),
  ],
})
punctual.on('node.fenced', ({ reason }) => say('fenced', { name, reason }))

await punctual.start()
say('ready', { name })
