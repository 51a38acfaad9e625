// Processes on PostgreSQL that are killed or stopped while they work.
import pg from 'pg'
import { expect, it, onTestFinished } from 'vitest'
import { openStoreUrl } from '../../src/cli/store-url.ts'
import { createPunctual } from '../../src/client/punctual.ts'
import { occurrence } from '../support/cluster.ts'
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

it('F15 SIGSTOP in the middle of a transaction: what it had locked is free again, and all work is done elsewhere', async () => {
  const { url, schema, client, start } = await newPlant()
  const first = await start('first')
  const looker = new pg.Client(url)
  await looker.connect()
  onTestFinished(() => looker.end())
  const isLocked = async () => {
    const { rows } = await looker.query(`WITH free AS (SELECT key FROM ${schema}.limit_key FOR UPDATE SKIP LOCKED)
      SELECT EXISTS (SELECT key FROM ${schema}.limit_key EXCEPT SELECT key FROM free) AS yes`)
    return rows[0].yes as boolean
  }
  // It is stopped when it seems to have locked the key. Where its commit was on the way, it is let go on.
  let made = 0
  for (let isCaught = false; !isCaught; ) {
    first.child.kill('SIGCONT')
    made += (await client.enqueueMany(Array.from({ length: 50 }, () => ({ job: limited })))).length
    for (let looks = 0; looks < 100 && !isCaught; looks++) isCaught = await isLocked()
    first.child.kill('SIGSTOP')
    await looker.query('SELECT pg_sleep(0.1)')
    isCaught &&= await isLocked()
  }
  const second = await start('second')
  await expect.poll(() => client.counts({ job: limited }), { timeout: 60_000, interval: 100 }).toMatchObject({ completed: made })
  expect(second.said.some(({ what }) => what === 'completed')).toBe(true)
})
