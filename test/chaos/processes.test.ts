import { writeFileSync } from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openStoreUrl } from '../../src/cli/store-url.ts'
import { createPunctual, type Punctual } from '../../src/client/punctual.ts'
import { occurrence, taskStates } from '../support/cluster.ts'
import { databasePath } from '../support/database-path.ts'
import { freshSchemaName, sharedPostgresUrl } from '../support/postgres-database.ts'
import { type Said, startWorker, type WorkerProcess } from '../support/worker-process.ts'
import { block, hold, share, steps } from './jobs.ts'

const worker = new URL('worker.process.ts', import.meta.url)

const places = {
  'one SQLite file': async () => `sqlite:${databasePath()}`,
  PostgreSQL: async () => `${await sharedPostgresUrl()}?schema=${freshSchemaName()}`,
}

/** A client on a store, and workers. */
async function plantOn(url: string) {
  const client = createPunctual({ store: await openStoreUrl(url), jobs: [steps, share, hold, block] })
  onTestFinished(() => client.close())
  return { client, start: (...args: string[]): WorkerProcess => startWorker(worker, url, ...args) }
}

const started =
  (task: string, attempt = 1) =>
  (said: Said) =>
    said.what === 'started' && said.task === task && said.attempt === attempt
const completed = (id: string) => (said: Said) => said.what === 'completed' && said.id === id

async function ends(client: Punctual, id: string): Promise<string[]> {
  return (await occurrence(client, id)).turns.map((turn) => turn.end)
}

describe.each(Object.entries(places))('real processes on %s', (_, newUrl) => {
  const newPlant = async () => plantOn(await newUrl())

  it('kill -9 in the middle of three tasks: the finished one is not repeated, the cut one is lost and runs again', async () => {
    const { client, start } = await newPlant()
    const first = start('first')
    const { id } = await client.enqueue(steps, undefined)
    await first.until(started('two'))
    const second = start('second')
    await second.until(({ what }) => what === 'ready')
    first.child.kill('SIGKILL')
    expect(await first.ended).toBe('SIGKILL')
    await second.until(completed(id))
    expect(second.said.filter(({ what }) => what === 'started').map(({ task, attempt }) => [task, attempt])).toEqual([
      ['two', 2],
      ['three', 1],
    ])
    const done = await occurrence(client, id)
    expect(done).toMatchObject({ state: 'completed', result: 'first second third' })
    expect(taskStates(done)).toEqual({
      one: 'succeeded succeeded',
      two: 'succeeded lost succeeded',
      three: 'succeeded succeeded',
    })
  })

  it('kill -9 of the only process: it goes on where it was when started again', async () => {
    const { client, start } = await newPlant()
    const first = start('only')
    const { id } = await client.enqueue(steps, undefined)
    await first.until(started('two'))
    first.child.kill('SIGKILL')
    await first.ended
    const again = start('only')
    await again.until(completed(id))
    expect(again.said.filter(({ what, task }) => what === 'started' && task === 'one')).toEqual([])
    expect(await ends(client, id)).toEqual(['lost', 'completed'])
  })

  it('SIGTERM: the handler is told, its work is given back at once, and the process ends by itself', async () => {
    const { client, start } = await newPlant()
    const first = start('first')
    const { id } = await client.enqueue(hold, undefined)
    await first.until(started('only'))
    first.child.kill('SIGTERM')
    await first.until(({ what }) => what === 'closed')
    expect(await first.ended).toBe(0)
    expect(first.said).toContainEqual({ what: 'aborted', code: 'shutdown' })
    expect(await ends(client, id)).toEqual(['released'])
    expect(await client.nodes()).toEqual([])
    const second = start('second')
    await second.until(completed(id))
    expect(await ends(client, id)).toEqual(['released', 'completed'])
  })

  it('F22 SIGTERM and then SIGKILL: what was left is recovered', async () => {
    const { client, start } = await newPlant()
    const first = start('first')
    const { id } = await client.enqueue(steps, undefined)
    await first.until(started('two'))
    first.child.kill('SIGTERM')
    first.child.kill('SIGKILL')
    await first.ended
    const second = start('second')
    await second.until(completed(id))
    expect((await occurrence(client, id)).result).toBe('first second third')
  })

  it('cancel from another process reaches the handler', async () => {
    const { client, start } = await newPlant()
    const first = start('first')
    const { id } = await client.enqueue(hold, undefined)
    await first.until(started('only'))
    expect(await client.cancel(id)).toBe('canceling')
    expect(await first.until(({ what }) => what === 'aborted')).toMatchObject({ code: 'cancel' })
  })

  it('F49 a loop that is blocked for longer than it may be: another takes over, and the first aborts at its first breath', async () => {
    const { client, start } = await newPlant()
    const first = start('first', '1s')
    await first.until(({ what }) => what === 'ready')
    const released = `${databasePath()}.released`
    const { id } = await client.enqueue(block, released)
    await first.until(started('only'))
    const second = start('second')
    await second.until(completed(id))
    writeFileSync(released, '')
    // By then its time is over, too.
    expect(['lost', 'timeout']).toContain((await first.until(({ what }) => what === 'aborted')).code)
    await first.until(({ what }) => what === 'fenced')
    await first.until(({ what }) => what === 'lost')
    expect(await ends(client, id)).toEqual(['lost', 'completed'])
  })

  it('two processes share the work, and each occurrence runs once', async () => {
    const { client, start } = await newPlant()
    const workers = [start('first'), start('second')]
    for (const one of workers) await one.until(({ what }) => what === 'ready')
    const answers = await client.enqueueMany(Array.from({ length: 200 }, (_, payload) => ({ job: share, payload, delay: 50 })))
    for (const { id } of answers) await Promise.race(workers.map((one) => one.until(completed(id))))
    const ran = workers.flatMap((one) => one.said.filter(({ what }) => what === 'started').map(({ id }) => id))
    expect(new Set(ran).size).toBe(200)
    expect(ran).toHaveLength(200)
    for (const one of workers) expect(one.said.some(({ what }) => what === 'completed')).toBe(true)
    expect(await client.counts({ job: share })).toMatchObject({ completed: 200 })
  })
})
