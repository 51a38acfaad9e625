import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { openStoreUrl } from '../../src/cli/store-url.ts'
import { createPunctual } from '../../src/client/punctual.ts'
import { version } from '../../src/engine/node/version.ts'
import { occurrence } from '../support/cluster.ts'
import { freshSchemaName, sharedPostgresUrl } from '../support/postgres-database.ts'
import { startWorker } from '../support/worker-process.ts'
import { hold } from './jobs.ts'

const worker = new URL('worker.process.ts', import.meta.url)
const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

/** The output of `punctual nodes`. */
async function punctualNodes(store: string, ...flags: string[]): Promise<string> {
  const env = { ...process.env, NO_COLOR: '1', PUNCTUAL_STORE: store }
  return (await promisify(execFile)(process.execPath, [main, 'nodes', ...flags], { env })).stdout
}

it('nodes lists processes on PostgreSQL with load, version and handlers; one that is drained gives its work back and is gone', async () => {
  const store = `${await sharedPostgresUrl()}?schema=${freshSchemaName()}`
  const client = createPunctual({ store: await openStoreUrl(store), jobs: [hold] })
  onTestFinished(() => client.close())
  const [first, second] = [startWorker(worker, store, 'first'), startWorker(worker, store, 'second')]
  for (const one of [first, second]) await one.until(({ what }) => what === 'ready')
  await client.enqueueMany(Array.from({ length: 8 }, () => ({ job: hold })))
  const load = async () => (await client.nodes()).map(({ name, running }) => `${name} ${running}`).sort()
  // Both have four slots.
  await expect.poll(load, { timeout: 60_000 }).toEqual(['first 4', 'second 4'])

  const handlers = ['block', 'crunch', 'hold', 'limited', 'share', 'steps', 'stubborn']
  const nodes = (await client.nodes()).toSorted((a, b) => (a.name < b.name ? -1 : 1))
  expect(nodes).toMatchObject([
    { name: 'first', pid: first.child.pid, running: 4, concurrency: 4, version },
    { name: 'second', pid: second.child.pid, running: 4, concurrency: 4, version },
  ])
  for (const { kinds } of nodes) expect(kinds.toSorted()).toEqual(handlers)
  const { items } = JSON.parse(await punctualNodes(store, '--json'))
  expect(items.map((node: { boot: string }) => node.boot).sort()).toEqual(nodes.map(({ boot }) => boot).sort())
  const lines = (await punctualNodes(store)).trimEnd().split('\n')
  expect(lines).toHaveLength(3)
  for (const { name, pid, boot } of nodes) {
    const line = lines.find((one) => one.startsWith(`${name} `))
    expect(line?.split(/ {2,}/)).toMatchObject({
      0: name,
      1: 'open',
      2: String(pid),
      3: '4/4',
      4: version,
      7: boot,
      8: handlers.join(', '),
    })
  }

  first.child.kill('SIGTERM')
  await first.until(({ what }) => what === 'closed')
  expect(await first.ended).toBe(0)
  expect(await client.nodes()).toMatchObject([{ name: 'second' }])
  expect(await punctualNodes(store)).not.toContain('first')
  const started = first.said.filter(({ what }) => what === 'started').map(({ id }) => id as string)
  expect(started).toHaveLength(4)
  for (const id of started) expect((await occurrence(client, id)).turns.at(-1)?.end).toBe('released')
  second.child.kill('SIGTERM')
  await second.until(({ what }) => what === 'closed')
  expect(await client.nodes()).toEqual([])
  // The work that was given back is due, and no node is left to run it.
  const [, ...rest] = (await punctualNodes(store)).trimEnd().split('\n')
  expect(rest).toEqual(['', 'No node has handlers for due work of: hold'])
  expect(await client.counts({ job: hold })).toMatchObject({ running: 0 })
})
