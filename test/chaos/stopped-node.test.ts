// Processes on PostgreSQL that are killed or stopped while they work.
import pg from 'pg'
import { expect, it, onTestFinished, vi } from 'vitest'
import { openStoreUrl } from '../../src/cli/store-url.ts'
import { createPunctual } from '../../src/client/punctual.ts'
import { occurrence } from '../support/cluster.ts'
import { patiently } from '../support/patiently.ts'
import { freshSchemaName, sharedPostgresUrl } from '../support/postgres-database.ts'
import { type Said, startWorker, type WorkerProcess } from '../support/worker-process.ts'
import { hold, limited, share, stubborn } from './jobs.ts'

const worker = new URL('worker.process.ts', import.meta.url)

async function newPlant() {
  const url = await sharedPostgresUrl()
  const schema = freshSchemaName()
  const store = `${url}?schema=${schema}`
  const client = createPunctual({ store: await openStoreUrl(store), jobs: [hold, share, stubborn, limited] })
  onTestFinished(() => client.close())
  const start = async (name: string): Promise<WorkerProcess> => {
    const one = startWorker(worker, `${store}&application_name=${name}`, name)
    await one.until(({ what }) => what === 'ready')
    return one
  }
  return { url, schema, client, start }
}

const about = (what: string, id: string) => (said: Said) => said.what === what && said.id === id
const ids = (made: readonly { readonly id: string }[]) => made.map(({ id }) => id)

it('F11, F23 kill -9 of one of three: the others take over all that it held, each once', async () => {
  const { client, start } = await newPlant()
  const first = await start('first')
  const made = ids(await client.enqueueMany(Array.from({ length: 4 }, () => ({ job: hold }))))
  for (const id of made) await first.until(about('started', id))
  const others = [await start('second'), await start('third')]
  first.child.kill('SIGKILL')
  for (const id of made) await Promise.race(others.map((one) => one.until(about('completed', id))))
  for (const id of made) expect((await occurrence(client, id)).turns.map(({ end }) => end)).toEqual(['lost', 'completed'])
  const { rescued } = await Promise.race(others.map((one) => one.until(({ what }) => what === 'gone')))
  expect(rescued).toBe(4)
})

it('F01, F17 SIGSTOP: others take over; at SIGCONT it stops itself, its late writes are refused and counted, and it works on', async () => {
  const { client, start } = await newPlant()
  const first = await start('first')
  const made = ids(await client.enqueueMany([{ job: stubborn }, { job: stubborn }]))
  for (const id of made) await first.until(about('started', id))
  const [before] = await client.nodes()
  const second = await start('second')
  first.child.kill('SIGSTOP')
  for (const id of made) await second.until(about('completed', id))
  first.child.kill('SIGCONT')
  expect(await first.until(({ what }) => what === 'fenced')).toMatchObject({ node: before?.boot })
  for (const id of made) await first.until(about('lost', id))
  expect(first.said.filter(({ what }) => what === 'aborted')).toEqual([
    { what: 'aborted', code: 'lost' },
    { what: 'aborted', code: 'lost' },
  ])
  expect(first.said.filter(({ what }) => what === 'completed')).toEqual([])
  for (const id of made) {
    const { result, progress, turns } = await occurrence(client, id)
    expect({ result, progress, ends: turns.map(({ end }) => end) }).toEqual({
      result: 'elsewhere',
      progress: null,
      ends: ['lost', 'completed'],
    })
  }
  const back = async () => (await client.nodes()).find(({ name }) => name === 'first')?.boot
  await expect.poll(back, { timeout: 60_000 }).toSatisfy((boot) => boot !== undefined && boot !== before?.boot)
  second.child.kill('SIGTERM')
  await second.until(({ what }) => what === 'closed')
  const { id } = await client.enqueue(share, 1)
  await first.until(about('completed', id))
})

it('F15 SIGSTOP while a transaction waits for the door: the server ends it alone, and all work is done elsewhere', async () => {
  const { url, schema, client, start } = await newPlant()
  const first = await start('first')
  const looker = new pg.Client(url)
  await looker.connect()
  onTestFinished(() => looker.end())
  const waiting =
    "SELECT FROM pg_stat_activity WHERE application_name = 'first' AND wait_event_type = 'Lock' AND datname = current_database()"
  const door = `SELECT one FROM ${schema}.door FOR UPDATE`
  const made = ids(await client.enqueueMany(Array.from({ length: 500 }, () => ({ job: limited }))))
  await first.until(({ what }) => what === 'completed')
  await looker.query('BEGIN')
  await looker.query(door)
  await vi.waitFor(async () => expect((await looker.query(waiting)).rowCount).toBeGreaterThan(0), patiently)
  first.child.kill('SIGSTOP')
  await looker.query('COMMIT')
  await vi.waitFor(() => looker.query(`${door} NOWAIT`), patiently)
  const second = await start('second')
  await expect.poll(() => client.counts({ job: limited }), { interval: 100 }).toMatchObject({ completed: made.length })
  expect(second.said.some(({ what }) => what === 'completed')).toBe(true)
})
