// Handlers that block the event loop of their process, beside another process that would take over from a node that is gone.
import { writeFileSync } from 'node:fs'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { openStoreUrl } from '../../src/cli/store-url.ts'
import { createPunctual } from '../../src/client/punctual.ts'
import { occurrence } from '../support/cluster.ts'
import { databasePath } from '../support/database-path.ts'
import { patiently } from '../support/patiently.ts'
import { freshSchemaName, sharedPostgresUrl } from '../support/postgres-database.ts'
import { startWorker } from '../support/worker-process.ts'
import { crunch } from './jobs.ts'

const worker = new URL('worker.process.ts', import.meta.url)
let postgresUrl = ''
beforeAll(async () => {
  postgresUrl = await sharedPostgresUrl()
})

describe.each([
  ['sqlite', () => `sqlite:${databasePath()}`],
  ['postgres', () => `${postgresUrl}?schema=${freshSchemaName()}`],
])('a process that is blocked for longer than its ttl (%s)', (_, newUrl) => {
  it.each([0, 1])('runs its handler once, with %i other nodes', async (others) => {
    const url = newUrl()
    const client = createPunctual({ store: await openStoreUrl(url), jobs: [crunch] })
    onTestFinished(() => client.close())
    const first = startWorker(worker, url, 'first')
    await first.until(({ what }) => what === 'ready')
    const released = `${databasePath()}.released`
    const { id } = await client.enqueue(crunch, released)
    await first.until(({ what }) => what === 'started')
    const second = others > 0 ? startWorker(worker, url, 'second') : null
    await second?.until(({ what }) => what === 'ready')
    // It beats ten times in a ttl.
    const beats = async () => (await client.nodes()).find(({ name }) => name === 'first')?.beats ?? 0
    const before = await beats()
    await expect.poll(beats, patiently).toBeGreaterThan(before + 30)
    writeFileSync(released, '')
    await first.until(({ what }) => what === 'completed')
    expect(await occurrence(client, id)).toMatchObject({ result: 1, turns: [{ end: 'completed' }] })
    for (const said of [...first.said, ...(second?.said ?? [])]) expect(['gone', 'fenced', 'lost']).not.toContain(said.what)
  })
})
