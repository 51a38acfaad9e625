// Nodes on PostgreSQL that do the same thing at the same moment, or believe that it is another moment.
import { Client } from 'pg'
import { expect, it, onTestFinished } from 'vitest'
import { openStoreUrl } from '../../src/cli/store-url.ts'
import { createPunctual } from '../../src/client/punctual.ts'
import { defineJob } from '../../src/model/definition.ts'
import { postgres } from '../../src/store/postgres/index.ts'
import { systemClock } from '../../src/time/clock.ts'
import { occurrence } from '../support/cluster.ts'
import { freshSchemaName, sharedPostgresUrl } from '../support/postgres-database.ts'
import { queryOnce } from '../support/servers/query-once.ts'
import { type Said, startWorker } from '../support/worker-process.ts'

const file = new URL('tick.process.ts', import.meta.url)
const poll = { interval: 50, timeout: 120_000 }
const isReady = ({ what }: Said) => what === 'ready'

async function newPlant() {
  const [url, schema] = [await sharedPostgresUrl(), freshSchemaName()]
  const store = `${url}?schema=${schema}`
  const client = createPunctual({ store: await openStoreUrl(store) })
  onTestFinished(() => client.close())
  const start = (name: string, offMs = 0) => startWorker(file, store, name, String(offMs))
  const query = <Row extends object>(text: string) => queryOnce<Row>(url, text.replaceAll('punctual.', `${schema}.`))
  return { url, schema, client, start, query }
}

it('F27 nodes whose clocks are ten minutes off take nobody for gone, and start nothing before its time', async () => {
  const { client, start } = await newPlant()
  const nodes = [start('late', -600_000), start('right'), start('early', 600_000)]
  for (const node of nodes) await node.until(isReady)
  const beats = async () => new Map((await client.nodes()).map((node) => [node.boot, node.beats]))
  const before = await beats()
  const made = await client.enqueueMany(Array.from({ length: 30 }, () => ({ job: 'work', delay: '1s' })))
  // Twice as long as a node may be silent.
  const haveBeaten = async () => [...(await beats())].every(([boot, now]) => now >= (before.get(boot) ?? 0) + 30)
  await expect.poll(haveBeaten, poll).toBe(true)
  for (const { id } of made) {
    const starts = nodes.map((node) => node.until((said) => said.what === 'started' && said.id === id))
    await Promise.race(starts)
    await expect.poll(async () => (await occurrence(client, id)).state, poll).toBe('completed')
    const { turns, scheduledAt } = await occurrence(client, id)
    expect(turns).toHaveLength(1)
    expect(turns[0]?.startedAt?.getTime()).toBeGreaterThanOrEqual(scheduledAt.getTime())
  }
  expect([...(await beats()).keys()].sort()).toEqual([...before.keys()].sort())
  expect(nodes.flatMap(({ said }) => said.filter(({ what }) => what === 'gone' || what === 'fenced'))).toEqual([])
})

it('F34 eight processes that make up for the same ten thousand instants create each of them once', async () => {
  const { client, start, query } = await newPlant()
  const instants = async () => {
    const [row] = await query<{ all: number; distinct: number; first: number; last: number }>(
      `SELECT count(*)::int AS all, count(DISTINCT scheduled_at)::int AS distinct, min(scheduled_at) AS first, max(scheduled_at) AS last
        FROM punctual.occurrence`,
    )
    return row as NonNullable<typeof row>
  }
  await client.nodes()
  const first = start('first')
  await expect.poll(async () => (await instants()).all, poll).toBeGreaterThan(0)
  first.child.kill('SIGTERM')
  await first.until(({ what }) => what === 'closed')
  const before = await instants()
  await query(`CREATE OR REPLACE FUNCTION punctual.now_ms() RETURNS float8 LANGUAGE sql VOLATILE AS
    $$ SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 + 10000000 $$`)
  const nodes = Array.from({ length: 8 }, (_, at) => start(`node ${at + 1}`))
  for (const node of nodes) await node.until(isReady)
  await expect.poll(async () => (await instants()).all, poll).toBeGreaterThanOrEqual(before.all + 10_000)
  for (const { child } of nodes) child.kill('SIGTERM')
  for (const node of nodes) await node.until(({ what }) => what === 'closed')
  const after = await instants()
  expect(after.last - after.first).toBeGreaterThanOrEqual(10_000_000)
  expect([after.all, after.distinct]).toEqual(Array(2).fill((after.last - after.first) / 1000 + 1))
})

it('F59 eight nodes that prune, work and beat at once are never in a deadlock, and what is left adds up', async () => {
  const { url, schema, client, query } = await newPlant()
  const deadlocks = countDeadlocks()
  const jobs = [
    defineJob('plain').task('only', () => {}),
    defineJob('single', { concurrency: { key: 'single', limit: 1 } }).task('only', () => {}),
  ]
  const nodes = Array.from({ length: 8 }, () =>
    createPunctual({ store: postgres(url, { schema }), jobs, node: { heartbeat: 50, checkInterval: 50 } }),
  )
  onTestFinished(async () => {
    await Promise.all(nodes.map((node) => node.close()))
  })
  for (const node of nodes) await node.start()
  const keepers = Array.from({ length: 8 }, () => postgres(url, { schema }))
  for (const store of keepers) await store.open({ clock: systemClock, random: Math.random })
  const prune = async (limit: number) =>
    (await Promise.all(keepers.map((store) => store.prune({ endedBefore: Date.now() + 60_000, keyRetentionMs: 0, limit }))))
      .map(({ pruned }) => pruned)
      .reduce((all, one) => all + one)
  const work = [...Array.from({ length: 4000 }, () => 'plain'), ...Array.from({ length: 40 }, () => 'single')]
  await client.enqueueMany(work.map((job) => ({ job })))
  let pruned = 0
  while (pruned < work.length) pruned += await prune(50)
  expect(pruned).toBe(work.length)
  await Promise.all(nodes.map((node) => node.stop()))
  // Ends stay for as long as the claim does that they were made under, and all claims are gone by now.
  expect(await prune(work.length)).toBe(0)
  for (const store of keepers) await store.close()
  expect(await client.counts()).toMatchObject({ pending: 0, waiting: 0, running: 0, retrying: 0, completed: 0 })
  expect(await query('SELECT ref FROM punctual.turn UNION ALL SELECT ref FROM punctual.occurrence')).toEqual([])
  expect(deadlocks()).toBe(0)
})

/** How often the server has ended a statement of this process because of a deadlock, since it was asked to count. */
function countDeadlocks(): () => number {
  let many = 0
  const query = Client.prototype.query
  Client.prototype.query = function (this: Client, ...args: any[]) {
    const answer = Reflect.apply(query, this, args)
    if (answer instanceof Promise)
      answer.catch((error) => {
        if (error.code === '40P01') many += 1
      })
    return answer
  } as typeof query
  onTestFinished(() => {
    Client.prototype.query = query
  })
  return () => many
}
