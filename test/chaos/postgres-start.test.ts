// A node that starts before its server is there waits for it. One that the server refuses throws at once.
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createPunctual } from '../../src/client/punctual.ts'
import { defineJob } from '../../src/model/definition.ts'
import { postgres } from '../../src/store/postgres/index.ts'
import { probe } from '../../src/testing/probe.ts'
import { isLeftOut, postgres as needed } from '../support/servers/needed.ts'
import { fastSettings, type Postgres, startPostgres } from '../support/servers/postgres.ts'

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
let server: Postgres

describe.skipIf(isLeftOut(needed))('a node starts', () => {
  beforeAll(async () => {
    server = await startPostgres({ settings: fastSettings })
  })
  afterAll(() => server?.remove())

  it('F43 while there is no server', async () => {
    await server.stop()
    const node = await startDegraded(server.url, 'ECONNREFUSED')
    await server.restart()
    await node.works(1)
  })

  it('F54 while the server is frozen, and answers nothing', async () => {
    await server.freeze()
    const { punctual, works } = newNode(server.url)
    const started = punctual.start()
    await server.thaw()
    await started
    await works(1)
  })

  it('53300 while all connections are taken, and then with fewer than it would like', async () => {
    const most = 6
    await server.restart({ max_connections: most, superuser_reserved_connections: 0, max_wal_senders: 0 })
    const others = await Promise.all(Array.from({ length: most }, () => connect(server)))
    const node = await startDegraded(server.url, 'too many clients', '53300')
    for (const other of others.slice(2)) await other.end()
    await node.works(100)
  })

  it('28P01 not with a wrong password: waiting would not help, and a later start works', async () => {
    await server.query(`CREATE ROLE app LOGIN SUPERUSER PASSWORD 'before'`)
    const url = new URL(server.url)
    Object.assign(url, { username: 'app', password: 'after' })
    const node = newNode(url.href)
    const refusal = { code: 'store.refused', message: expect.stringContaining('password authentication failed') }
    await expect(node.punctual.start()).rejects.toMatchObject(refusal)
    await expect(node.punctual.counts()).rejects.toMatchObject(refusal)
    expect(JSON.stringify(node.punctual.health)).not.toContain('after')
    await server.query(`ALTER ROLE app PASSWORD 'after'`)
    await node.punctual.start()
    await node.works(1)
  })

  it('3D000 not without its database, and once that is made', async () => {
    const node = newNode(server.urlOf('later'))
    await expect(node.punctual.start()).rejects.toMatchObject({
      code: 'store.refused',
      message: expect.stringContaining('database "later" does not exist'),
    })
    await server.query('CREATE DATABASE later')
    await node.punctual.start()
    await node.works(1)
  })
})

/** A node, and what it does once it can. */
function newNode(url: string) {
  const job = defineJob('work').task('only', () => 'done')
  const punctual = createPunctual({ store: postgres(url), jobs: [job], log: silent })
  onTestFinished(() => punctual.close())
  const events = probe(punctual)
  const works = async (count: number) => {
    if (punctual.health.state !== 'ok') await events.next('health.changed', ({ state }) => state === 'ok')
    const ids = await Promise.all(Array.from({ length: count }, async () => (await punctual.enqueue(job, undefined)).id))
    for (const id of ids) await events.next('occurrence.completed', (event) => event.id === id)
  }
  return { punctual, job, works }
}

/** A node that is started and knows why it cannot work; so does who asks it for something. */
async function startDegraded(url: string, reason: string, code?: string) {
  const node = newNode(url)
  await node.punctual.start()
  expect(node.punctual.health).toMatchObject({ state: 'degraded', reasons: [expect.stringContaining(reason)] })
  const refusal = { code: 'store.unreachable', message: expect.stringContaining(reason), ...(code && { details: { code } }) }
  await expect(node.punctual.enqueue(node.job, undefined)).rejects.toMatchObject(refusal)
  await expect(node.punctual.counts()).rejects.toMatchObject(refusal)
  return node
}

async function connect({ url }: Postgres): Promise<Client> {
  const client = new Client(url)
  client.on('error', () => {})
  await client.connect()
  onTestFinished(() => client.end())
  return client
}
