import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openStoreUrl } from '../../src/cli/store-url.ts'
import { createPunctual, type Punctual } from '../../src/client/punctual.ts'
import { freshSchemaName, sharedPostgresUrl } from '../support/postgres-database.ts'
import { brokenInvariants } from '../support/postgres-invariants.ts'
import { queryOnce } from '../support/servers/query-once.ts'
import { spawnWorker, type WorkerProcess } from '../support/worker-process.ts'

/** The times of one run that a handler wrote, in ms. */
interface Mark {
  readonly id: string
  readonly job: string
  readonly source: string
  readonly node: string
  readonly scheduled: number
  readonly began: number
  readonly ended: number
}

const file = new URL('limits.process.ts', import.meta.url)
const schema = freshSchemaName()
const workers: WorkerProcess[] = []
let url = ''
let client: Punctual

const query = <Row extends object>(text: string, values?: unknown[]) =>
  queryOnce<Row>(url, text.replaceAll('punctual.', `${schema}.`), values)

const marks = (where = 'true') =>
  query<Mark>(`SELECT id, job, source, node, extract(epoch FROM scheduled_at)::float8 * 1000 AS scheduled,
    extract(epoch FROM began)::float8 * 1000 AS began, extract(epoch FROM ended)::float8 * 1000 AS ended
    FROM punctual.mark WHERE ended IS NOT NULL AND ${where} ORDER BY began`)

/** The most of these that ran at one moment. */
function mostAtOnce(runs: readonly Mark[]): number {
  return Math.max(0, ...runs.map(({ began }) => runs.filter((other) => other.began <= began && began < other.ended).length))
}

const poll = { interval: 50, timeout: 120_000 }
const count = async (job: string, state: string) => ((await client.counts({ job })) as Record<string, number>)[state] ?? 0
const atLeast = (job: string, state: string, least: number) =>
  expect.poll(() => count(job, state), poll).toBeGreaterThanOrEqual(least)
const open = (job: string) => query('DELETE FROM punctual.closed_gate WHERE job = $1', [job])

beforeAll(async () => {
  url = await sharedPostgresUrl()
  const store = `${url}?schema=${schema}`
  client = createPunctual({ store: await openStoreUrl(store) })
  await client.nodes()
  await query(`CREATE TABLE punctual.mark (seq serial PRIMARY KEY, id text NOT NULL, job text NOT NULL, source text NOT NULL,
    node text NOT NULL, scheduled_at timestamptz NOT NULL, began timestamptz NOT NULL, ended timestamptz)`)
  await query('CREATE TABLE punctual.closed_gate (job text PRIMARY KEY)')
  await query(`INSERT INTO punctual.closed_gate VALUES ('skips'), ('queues')`)
  for (let at = 1; at <= 8; at++) workers.push(spawnWorker(file, store, url, schema, `node ${at}`))
  for (const worker of workers) await worker.until(({ what }) => what === 'ready')
})

afterAll(async () => {
  for (const { child } of workers) child.kill('SIGKILL')
  await Promise.all(workers.map(({ ended }) => ended))
  await client.close()
})

describe('limits under the races of eight processes on PostgreSQL', () => {
  it('JB-8 skip: an instant beside a running one is skipped and says for whom, and no two run at once', async () => {
    await atLeast('skips', 'skipped', 3)
    const { items } = await client.list({ job: 'skips' })
    const [running, ...others] = items.filter(({ state }) => state === 'running')
    expect(others).toEqual([])
    for (const { id } of items.filter(({ state }) => state === 'skipped'))
      expect((await client.get(id))?.reason).toBe(`overlap: ${running?.id}`)
    await open('skips')
    await atLeast('skips', 'completed', 3)
    expect(mostAtOnce(await marks(`job = 'skips'`))).toBe(1)
  })

  it('JB-8 queue: instants and triggers wait behind a running one, and all run, one after the other, the oldest first', async () => {
    await atLeast('queues', 'waiting', 3)
    await Promise.all(Array.from({ length: 20 }, () => client.trigger('queues')))
    await atLeast('queues', 'waiting', 20)
    await open('queues')
    // Instants come between them, more of them the slower all goes.
    await expect.poll(() => marks(`job = 'queues' AND source = 'manual'`), poll).toHaveLength(20)
    const runs = await marks(`job = 'queues'`)
    expect(mostAtOnce(runs)).toBe(1)
    const instants = runs.filter(({ source }) => source === 'schedule').map(({ scheduled }) => scheduled)
    expect(instants).toEqual(instants.toSorted((a, b) => a - b))
    expect(runs.filter(({ source }) => source === 'manual')).toHaveLength(20)
  })

  it('JB-8, TM-5 concurrency by key: of a job, and given with the work', async () => {
    const customers = ['a', 'b', 'c']
    const calls = customers.flatMap((key) =>
      Array.from({ length: 30 }, () => ({ job: 'call', payload: key, concurrency: { key, limit: 2 } })),
    )
    const singles = Array.from({ length: 40 }, () => ({ job: 'single', payload: null }))
    const made = await client.enqueueMany([...calls, ...singles])
    await Promise.all([atLeast('call', 'completed', 90), atLeast('single', 'completed', 40)])
    expect(mostAtOnce(await marks(`job = 'single'`))).toBe(1)
    for (const [at] of customers.entries()) {
      const ids = made.slice(at * 30, at * 30 + 30).map(({ id }) => `'${id}'`)
      const runs = await marks(`id IN (${ids})`)
      expect(runs).toHaveLength(30)
      expect(mostAtOnce(runs)).toBeLessThanOrEqual(2)
    }
  })

  it('JB-8 rate: no stretch has more starts than allowed, and everything starts', async () => {
    await client.enqueueMany(Array.from({ length: 40 }, () => ({ job: 'mail', payload: null })))
    await atLeast('mail', 'completed', 40)
    expect(await marks(`job = 'mail'`)).toHaveLength(40)
    const { items } = await client.list({ job: 'mail', limit: 50 })
    const starts = items.map(({ startedAt }) => startedAt?.getTime() as number).sort((a, b) => a - b)
    for (const [at, start] of starts.entries()) {
      const before = starts[at - 5]
      if (before !== undefined) expect(start - before).toBeGreaterThanOrEqual(200)
    }
  })

  it('JB-8, TM-5 a limit of the cluster: no moment of all that has run exceeds it, several nodes ran it, and each once', async () => {
    await client.enqueueMany(Array.from({ length: 200 }, () => ({ job: 'any', payload: null })))
    await atLeast('any', 'completed', 200)
    for (const job of ['skips', 'queues']) await client.retire(job)
    await expect.poll(() => client.counts({}), poll).toMatchObject({ pending: 0, waiting: 0, running: 0, retrying: 0 })
    const runs = await marks()
    expect(mostAtOnce(runs)).toBeLessThanOrEqual(6)
    expect(mostAtOnce(runs)).toBeGreaterThan(1)
    expect(new Set(runs.map(({ node }) => node)).size).toBeGreaterThan(1)
    expect(new Set(runs.map(({ id }) => id)).size).toBe(runs.length)
    expect(await query('SELECT count(*)::int AS n FROM punctual.mark')).toEqual([{ n: runs.length }])
    const { completed, ...others } = await client.counts({})
    expect(completed).toBe(runs.length)
    expect(others).toMatchObject({ failed: 0, dead: 0, canceled: 0, missed: 0 })
    expect(workers.flatMap(({ said }) => said.filter(({ what }) => what === 'fenced'))).toEqual([])
    expect(await brokenInvariants(url, schema)).toEqual([])
  })
})
